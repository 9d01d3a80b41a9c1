use std::fmt;

use tabia_encoding::Elo;
use tabia_search::Limits;

use super::super::{
    BuildError, Determinism, ParseKind, PlayerContext, PlayerKind, SpecProblem,
    settings::Settings,
    write::{self, Setting, quoted},
};
use crate::{Player, wrapped::with_limits};

/// `uci:COMMAND`: another program that speaks UCI.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UciSpec {
    /// The program and its arguments, split as a shell does.
    pub command: String,
    /// The rating it plays at: UCI_LimitStrength and UCI_Elo.
    pub elo: Option<Elo>,
    /// Depth, nodes and time for a move.
    pub limits: Limits,
    /// `hash=clear`: `ucinewgame` before every move, so that what was searched for earlier moves has no effect.
    pub clears_hash: bool,
    /// `option.NAME=VALUE`: engine options, in the order given.
    pub options: Vec<(String, String)>,
}

impl ParseKind for UciSpec {
    const NAME: &'static str = "uci";
    const USAGE: &'static str = "uci:COMMAND";

    fn parse(subject: Option<String>, settings: &mut Settings) -> Result<UciSpec, SpecProblem> {
        settings.known(&["elo", "depth", "nodes", "movetime", "hash", "option.NAME"]);
        let command = subject.filter(|command| !command.trim().is_empty());
        let spec = UciSpec {
            command: command.ok_or(SpecProblem::Usage(Self::USAGE))?,
            elo: settings.number("elo", 100..=4000)?.map(Elo),
            limits: settings.limits()?,
            clears_hash: settings.word("hash", &[("clear", true), ("keep", false)])?.unwrap_or(false),
            options: settings.take_prefixed("option."),
        };
        if spec.options.iter().any(|(name, _)| name.is_empty()) {
            return Err(SpecProblem::Syntax("option. without a name".to_owned(), "option.NAME=VALUE"));
        }
        Ok(spec)
    }
}

impl PlayerKind for UciSpec {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}{}", quoted(&self.command), Setting("elo", self.elo.map(|elo| elo.0)))?;
        write::limits(f, &self.limits)?;
        write!(f, "{}", Setting("hash", self.clears_hash.then_some("clear")))?;
        self.options.iter().try_for_each(|(name, value)| write!(f, ",option.{name}={}", quoted(value)))
    }

    fn build(&self, context: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError> {
        let start = context.process.ok_or(BuildError::NoProcesses)?;
        let player = start(self).map_err(|source| BuildError::Process { source })?;
        Ok(with_limits(player, self.limits.clone()))
    }

    fn determinism(&self) -> Determinism {
        Determinism::Uncontrolled
    }

    fn rating(&self) -> Option<Elo> {
        self.elo
    }

    fn limits(&self) -> Option<&Limits> {
        Some(&self.limits)
    }

    fn limits_mut(&mut self) -> Option<&mut Limits> {
        Some(&mut self.limits)
    }
}
