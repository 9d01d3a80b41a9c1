//! What specs are built from.

use std::{
    error::Error,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use tabia_model::Model;
use tabia_search::{BaselineEvaluator, Evaluator, NoEvaluation, evaluator_for};

use super::UciSpec;
use crate::{Adapter, NoPolicy, Player};

/// What went wrong outside this crate.
type Source = Box<dyn Error + Send + Sync>;

/// A function that starts a UCI engine as a player.
pub type StartProcess<'a> = &'a dyn Fn(&UciSpec) -> Result<Box<dyn Player>, Source>;

/// A network, or why it cannot be opened.
pub type Opened = Result<Arc<Model>, Source>;

/// An adapter, `None` if the file is something else, or why it cannot be read.
pub type OpenedAdapter = Result<Option<Arc<Adapter>>, Source>;

/// What the program that builds players provides.
pub struct PlayerContext<'a> {
    /// Opens a model file.
    pub open: &'a dyn Fn(&Path) -> Opened,
    /// Opens an adapter.
    pub adapter: &'a dyn Fn(&Path) -> OpenedAdapter,
    /// Opens a network that comes with the program.
    pub built_in: &'a dyn Fn(BuiltInNetwork) -> Opened,
    /// Starts another program as a player; `None` where there are no processes.
    pub process: Option<StartProcess<'a>>,
    /// The random seed of players whose spec sets none.
    pub seed: u64,
}

/// A network that comes with the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltInNetwork {
    /// The human-like network, of `human`.
    Human,
    /// The evaluation, of `engine`.
    Value,
}

impl fmt::Display for BuiltInNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BuiltInNetwork::Human => "human-like network",
            BuiltInNetwork::Value => "evaluation",
        })
    }
}

/// Why a player cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The model file cannot be opened.
    #[error("{}: {source}", file.display())]
    Open {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        source: Source,
    },
    /// A built-in network cannot be opened.
    #[error("the built-in {network}: {source}")]
    BuiltIn {
        /// Which.
        network: BuiltInNetwork,
        /// What is wrong with it.
        source: Source,
    },
    /// A network where an adapter belongs.
    #[error("{} is a network (net=FILE expects an adapter)", file.display())]
    NotAdapter {
        /// The file.
        file: PathBuf,
    },
    /// The network has no evaluation head.
    #[error("{}: {source}", file.display())]
    NoEvaluation {
        /// The model file.
        file: PathBuf,
        /// What is missing.
        source: NoEvaluation,
    },
    /// The network has no policy head.
    #[error("{name}: {source}")]
    NoPolicy {
        /// The network.
        name: String,
        /// What is missing.
        source: NoPolicy,
    },
    /// Its endgame tables cannot be opened.
    #[cfg(feature = "syzygy")]
    #[error("{source}")]
    Tables {
        /// Why.
        source: tabia_search::TablesError,
    },
    /// The process does not start.
    #[error("{source}")]
    Process {
        /// Why.
        source: Source,
    },
    /// No other programs can be started here.
    #[error("other programs cannot be started here")]
    NoProcesses,
}

impl PlayerContext<'_> {
    /// A model file, and the name of its network: that of its card, or of the file.
    pub(super) fn open_named(&self, file: &Path) -> Result<(Arc<Model>, String), BuildError> {
        let model = (self.open)(file).map_err(|source| BuildError::Open { file: file.to_owned(), source })?;
        let stem = || file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
        let name = model.card().name.clone().unwrap_or_else(stem);
        Ok((model, name))
    }

    /// The adapter in a file, unless it is a model file.
    pub(super) fn adapter(&self, file: &Path) -> Result<Option<Arc<Adapter>>, BuildError> {
        (self.adapter)(file).map_err(|source| BuildError::Open { file: file.to_owned(), source })
    }

    /// A network that evaluates, and its name.
    pub(super) fn evaluator(&self, file: &Path) -> Result<(String, Box<dyn Evaluator>), BuildError> {
        let (model, name) = self.open_named(file)?;
        let evaluator = evaluator_for(&model)
            .map_err(|source| BuildError::NoEvaluation { file: file.to_owned(), source })?;
        Ok((name, evaluator))
    }

    pub(super) fn built_in(&self, network: BuiltInNetwork) -> Result<Arc<Model>, BuildError> {
        (self.built_in)(network).map_err(|source| BuildError::BuiltIn { network, source })
    }

    /// The built-in evaluation.
    pub(super) fn built_in_evaluator(&self) -> Result<Box<dyn Evaluator>, BuildError> {
        let network = BuiltInNetwork::Value;
        let faulty = |source: NoEvaluation| BuildError::BuiltIn { network, source: source.into() };
        evaluator_for(&self.built_in(network)?).map_err(faulty)
    }

    /// The built-in evaluation, or the hand-written one where there is none.
    pub(super) fn any_evaluator(&self) -> Box<dyn Evaluator> {
        self.built_in_evaluator().unwrap_or_else(|_| Box::new(BaselineEvaluator))
    }
}
