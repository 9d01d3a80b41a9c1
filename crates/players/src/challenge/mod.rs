//! The Chess Challenge: its rules, the levels, the player of an entry, and which networks may enter.

mod admission;
mod board;
mod entry;
mod level_player;
mod search;

use std::{fmt, str::FromStr};

pub use admission::{CHALLENGE_INPUT, NotAdmitted, OutputWarning, admit};
pub use entry::ChallengeEntry;
pub use level_player::LevelPlayer;

/// An edition of the Chess Challenge, whose harness is reproduced move for move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ChallengeRules {
    /// As first published: five levels, 768 inputs, a million parameters.
    #[default]
    Original,
    /// The rules of 2026: four levels, 1540 inputs, ten million parameters.
    Edition2026,
}

impl ChallengeRules {
    /// All editions, the default one first.
    pub const ALL: [ChallengeRules; 2] = [ChallengeRules::Original, ChallengeRules::Edition2026];

    /// `original` or `2026`.
    pub fn name(self) -> &'static str {
        match self {
            ChallengeRules::Original => "original",
            ChallengeRules::Edition2026 => "2026",
        }
    }

    /// The levels, the weakest first.
    pub fn levels(self) -> impl DoubleEndedIterator<Item = Level> + ExactSizeIterator {
        let count: u8 = match self {
            ChallengeRules::Original => 5,
            ChallengeRules::Edition2026 => 4,
        };
        (0..count).map(move |below| Level { number: below + 1, rules: self })
    }

    /// The level of this number; `None` if there is none.
    pub fn level(self, number: u8) -> Option<Level> {
        self.levels().find(|level| level.number == number)
    }

    /// The most parameters a network may have.
    pub fn max_parameters(self) -> u64 {
        match self {
            ChallengeRules::Original => 1_000_000,
            ChallengeRules::Edition2026 => 10_000_000,
        }
    }

    /// Whether quiescence searches promotions that capture nothing.
    fn searches_promotions(self) -> bool {
        self == ChallengeRules::Edition2026
    }

    /// Whether the quiescence of the upper levels prunes captures that gain too little.
    fn prunes_by_delta(self) -> bool {
        self == ChallengeRules::Original
    }

    /// Whether the levels choose among equally good moves at random; if not, they play the first.
    fn breaks_ties_at_random(self) -> bool {
        self == ChallengeRules::Original
    }

    /// Whether a network in check searches all its replies instead of standing pat.
    fn evades_checks(self) -> bool {
        self == ChallengeRules::Edition2026
    }
}

impl fmt::Display for ChallengeRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// There is no edition of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown rules {0:?} (expected original or 2026)")]
pub struct UnknownRules(String);

impl FromStr for ChallengeRules {
    type Err = UnknownRules;

    fn from_str(name: &str) -> Result<ChallengeRules, UnknownRules> {
        let named = |rules: &ChallengeRules| rules.name() == name;
        ChallengeRules::ALL.into_iter().find(named).ok_or_else(|| UnknownRules(name.to_owned()))
    }
}

/// A level of the Chess Challenge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Level {
    number: u8,
    rules: ChallengeRules,
}

impl Level {
    /// A level of the original rules; `None` unless the number is from 1 to 5.
    pub fn new(number: u8) -> Option<Level> {
        ChallengeRules::Original.level(number)
    }

    /// From 1 up.
    pub fn number(self) -> u8 {
        self.number
    }

    /// The rules it plays by.
    pub fn rules(self) -> ChallengeRules {
        self.rules
    }

    /// Its name in the challenge.
    pub fn name(self) -> &'static str {
        match (self.rules, self.number) {
            (_, 1) => "Beginner",
            (_, 2) => "Novice",
            (ChallengeRules::Original, 3) => "Intermediate",
            (ChallengeRules::Original, 4) | (ChallengeRules::Edition2026, 3) => "Advanced",
            _ => "Expert",
        }
    }

    /// Search depth in plies, before quiescence.
    pub fn depth(self) -> u32 {
        match (self.rules, self.number) {
            (_, 1) => 1,
            (_, 2) => 2,
            (_, 3) | (ChallengeRules::Original, 4) => 3,
            _ => 4,
        }
    }

    /// Whether it searches with a transposition table, null moves, killers and history.
    fn is_enhanced(self) -> bool {
        match self.rules {
            ChallengeRules::Original => self.number >= 4,
            ChallengeRules::Edition2026 => self.number >= 3,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_those_of_each_edition() {
        assert_eq!([0, 6].map(Level::new), [None, None]);
        assert_eq!(ChallengeRules::Edition2026.level(5), None);
        for rules in ChallengeRules::ALL {
            assert!(rules.levels().all(|level| rules.level(level.number()) == Some(level)));
            assert_eq!(rules.name().parse(), Ok(rules));
        }
        let facts = |rules: ChallengeRules| -> Vec<(u32, bool)> {
            rules.levels().map(|level| (level.depth(), level.is_enhanced())).collect()
        };
        assert_eq!(
            facts(ChallengeRules::Original),
            [(1, false), (2, false), (3, false), (3, true), (4, true)]
        );
        assert_eq!(facts(ChallengeRules::Edition2026), [(1, false), (2, false), (3, true), (4, true)]);
        assert_eq!("2025".parse::<ChallengeRules>(), Err(UnknownRules("2025".to_owned())));
    }
}
