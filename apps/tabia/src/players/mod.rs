//! Players from specs: the one place where networks, searches and engine processes become [`Player`]s.

mod budgeted;
mod engine_process;
mod wall_clock;

use std::collections::HashMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use tabia_model::Model;
use tabia_search::{
    BaselineLeaf, Engine, EngineEvaluation, EngineOptions, EngineSettings, EngineSpec, LeafEvaluator,
    NetSearch, NetSpec, Player, Spec, Workshop, leaf_evaluator,
};

use self::budgeted::Budgeted;
use self::engine_process::EngineProcess;
pub(crate) use self::wall_clock::WallClock;
use crate::shipped;

/// Makes players; networks are opened once and shared.
#[derive(Default)]
pub(crate) struct Makers {
    models: Mutex<HashMap<PathBuf, Arc<Model>>>,
    human: Mutex<Option<Arc<Model>>>,
    value: Mutex<Option<Arc<Model>>>,
}

impl Makers {
    /// The player that `spec` describes; `seed` decides for players that throw dice and name no seed.
    pub(crate) fn make(&self, spec: &Spec, seed: u64) -> Result<Box<dyn Player>> {
        match spec {
            Spec::Engine(EngineSpec { evaluation, settings }) => {
                let (name, leaf) = self.evaluation(evaluation)?;
                Ok(searcher(name, leaf, settings))
            }
            Spec::Net(NetSpec { file, search: NetSearch::AlphaBeta(settings) }) => {
                let (name, leaf) = self.network(file)?;
                Ok(searcher(name, leaf, settings))
            }
            Spec::Uci(process) => {
                let player = EngineProcess::start(process)?;
                Ok(Box::new(Budgeted { player: Box::new(player), budget: process.budget.clone() }))
            }
            Spec::Level(_) | Spec::Net(_) | Spec::Human(_) | Spec::Maia(_) | Spec::Random { .. } => {
                let workshop = Workshop {
                    open: &|path| self.open(path).map_err(Into::into),
                    human: &|| self.human().map_err(Into::into),
                    seed,
                };
                Ok(spec.build(&workshop)?)
            }
        }
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
    pub(crate) fn evaluation(
        &self,
        evaluation: &EngineEvaluation,
    ) -> Result<(String, Box<dyn LeafEvaluator>)> {
        let engine = || "Tabia engine".to_owned();
        match evaluation {
            EngineEvaluation::File(file) => self.network(file),
            EngineEvaluation::Baseline => {
                Ok((format!("{}, hand-written evaluation", engine()), Box::new(BaselineLeaf)))
            }
            EngineEvaluation::Usual => Ok((engine(), leaf_evaluator(&self.value()?)?)),
        }
    }

    /// The engine's network that comes with the program; opened once.
    pub(crate) fn value(&self) -> Result<Arc<Model>> {
        let mut value = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = &*value {
            return Ok(Arc::clone(model));
        }
        let model = Arc::new(shipped::value().context("the built-in evaluation")?);
        *value = Some(Arc::clone(&model));
        Ok(model)
    }

    fn network(&self, file: &Path) -> Result<(String, Box<dyn LeafEvaluator>)> {
        let named = || file.display().to_string();
        let model = self.open(file).with_context(named)?;
        let stem = file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let name = model.card().name.clone().unwrap_or(stem);
        let leaf = leaf_evaluator(&model).map_err(|e| Box::new(e) as Box<dyn Error + Send + Sync>);
        Ok((name, leaf.map_err(anyhow::Error::from_boxed).with_context(named)?))
    }
}

fn searcher(name: String, leaf: Box<dyn LeafEvaluator>, settings: &EngineSettings) -> Box<dyn Player> {
    let usual = EngineOptions::default();
    let options = EngineOptions {
        hash_mib: settings.hash_mib.map_or(usual.hash_mib, |mib| mib as usize),
        threads: settings.threads.map_or(usual.threads, |threads| threads as usize),
        ..usual
    };
    let player = Box::new(Engine::new(name, options, leaf));
    Box::new(Budgeted { player, budget: settings.budget.clone() })
}
