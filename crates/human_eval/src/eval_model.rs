use std::sync::Arc;

use tabia_encoding::{Elo, OwnedSituation, RatingPool, Situation};
use tabia_model::{Evaluation, Model};
use tabia_players::{NoPolicy, Persona};

use crate::EvalError;

/// Batch size: bounds memory. From 1 to 64 no size is faster.
const BATCH: usize = 32;

/// Width of the ratings that a network of a [family](EvalModel::family) is trained on.
const FAMILY_BAND: u16 = 100;

/// Rating of a mover whose rating is unknown, for choosing from a family.
const UNKNOWN_RATING: Elo = Elo(1500);

/// A network under evaluation, or a family of networks for one rating each.
#[derive(Clone)]
pub struct EvalModel {
    name: String,
    /// At least one. The rating only matters if there are several.
    models: Vec<(Elo, Arc<Model>)>,
    persona: Persona,
}

impl EvalModel {
    /// A network with a policy head. Rating and pool of `persona` override those of the games.
    ///
    /// # Errors
    /// If the network has no policy head.
    pub fn new(name: String, model: Arc<Model>, persona: Persona) -> Result<EvalModel, NoPolicy> {
        EvalModel::of(name, vec![(UNKNOWN_RATING, model)], persona)
    }

    /// Networks trained on a band of 100 points each, given by its lower bound, as Maia-1 is. A position goes to the one whose
    /// band is nearest to the mover's rating.
    ///
    /// # Errors
    /// If there is none or one has no policy head.
    pub fn family(name: String, models: Vec<(Elo, Arc<Model>)>) -> Result<EvalModel, NoPolicy> {
        EvalModel::of(name, models, Persona::default())
    }

    fn of(name: String, models: Vec<(Elo, Arc<Model>)>, persona: Persona) -> Result<EvalModel, NoPolicy> {
        if models.is_empty() || models.iter().any(|(_, model)| model.card().policy.is_none()) {
            return Err(NoPolicy);
        }
        Ok(EvalModel { name, models, persona })
    }

    /// Display name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the network has a think-time head.
    pub fn predicts_time(&self) -> bool {
        self.models.iter().all(|(_, model)| model.card().think_time.is_some())
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
        let [low, high] = [at(800), at(2400)].map(|situation| OwnedSituation::of(&situation));
        let outputs = self.evaluate(&[low, high])?;
        Ok(matches!(outputs.as_slice(), [low, high] if low != high))
    }

    /// The same network or family at a fixed rating.
    #[must_use]
    pub fn rated(&self, rating: Elo) -> EvalModel {
        EvalModel { persona: Persona { rating: Some(rating), ..self.persona }, ..self.clone() }
    }

    /// Evaluates situations, in order.
    pub(crate) fn evaluate(&self, kept: &[OwnedSituation]) -> Result<Vec<Evaluation>, EvalError> {
        let situations: Vec<_> = kept.iter().map(|kept| self.with_persona(kept.get())).collect();
        let chosen: Vec<usize> = situations.iter().map(|situation| self.choose(situation)).collect();
        let mut outputs: Vec<Option<Evaluation>> = vec![None; kept.len()];
        for (number, (_, model)) in self.models.iter().enumerate() {
            let own: Vec<usize> = (0..kept.len()).filter(|&at| chosen[at] == number).collect();
            for batch in own.chunks(BATCH) {
                let situations: Vec<_> = batch.iter().map(|&at| situations[at]).collect();
                let evaluated = model.evaluate(&situations).map_err(|error| self.error(error))?;
                for (&at, output) in batch.iter().zip(evaluated) {
                    outputs[at] = Some(output);
                }
            }
        }
        Ok(outputs.into_iter().flatten().collect())
    }

    /// The number of the network for a position. Of two equally near the lower one.
    fn choose(&self, situation: &Situation<'_>) -> usize {
        let rating = situation.mover.rating.unwrap_or(UNKNOWN_RATING).0;
        let distance = |Elo(from): Elo| rating.abs_diff(from.saturating_add(FAMILY_BAND / 2));
        let nearest = self.models.iter().enumerate().min_by_key(|(_, (from, _))| (distance(*from), from.0));
        nearest.map_or(0, |(number, _)| number)
    }

    fn with_persona<'a>(&self, mut situation: Situation<'a>) -> Situation<'a> {
        situation.mover.rating = self.persona.rating.or(situation.mover.rating);
        situation.pool = self.persona.pool.unwrap_or(situation.pool);
        situation
    }

    fn error(&self, error: tabia_runtime::RunError) -> EvalError {
        EvalError::Network { name: self.name.clone(), error }
    }
}
