use std::fmt;

use super::super::{
    BuildError, ParseKind, PlayerContext, PlayerKind, SpecProblem,
    settings::{Settings, invalid},
};
use crate::{Level, LevelPlayer, Player};

/// `level:N`: a level of the Chess Challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelSpec(pub Level);

impl ParseKind for LevelSpec {
    const NAME: &'static str = "level";
    const USAGE: &'static str = "level:N";

    fn parse(subject: Option<String>, _: &mut Settings) -> Result<LevelSpec, SpecProblem> {
        let number = subject.ok_or(SpecProblem::Usage(Self::USAGE))?;
        let level = number.parse().ok().and_then(Level::new);
        level.map(LevelSpec).ok_or_else(|| invalid("level", &number, "1 to 5"))
    }
}

impl PlayerKind for LevelSpec {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}", self.0)
    }

    fn build(&self, _: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError> {
        Ok(Box::new(LevelPlayer::new(self.0)))
    }
}
