use std::fmt;

use serde::{Deserialize, Serialize};
use shakmaty::ByColor;

use crate::openings::{Opening, Openings};

/// Index of a player among the entrants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlayerId(pub usize);

/// Tournament format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Two players.
    Match,
    /// The first player against all others.
    Gauntlet,
    /// All against all.
    RoundRobin,
    /// Explicit pairings.
    Pairings,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Match => "match",
            Format::Gauntlet => "gauntlet",
            Format::RoundRobin => "round robin",
            Format::Pairings => "pairings",
        })
    }
}

/// Numbered games of a run.
///
/// In every round, each pairing plays a pair of games with reversed colours on the round's opening; with explicit
/// pairings, each pairing has its own opening. A longer schedule starts with the games of a shorter one, so that a run
/// can be extended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Pairings of a round, in order.
    pairings: Vec<(PlayerId, PlayerId)>,
    format: Format,
    players: usize,
    rounds: u32,
    openings: usize,
}

/// A game of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledGame {
    /// Game number, from 0 without gaps.
    pub game: u32,
    /// Pair number, from 0.
    pub pair: u32,
    /// Index of the opening.
    pub opening: usize,
    /// Players.
    pub players: ByColor<PlayerId>,
}

/// Invalid schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The number of players does not fit the format, or a pairing is invalid.
    #[error("{players} players in a {format} (expected {})", if *format == Format::Match { "2" } else { "at least 2" })]
    Players {
        /// Format.
        format: Format,
        /// Number of players.
        players: usize,
    },
    /// No openings.
    #[error("no openings")]
    NoOpening,
    /// Too many games.
    #[error("too many rounds: {0}")]
    TooLong(u32),
}

impl ScheduledGame {
    /// The opening it starts with.
    ///
    /// # Panics
    /// If the schedule was made for more openings.
    pub fn opening_of<'a>(&self, openings: &'a Openings) -> &'a Opening {
        let second = self.game % 2 == 1;
        openings.reversed().filter(|_| second).unwrap_or_else(|| &openings.list()[self.opening])
    }
}

impl Schedule {
    /// A schedule over `openings` openings, used in turn.
    ///
    /// # Errors
    /// If the numbers are invalid.
    pub fn new(
        format: Format,
        players: usize,
        rounds: u32,
        openings: usize,
    ) -> Result<Schedule, ScheduleError> {
        let valid = match format {
            Format::Match => players == 2,
            Format::Gauntlet | Format::RoundRobin => players >= 2,
            Format::Pairings => false,
        };
        if !valid {
            return Err(ScheduleError::Players { format, players });
        }
        let pairings: Vec<(PlayerId, PlayerId)> = (0..players)
            .flat_map(|first| (first + 1..players).map(move |second| (first, second)))
            .filter(|(first, _)| format != Format::Gauntlet || *first == 0)
            .map(|(first, second)| (PlayerId(first), PlayerId(second)))
            .collect();
        Schedule::with_pairings(pairings, format, players, rounds, openings)
    }

    /// A schedule of explicit pairings.
    ///
    /// # Errors
    /// If there are no pairings or openings, or a pairing is invalid.
    pub fn of_pairings(
        pairings: Vec<(PlayerId, PlayerId)>,
        players: usize,
        rounds: u32,
        openings: usize,
    ) -> Result<Schedule, ScheduleError> {
        let invalid = |(first, second): &(PlayerId, PlayerId)| {
            first == second || first.0 >= players || second.0 >= players
        };
        if pairings.is_empty() || pairings.iter().any(invalid) {
            return Err(ScheduleError::Players { format: Format::Pairings, players });
        }
        Schedule::with_pairings(pairings, Format::Pairings, players, rounds, openings)
    }

    fn with_pairings(
        pairings: Vec<(PlayerId, PlayerId)>,
        format: Format,
        players: usize,
        rounds: u32,
        openings: usize,
    ) -> Result<Schedule, ScheduleError> {
        if openings == 0 {
            return Err(ScheduleError::NoOpening);
        }
        let games = u64::from(rounds) * pairings.len() as u64 * 2;
        if u32::try_from(games).is_err() {
            return Err(ScheduleError::TooLong(rounds));
        }
        Ok(Schedule { pairings, format, players, rounds, openings })
    }

    /// Format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Pairings of every round.
    pub fn pairings(&self) -> &[(PlayerId, PlayerId)] {
        &self.pairings
    }

