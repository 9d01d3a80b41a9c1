//! Players from specs: the one place where networks, searches and engine processes become [`Player`]s.

mod engine_process;
mod wall_clock;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use tabia_model::Model;
use tabia_search::{Budgeted, EngineEvaluation, Evaluator, Player, PlayerContext, Spec};

use self::engine_process::EngineProcess;
pub(crate) use self::wall_clock::WallClock;
use crate::shipped;

/// Makes players; networks are opened once and shared.
#[derive(Default)]
pub(crate) struct PlayerFactory {
    models: Mutex<HashMap<PathBuf, Arc<Model>>>,
    human: Mutex<Option<Arc<Model>>>,
    value: Mutex<Option<Arc<Model>>>,
}

impl PlayerFactory {
    /// The player that `spec` describes; `seed` decides for players that throw dice and name no seed.
    pub(crate) fn make(&self, spec: &Spec, seed: u64) -> Result<Box<dyn Player>> {
        match spec {
            Spec::Uci(process) => {
                let player = EngineProcess::start(process)?;
                Ok(Box::new(Budgeted::new(Box::new(player), process.budget.clone())))
            }
            _ => Ok(self.with_context(seed, |context| spec.build(context))?),
        }
    }

    fn with_context<T>(&self, seed: u64, make: impl FnOnce(&PlayerContext<'_>) -> T) -> T {
        make(&PlayerContext {
            open: &|path| self.open(path).map_err(Into::into),
            human: &|| self.human().map_err(Into::into),
            value: &|| self.value().map_err(Into::into),
            seed,
        })
    }

    /// A model file, opened once.
    pub(crate) fn open(&self, path: &Path) -> Result<Arc<Model>, tabia_model::LoadError> {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = models.get(path) {
            return Ok(Arc::clone(model));
        }
        let model = Arc::new(Model::open(path)?);
        models.insert(path.to_owned(), Arc::clone(&model));
        Ok(model)
    }

    /// The human player that comes with the program, opened once.
    pub(crate) fn human(&self) -> Result<Arc<Model>, tabia_model::LoadError> {
        let mut human = self.human.lock().unwrap_or_else(PoisonError::into_inner);
        match &*human {
            Some(model) => Ok(Arc::clone(model)),
            None => Ok(Arc::clone(human.insert(Arc::new(shipped::human()?)))),
        }
    }

    /// What the engine evaluates with, and what such an engine is called.
    pub(crate) fn evaluation(&self, evaluation: &EngineEvaluation) -> Result<(String, Box<dyn Evaluator>)> {
        Ok(self.with_context(0, |context| evaluation.build(context))?)
    }

    /// The engine's network that comes with the program, opened once.
    pub(crate) fn value(&self) -> Result<Arc<Model>, tabia_model::LoadError> {
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        match &*value {
            Some(model) => Ok(Arc::clone(model)),
            None => Ok(Arc::clone(value.insert(Arc::new(shipped::value()?)))),
        }
    }
}
