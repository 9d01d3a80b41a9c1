use std::sync::Arc;

use tabia_encoding::{Elo, OwnedSituation, RatingPool, Situation};
use tabia_model::{Evaluation, Model};
use tabia_players::{NoPolicy, Persona};

use crate::EvalError;

/// Batch size: bounds memory. From 1 to 64 no size is faster.
const BATCH: usize = 32;

/// A network under evaluation.
#[derive(Clone)]
pub struct EvalModel {
    name: String,
    model: Arc<Model>,
    persona: Persona,
}

impl EvalModel {
    /// A network with a policy head. Rating and pool of `persona` override those of the games.
    ///
    /// # Errors
    /// If the network has no policy head.
    pub fn new(name: String, model: Arc<Model>, persona: Persona) -> Result<EvalModel, NoPolicy> {
        if model.card().policy.is_none() {
            return Err(NoPolicy);
        }
        Ok(EvalModel { name, model, persona })
    }

    /// Display name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the network has a think-time head.
    pub fn predicts_time(&self) -> bool {
        self.model.card().think_time.is_some()
    }

    /// Whether the output depends on the rating input.
    ///
    /// # Errors
    /// If inference fails.
    pub fn is_rating_conditioned(&self) -> Result<bool, EvalError> {
        let start = shakmaty::Chess::default();
        let at = |rating| {
            let mut situation = Situation { pool: RatingPool::Online, ..Situation::of(&start) };
            situation.mover.rating = Some(Elo(rating));
            situation
        };
        let outputs = self.model.evaluate(&[at(800), at(2400)]).map_err(|error| self.error(error))?;
        Ok(matches!(outputs.as_slice(), [low, high] if low != high))
    }

    /// The same network at a fixed rating.
    #[must_use]
    pub fn rated(&self, rating: Elo) -> EvalModel {
        EvalModel { persona: Persona { rating: Some(rating), ..self.persona }, ..self.clone() }
    }

    /// Evaluates situations, in order.
    pub(crate) fn evaluate(&self, kept: &[OwnedSituation]) -> Result<Vec<Evaluation>, EvalError> {
        let mut outputs = Vec::with_capacity(kept.len());
        for batch in kept.chunks(BATCH) {
            let situations: Vec<_> = batch.iter().map(|kept| self.with_persona(kept.get())).collect();
            outputs.extend(self.model.evaluate(&situations).map_err(|error| self.error(error))?);
        }
        Ok(outputs)
    }

    fn with_persona<'a>(&self, mut situation: Situation<'a>) -> Situation<'a> {
        situation.mover.rating = self.persona.rating.or(situation.mover.rating);
        situation.pool = self.persona.pool.unwrap_or(situation.pool);
        situation
    }

    fn error(&self, error: tabia_model::runtime::RunError) -> EvalError {
        EvalError::Network { name: self.name.clone(), error }
    }
}