    /// Number of players.
    pub fn players(&self) -> usize {
        self.players
    }

    /// Number of games.
    pub fn games(&self) -> u32 {
        self.rounds * self.pairings.len() as u32 * 2
    }

    /// The game with this number.
    pub fn scheduled_game(&self, game: u32) -> Option<ScheduledGame> {
        if game >= self.games() {
            return None;
        }
        let pair = game / 2;
        let per_round = self.pairings.len();
        let round = pair as usize / per_round;
        let (first, second) = self.pairings[pair as usize % per_round];
        let players = match game % 2 {
            0 => ByColor { white: first, black: second },
            _ => ByColor { white: second, black: first },
        };
        let turn = match self.format {
            // The same players may meet several times in a round.
            Format::Pairings => pair as usize,
            Format::Match | Format::Gauntlet | Format::RoundRobin => round,
        };
        Some(ScheduledGame { game, pair, opening: turn % self.openings, players })
    }

    /// All games, in order.
    pub fn scheduled_games(&self) -> impl Iterator<Item = ScheduledGame> {
        (0..self.games()).filter_map(|game| self.scheduled_game(game))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn listing(
        format: Format,
        players: usize,
        rounds: u32,
        openings: usize,
    ) -> Vec<(u32, usize, usize, usize)> {
        let schedule = Schedule::new(format, players, rounds, openings).unwrap();
        let row = |f: ScheduledGame| (f.pair, f.opening, f.players.white.0, f.players.black.0);
        let rows: Vec<_> = schedule.scheduled_games().map(row).collect();
        assert_eq!(rows.len(), schedule.games() as usize);
        rows
    }

    #[test]
    fn match_reverses_colours_on_each_opening() {
        let expected = [(0, 0, 0, 1), (0, 0, 1, 0), (1, 1, 0, 1), (1, 1, 1, 0), (2, 0, 0, 1), (2, 0, 1, 0)];
        assert_eq!(listing(Format::Match, 2, 3, 2), expected);
    }

    #[test]
    fn gauntlet_is_played_by_the_first_player() {
        assert_eq!(
            listing(Format::Gauntlet, 3, 1, 9),
            [(0, 0, 0, 1), (0, 0, 1, 0), (1, 0, 0, 2), (1, 0, 2, 0)]
        );
    }

    #[test]
    fn round_robin_is_balanced() {
        let mut met = BTreeMap::new();
        for (_, opening, white, black) in listing(Format::RoundRobin, 5, 4, 4) {
            *met.entry((opening, white, black)).or_insert(0) += 1;
        }
        assert_eq!(met.len(), 4 * 5 * 4);
        assert!(met.values().all(|count| *count == 1));
    }

    #[test]
    fn explicit_pairings_are_scheduled() {
        let pairs = vec![(PlayerId(2), PlayerId(0)), (PlayerId(1), PlayerId(2))];
        let schedule = Schedule::of_pairings(pairs, 3, 2, 5).unwrap();
        let met: Vec<_> =
            schedule.scheduled_games().map(|f| (f.players.white.0, f.players.black.0)).collect();
        assert_eq!(met[..4], [(2, 0), (0, 2), (1, 2), (2, 1)]);
        assert_eq!(met.len(), 8);
        for wrong in [vec![], vec![(PlayerId(1), PlayerId(1))], vec![(PlayerId(0), PlayerId(3))]] {
            assert!(Schedule::of_pairings(wrong, 3, 1, 1).is_err());
        }
        assert!(Schedule::new(Format::Pairings, 2, 1, 1).is_err(), "no pairings");
    }

    #[test]
    fn longer_schedule_starts_with_the_shorter_one() {
        for format in [Format::Gauntlet, Format::RoundRobin] {
            let short = listing(format, 4, 3, 2);
            assert_eq!(listing(format, 4, 7, 2)[..short.len()], short);
        }
    }

    #[test]
    fn invalid_schedules_are_rejected() {
        let error =
            |format, players, rounds, openings| Schedule::new(format, players, rounds, openings).unwrap_err();
        for (format, players) in [(Format::Match, 3), (Format::RoundRobin, 1)] {
            assert_eq!(error(format, players, 1, 1), ScheduleError::Players { format, players });
        }
        assert_eq!(error(Format::Match, 2, 1, 0), ScheduleError::NoOpening);
        assert_eq!(error(Format::Match, 2, u32::MAX, 1), ScheduleError::TooLong(u32::MAX));
    }
}
