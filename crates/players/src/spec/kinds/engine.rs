use std::{fmt, ops::RangeInclusive, path::PathBuf};

use tabia_encoding::Elo;
use tabia_search::{BaselineEvaluator, EngineOptions, Evaluator, Limits};

use super::super::{
    BuildError, BuiltInNetwork, Determinism, FileSetting, ParseKind, PlayerContext, PlayerKind, SpecProblem,
    settings::{Settings, optional_file},
    write::{self, Setting, Subject, quoted},
};
use super::HumanSpec;
use crate::{ContemptPlayer, EnginePlayer, Player, wrapped::with_limits};

/// `engine[:FILE]`: the alpha-beta engine.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineSpec {
    /// Its evaluation.
    pub evaluation: EngineEvaluation,
    /// The rating of the person it plays against; `None` plays the best move against anybody.
    pub opponent: Option<Elo>,
    /// How it searches.
    pub settings: EngineSettings,
}

/// What the engine evaluates positions with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EngineEvaluation {
    /// `engine`: the built-in network.
    #[default]
    BuiltIn,
    /// `engine,eval=baseline`: the hand-written evaluation.
    Baseline,
    /// `engine:FILE`: a network.
    File(PathBuf),
}

/// How the alpha-beta engine searches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineSettings {
    /// Depth, nodes and time for a move.
    pub limits: Limits,
    /// Size of the transposition table in MiB.
    pub hash_mib: Option<u32>,
    /// Number of threads.
    pub threads: Option<u32>,
    /// Folders of Syzygy endgame tables, separated as in `PATH`.
    pub syzygy: Option<String>,
    /// Positions with more pieces are not looked up in the tables.
    pub syzygy_limit: Option<u32>,
    /// Whether the fifty-move rule counts in the tables.
    pub syzygy_fifty: Option<bool>,
}

/// The name of the engine without a network of its own.
const ENGINE: &str = "Tabia engine";

const KNOWN: &[&str] = &[
    "eval",
    "opponent",
    "depth",
    "nodes",
    "movetime",
    "hash",
    "threads",
    #[cfg(feature = "syzygy")]
    "syzygy",
    #[cfg(feature = "syzygy")]
    "syzygy_limit",
    #[cfg(feature = "syzygy")]
    "syzygy_fifty",
];
/// The settings of [`EngineSettings`].
pub(super) const ENGINE_SETTINGS: &[&str] = &[
    "depth",
    "nodes",
    "movetime",
    "hash",
    "threads",
    #[cfg(feature = "syzygy")]
    "syzygy",
    #[cfg(feature = "syzygy")]
    "syzygy_limit",
    #[cfg(feature = "syzygy")]
    "syzygy_fifty",
];

impl EngineSettings {
    /// The allowed sizes of a transposition table in MiB.
    pub const HASH_MIB: RangeInclusive<u32> = 1..=65_536;
    /// The allowed numbers of threads.
    pub const THREADS: RangeInclusive<u32> = 1..=1_024;
    /// The allowed numbers of pieces looked up in endgame tables.
    pub const SYZYGY_LIMIT: RangeInclusive<u32> = 0..=7;

    pub(super) fn parse(settings: &mut Settings) -> Result<EngineSettings, SpecProblem> {
        let parsed = EngineSettings {
            limits: settings.limits()?,
            hash_mib: settings.number("hash", EngineSettings::HASH_MIB)?,
            threads: settings.number("threads", EngineSettings::THREADS)?,
            ..EngineSettings::default()
        };
        #[cfg(feature = "syzygy")]
        let parsed = EngineSettings {
            syzygy: settings.take("syzygy").filter(|path| !path.trim().is_empty()),
            syzygy_limit: settings.number("syzygy_limit", EngineSettings::SYZYGY_LIMIT)?,
            syzygy_fifty: settings.word("syzygy_fifty", &[("on", true), ("off", false)])?,
            ..parsed
        };
        Ok(parsed)
    }

    /// The engine with these settings over an evaluation.
    ///
    /// # Errors
    /// If its endgame tables cannot be opened.
    pub fn build(&self, name: String, evaluator: Box<dyn Evaluator>) -> Result<Box<dyn Player>, BuildError> {
        let player = EnginePlayer::new(name, self.options(), evaluator);
        #[cfg(feature = "syzygy")]
        let player = player.with_tables(self.tables()?);
        Ok(with_limits(Box::new(player), self.limits.clone()))
    }

    /// The endgame tables, if there are any.
    #[cfg(feature = "syzygy")]
    fn tables(&self) -> Result<Option<tabia_search::TableUse>, BuildError> {
        let Some(path) = &self.syzygy else { return Ok(None) };
        let tables = tabia_search::Tables::shared(path).map_err(|source| BuildError::Tables { source })?;
        let most_pieces = self.syzygy_limit.unwrap_or(*EngineSettings::SYZYGY_LIMIT.end()) as usize;
        let fifty_moves = self.syzygy_fifty.unwrap_or(true);
        Ok(Some(tabia_search::TableUse { tables, most_pieces, fifty_moves }))
    }

