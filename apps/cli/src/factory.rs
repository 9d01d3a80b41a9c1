use std::{
    collections::HashMap,
    io::Read as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use anyhow::Result;
use tabia_model::{LoadError, Model};
use tabia_players::{Adapter, BuiltInNetwork, EngineEvaluation, Player, PlayerContext, Spec};
use tabia_search::Evaluator;

use crate::engine_process::EngineProcess;

/// Builds players from specs. Networks are opened once and shared.
#[derive(Default)]
pub struct PlayerFactory {
    models: Mutex<HashMap<PathBuf, Arc<Model>>>,
    human: OnceLock<Arc<Model>>,
    value: OnceLock<Arc<Model>>,
}

impl PlayerFactory {
    /// The player of a spec; `seed` is the random seed of specs that set none.
    ///
    /// # Errors
    /// If its network cannot be opened or is not fit for it, or its process does not start.
    pub fn make(&self, spec: &Spec, seed: u64) -> Result<Box<dyn Player>> {
        Ok(self.with_context(seed, |context| spec.build(context))?)
    }

    fn with_context<T>(&self, seed: u64, build: impl FnOnce(&PlayerContext<'_>) -> T) -> T {
        build(&PlayerContext {
            open: &|path| self.open(path).map_err(Into::into),
            adapter: &|path| Ok(open_adapter(path)?.map(Arc::new)),
            built_in: &|network| self.built_in(network).map_err(Into::into),
            process: Some(&|spec| Ok(Box::new(EngineProcess::start(spec)?))),
            seed,
        })
    }

    /// A model file.
    ///
    /// # Errors
    /// If it cannot be read or is no known network.
    pub fn open(&self, path: &Path) -> Result<Arc<Model>, LoadError> {
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = models.get(path) {
            return Ok(Arc::clone(model));
        }
        let model = Arc::new(Model::open(path)?);
        models.insert(path.to_owned(), Arc::clone(&model));
        Ok(model)
    }

    /// A built-in network.
    ///
    /// # Errors
    /// If the program was built with a broken one.
    pub fn built_in(&self, network: BuiltInNetwork) -> Result<Arc<Model>, LoadError> {
        let (opened, bytes) = match network {
            BuiltInNetwork::Human => (&self.human, tabia_bundled::HUMAN),
            BuiltInNetwork::Value => (&self.value, tabia_bundled::VALUE),
        };
        if let Some(model) = opened.get() {
            return Ok(Arc::clone(model));
        }
        let model = Arc::new(Model::from_bytes(bytes)?);
        Ok(Arc::clone(opened.get_or_init(|| model)))
    }

    /// A model file, or the built-in human-like network.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn human_or(&self, file: Option<&Path>) -> Result<Arc<Model>, LoadError> {
        file.map_or_else(|| self.built_in(BuiltInNetwork::Human), |file| self.open(file))
    }

    /// An evaluation, and the name of an engine with it.
    ///
    /// # Errors
    /// If its network cannot be opened or has no evaluation head.
    pub fn evaluation(&self, evaluation: &EngineEvaluation) -> Result<(String, Box<dyn Evaluator>)> {
        Ok(self.with_context(0, |context| evaluation.build(context))?)
    }
}

/// The bytes in which an adapter says that it is one.
const HEAD: u64 = 4096;

/// The adapter in a file; `None` if the file does not exist or holds something else, such as a network.
///
/// # Errors
/// If the file cannot be read, or is an invalid adapter.
pub fn open_adapter(path: &Path) -> Result<Option<Adapter>> {
    // A missing file is reported by what opens networks.
    if !path.is_file() {
        return Ok(None);
    }
    let mut file = std::fs::File::open(path)?;
    let mut bytes = Vec::new();
    (&mut file).take(HEAD).read_to_end(&mut bytes)?;
    if !Adapter::is_adapter(&bytes) {
        return Ok(None);
    }
    file.read_to_end(&mut bytes)?;
    Ok(Some(Adapter::from_json(&bytes)?))
}
