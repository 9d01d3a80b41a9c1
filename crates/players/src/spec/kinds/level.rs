use std::fmt;

use super::super::{
    BuildError, Determinism, ParseKind, PlayerContext, PlayerKind, SpecProblem,
    settings::{Settings, invalid},
    write::Setting,
};
use crate::{ChallengeRules, Level, LevelPlayer, Player};

/// `level:N`: a level of the Chess Challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelSpec {
    /// The level.
    pub level: Level,
    /// The random seed; `None` takes that of the [context](PlayerContext::seed).
    pub seed: Option<u64>,
}

impl From<Level> for LevelSpec {
    fn from(level: Level) -> LevelSpec {
        LevelSpec { level, seed: None }
    }
}

/// The setting of the challenge's rules.
pub(super) fn rules(settings: &mut Settings) -> Result<Option<ChallengeRules>, SpecProblem> {
    settings.word("rules", &ChallengeRules::ALL.map(|rules| (rules.name(), rules)))
}

impl ParseKind for LevelSpec {
    const NAME: &'static str = "level";
    const USAGE: &'static str = "level:N";

    fn parse(subject: Option<String>, settings: &mut Settings) -> Result<LevelSpec, SpecProblem> {
        settings.known(&["rules", "seed"]);
        let number = subject.ok_or(SpecProblem::Usage(Self::USAGE))?;
        let rules = rules(settings)?.unwrap_or_default();
        let level = number.parse().ok().and_then(|number| rules.level(number));
        let expected = || format!("1 to {}", rules.levels().len());
        let level = level.ok_or_else(|| invalid("level", &number, expected()))?;
        Ok(LevelSpec { level, seed: settings.seed()? })
    }
}

impl PlayerKind for LevelSpec {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules = Some(self.level.rules()).filter(|rules| *rules != ChallengeRules::default());
        write!(f, ":{}{}{}", self.level, Setting("rules", rules), Setting("seed", self.seed))
    }

    fn build(&self, context: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError> {
        Ok(Box::new(LevelPlayer::new(self.level, self.seed.unwrap_or(context.seed))))
    }

    fn reports_candidates(&self) -> bool {
        true
    }

    fn determinism(&self) -> Determinism {
        match self.level.rules() {
            ChallengeRules::Original => Determinism::Seeded,
            ChallengeRules::Edition2026 => Determinism::Deterministic,
        }
    }
}