    fn options(&self) -> EngineOptions {
        let default = EngineOptions::default();
        EngineOptions {
            hash_mib: self.hash_mib.map_or(default.hash_mib, |mib| mib as usize),
            threads: self.threads.map_or(default.threads, |threads| threads as usize),
            ..default
        }
    }

    pub(in crate::spec) fn determinism(&self) -> Determinism {
        let by_time = self.limits.movetime.is_some() || self.limits.is_unlimited();
        if by_time || self.threads.is_some_and(|threads| threads > 1) {
            Determinism::Uncontrolled
        } else {
            Determinism::Deterministic
        }
    }
}

impl fmt::Display for EngineSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write::limits(f, &self.limits)?;
        write!(f, "{}{}", Setting("hash", self.hash_mib), Setting("threads", self.threads))?;
        let fifty = self.syzygy_fifty.map(|on| if on { "on" } else { "off" });
        write!(f, "{}", Setting("syzygy", self.syzygy.as_deref().map(quoted)))?;
        write!(f, "{}{}", Setting("syzygy_limit", self.syzygy_limit), Setting("syzygy_fifty", fifty))
    }
}

impl EngineEvaluation {
    /// The name of an engine with this evaluation, and the evaluation.
    ///
    /// # Errors
    /// If its network cannot be opened or has no evaluation head.
    pub fn build(&self, context: &PlayerContext<'_>) -> Result<(String, Box<dyn Evaluator>), BuildError> {
        match self {
            EngineEvaluation::File(file) => context.evaluator(file),
            EngineEvaluation::Baseline => {
                Ok((format!("{ENGINE}, hand-written evaluation"), Box::new(BaselineEvaluator)))
            }
            EngineEvaluation::BuiltIn => Ok((ENGINE.to_owned(), context.built_in_evaluator()?)),
        }
    }
}

/// The name of an engine that plays against people of a rating.
fn against(name: &str, opponent: Option<Elo>) -> String {
    opponent.map_or_else(|| name.to_owned(), |rating| format!("{name} against {}", rating.0))
}

impl ParseKind for EngineSpec {
    const NAME: &'static str = "engine";
    const USAGE: &'static str = "engine[:FILE]";

    fn parse(subject: Option<String>, settings: &mut Settings) -> Result<EngineSpec, SpecProblem> {
        settings.known(KNOWN);
        let baseline = settings.word("eval", &[("baseline", ())])?.is_some();
        let evaluation = match (baseline, optional_file(subject, Self::USAGE)?) {
            (false, Some(file)) => EngineEvaluation::File(file),
            (false, None) => EngineEvaluation::BuiltIn,
            (true, None) => EngineEvaluation::Baseline,
            (true, Some(_)) => {
                let problem = "both a model file and eval=baseline".to_owned();
                return Err(SpecProblem::Conflict(problem, "one of them".to_owned()));
            }
        };
        let opponent = settings.number("opponent", HumanSpec::RATINGS)?.map(Elo);
        Ok(EngineSpec { evaluation, opponent, settings: EngineSettings::parse(settings)? })
    }
}

impl PlayerKind for EngineSpec {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, eval) = match &self.evaluation {
            EngineEvaluation::BuiltIn => (None, None),
            EngineEvaluation::Baseline => (None, Some("baseline")),
            EngineEvaluation::File(file) => (Some(file.as_path()), None),
        };
        let opponent = Setting("opponent", self.opponent.map(|elo| elo.0));
        write!(f, "{}{}{opponent}{}", Subject(file), Setting("eval", eval), self.settings)
    }

    fn build(&self, context: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError> {
        let (name, evaluator) = self.evaluation.build(context)?;
        let name = against(&name, self.opponent);
        let Some(rating) = self.opponent else { return self.settings.build(name, evaluator) };
        let player = ContemptPlayer::new(name, self.settings.options(), evaluator, rating);
        #[cfg(feature = "syzygy")]
        let player = player.with_tables(self.settings.tables()?);
        Ok(with_limits(Box::new(player), self.settings.limits.clone()))
    }

    fn file_setting(&self) -> FileSetting<'_> {
        FileSetting::Optional(match &self.evaluation {
            EngineEvaluation::File(file) => Some(file),
            EngineEvaluation::BuiltIn | EngineEvaluation::Baseline => None,
        })
    }

    fn set_file(&mut self, file: Option<PathBuf>) {
        self.evaluation = file.map_or(EngineEvaluation::BuiltIn, EngineEvaluation::File);
    }

    fn built_in_name(&self) -> Option<String> {
        // Tables are files.
        let alone = self.evaluation == EngineEvaluation::BuiltIn && self.settings.syzygy.is_none();
        alone.then(|| against(ENGINE, self.opponent))
    }

    fn built_in_network(&self) -> Option<BuiltInNetwork> {
        (self.evaluation == EngineEvaluation::BuiltIn).then_some(BuiltInNetwork::Value)
    }

    fn engine(&self) -> Option<&EngineSettings> {
        Some(&self.settings)
    }

    fn engine_mut(&mut self) -> Option<&mut EngineSettings> {
        Some(&mut self.settings)
    }
}
