use std::{fmt, path::PathBuf};

use super::{
    super::{
        BuildError, FileSetting, ParseKind, PlayerContext, PlayerKind, SpecProblem,
        settings::{Settings, required_file},
        write::{Setting, Subject},
    },
    engine::{ENGINE_SETTINGS, EngineSettings},
    level::rules,
};
use crate::{ChallengeEntry, ChallengeRules, OnePly, Player};

/// `net:FILE`: a network that searches one ply, or leads an alpha-beta search.
#[derive(Clone, Debug, PartialEq)]
pub struct NetSpec {
    /// The model file.
    pub file: PathBuf,
    /// How it searches.
    pub search: NetSearch,
}

/// How a network searches.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a program has a few specs")]
pub enum NetSearch {
    /// One ply and quiescence.
    OnePly,
    /// `rules=original`: the same as the harness of the Chess Challenge plays it.
    Challenge(ChallengeRules),
    /// `search=ab`: alpha-beta.
    AlphaBeta(EngineSettings),
}

const WITH_SEARCH: &[&str] = &[
    "search",
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

impl ParseKind for NetSpec {
    const NAME: &'static str = "net";
    const USAGE: &'static str = "net:FILE";

    fn parse(subject: Option<String>, settings: &mut Settings) -> Result<NetSpec, SpecProblem> {
        settings.known(&["search", "rules"]);
        let file = required_file(subject, Self::USAGE)?;
        let search = if let Some(rules) = rules(settings)? {
            settings.known(&["rules"]);
            NetSearch::Challenge(rules)
        } else if settings.word("search", &[("ab", ())])?.is_some() {
            settings.known(WITH_SEARCH);
            NetSearch::AlphaBeta(EngineSettings::parse(settings)?)
        } else if let Some(name) = settings.any_of(ENGINE_SETTINGS) {
            let problem = format!("{name} has no effect without search=ab");
            return Err(SpecProblem::Conflict(problem, format!("search=ab with {name}")));
        } else {
            NetSearch::OnePly
        };
        Ok(NetSpec { file, search })
    }
}

impl PlayerKind for NetSpec {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Subject(Some(&self.file)))?;
        match &self.search {
            NetSearch::OnePly => Ok(()),
            NetSearch::Challenge(rules) => write!(f, "{}", Setting("rules", Some(rules))),
            NetSearch::AlphaBeta(settings) => write!(f, ",search=ab{settings}"),
        }
    }

    fn build(&self, context: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError> {
        let no_evaluation = |source| BuildError::NoEvaluation { file: self.file.clone(), source };
        match &self.search {
            NetSearch::OnePly => {
                let (model, name) = context.open_named(&self.file)?;
                let player = OnePly::new(name, &model);
                Ok(Box::new(player.map_err(no_evaluation)?))
            }
            NetSearch::Challenge(rules) => {
                let (model, name) = context.open_named(&self.file)?;
                let player = ChallengeEntry::new(name, &model, *rules);
                Ok(Box::new(player.map_err(no_evaluation)?))
            }
            NetSearch::AlphaBeta(settings) => {
                let (name, evaluator) = context.evaluator(&self.file)?;
                settings.build(name, evaluator)
            }
        }
    }

    fn reports_candidates(&self) -> bool {
        true
    }

    fn file_setting(&self) -> FileSetting<'_> {
        FileSetting::Required(&self.file)
    }

    fn set_file(&mut self, file: Option<PathBuf>) {
        if let Some(file) = file {
            self.file = file;
        }
    }

    fn engine(&self) -> Option<&EngineSettings> {
        match &self.search {
            NetSearch::OnePly | NetSearch::Challenge(_) => None,
            NetSearch::AlphaBeta(settings) => Some(settings),
        }
    }

    fn engine_mut(&mut self) -> Option<&mut EngineSettings> {
        match &mut self.search {
            NetSearch::OnePly | NetSearch::Challenge(_) => None,
            NetSearch::AlphaBeta(settings) => Some(settings),
        }
    }
}
