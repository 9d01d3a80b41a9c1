use std::sync::Arc;

use tabia_encoding::{Elo, OwnedSituation, RatingPool, Situation};
use tabia_model::{Evaluation, Model};
use tabia_search::{NoPolicy, Persona};

use crate::JudgeError;

/// Positions a network is asked about together: bounds memory. From 1 to 64 no number is faster.
const TOGETHER: usize = 32;

/// A network that is asked what people would do.
#[derive(Clone)]
pub struct Subject {
    name: String,
    model: Arc<Model>,
    persona: Persona,
}

impl Subject {
    /// A network called `name`, told that it plays as `persona` where that says something, else what the game says.
    ///
    /// # Errors
    /// If the network has no move head.
    pub fn new(name: String, model: Arc<Model>, persona: Persona) -> Result<Subject, NoPolicy> {
        if model.card().policy.is_none() {
            return Err(NoPolicy);
        }
        Ok(Subject { name, model, persona })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it says how long people think.
    pub fn tells_time(&self) -> bool {
        self.model.card().think_time.is_some()
    }

    /// Whether a rating that is asked for changes what it says.
    ///
    /// # Errors
    /// If the network fails.
    pub fn heeds_ratings(&self) -> Result<bool, JudgeError> {
        let start = shakmaty::Chess::default();
        let at = |rating| {
            let mut situation = Situation { pool: RatingPool::Online, ..Situation::of(&start) };
            situation.mover.rating = Some(Elo(rating));
            situation
        };
        let said = self.model.evaluate(&[at(800), at(2400)]).map_err(|error| self.fault(error))?;
        Ok(matches!(said.as_slice(), [low, high] if low != high))
    }

    /// The same network, told to play at a rating.
    #[must_use]
    pub fn rated(&self, rating: Elo) -> Subject {
        Subject { persona: Persona { rating: Some(rating), ..self.persona }, ..self.clone() }
    }

    /// What it says of each situation, in their order.
    pub(crate) fn ask(&self, kept: &[OwnedSituation]) -> Result<Vec<Evaluation>, JudgeError> {
        let mut said = Vec::with_capacity(kept.len());
        for some in kept.chunks(TOGETHER) {
            let situations: Vec<_> = some.iter().map(|kept| self.told(kept.get())).collect();
            said.extend(self.model.evaluate(&situations).map_err(|error| self.fault(error))?);
        }
        Ok(said)
    }

    fn told<'a>(&self, mut situation: Situation<'a>) -> Situation<'a> {
        situation.mover.rating = self.persona.rating.or(situation.mover.rating);
        situation.pool = self.persona.pool.unwrap_or(situation.pool);
        situation
    }

    fn fault(&self, error: tabia_model::runtime::RunError) -> JudgeError {
        JudgeError::Network { name: self.name.clone(), error }
    }
}
