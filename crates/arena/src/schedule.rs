use std::fmt;

use serde::{Deserialize, Serialize};
use shakmaty::ByColor;

/// A player of a run, by place among the entrants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlayerId(pub usize);

/// Who meets whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Two players.
    Match,
    /// The first player meets each of the others.
    Gauntlet,
    /// Everybody meets everybody.
    RoundRobin,
    /// Somebody has chosen who meets whom.
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

/// All games of a run, numbered.
///
/// In every round each two players who meet play two games on the round's opening, or on one of their own where somebody
/// has chosen who meets whom, with colours swapped. The first games
/// of a longer schedule are those of a shorter one, so a run can be made longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// In the order they play within a round.
    encounters: Vec<(PlayerId, PlayerId)>,
    format: Format,
    players: usize,
    rounds: u32,
    openings: usize,
}

/// One game to be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixture {
    /// From 0, without gaps.
    pub game: u32,
    /// Two games that belong together have the same number, from 0.
    pub pair: u32,
    /// Place in the set of openings.
    pub opening: usize,
    /// Who has which colour.
    pub players: ByColor<PlayerId>,
}

/// A schedule that cannot be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSchedule {
    /// The number of players does not fit the format.
    #[error("a {format} cannot be played by {players} players")]
    Players {
        /// The format.
        format: Format,
        /// How many players there are.
        players: usize,
    },
    /// There is no opening.
    #[error("there is no opening to play")]
    NoOpening,
    /// More games than can be numbered.
    #[error("{0} rounds are more games than can be numbered")]
    TooLong(u32),
}

impl Schedule {
    /// Games of `players` players in `rounds` rounds over `openings` openings, which are used in turn.
    ///
    /// # Errors
    /// When the numbers do not make a schedule.
    pub fn new(
        format: Format,
        players: usize,
        rounds: u32,
        openings: usize,
    ) -> Result<Schedule, BadSchedule> {
        let fits = match format {
            Format::Match => players == 2,
            Format::Gauntlet | Format::RoundRobin => players >= 2,
            Format::Pairings => false,
        };
        if !fits {
            return Err(BadSchedule::Players { format, players });
        }
        let encounters: Vec<(PlayerId, PlayerId)> = (0..players)
            .flat_map(|first| (first + 1..players).map(move |second| (first, second)))
            .filter(|(first, _)| format != Format::Gauntlet || *first == 0)
            .map(|(first, second)| (PlayerId(first), PlayerId(second)))
            .collect();
        Schedule::of_encounters(encounters, format, players, rounds, openings)
    }

    /// Games of those `players` players who are to meet, in `rounds` rounds over `openings` openings.
    ///
    /// # Errors
    /// When nobody is to meet, somebody is not there or to meet itself, or there is no opening.
    pub fn of_pairings(
        pairings: Vec<(PlayerId, PlayerId)>,
        players: usize,
        rounds: u32,
        openings: usize,
    ) -> Result<Schedule, BadSchedule> {
        let wrong = |(first, second): &(PlayerId, PlayerId)| {
            first == second || first.0 >= players || second.0 >= players
        };
        if pairings.is_empty() || pairings.iter().any(wrong) {
            return Err(BadSchedule::Players { format: Format::Pairings, players });
        }
        Schedule::of_encounters(pairings, Format::Pairings, players, rounds, openings)
    }

    fn of_encounters(
        encounters: Vec<(PlayerId, PlayerId)>,
        format: Format,
        players: usize,
        rounds: u32,
        openings: usize,
    ) -> Result<Schedule, BadSchedule> {
        if openings == 0 {
            return Err(BadSchedule::NoOpening);
        }
        let games = u64::from(rounds) * encounters.len() as u64 * 2;
        if u32::try_from(games).is_err() {
            return Err(BadSchedule::TooLong(rounds));
        }
        Ok(Schedule { encounters, format, players, rounds, openings })
    }

    /// Who meets whom.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Who meets whom in every round.
    pub fn encounters(&self) -> &[(PlayerId, PlayerId)] {
        &self.encounters
    }

    /// How many players take part.
    pub fn players(&self) -> usize {
        self.players
    }

    /// How many games there are.
    pub fn games(&self) -> u32 {
        self.rounds * self.encounters.len() as u32 * 2
    }

    /// The game of this number, if there is one.
    pub fn fixture(&self, game: u32) -> Option<Fixture> {
        if game >= self.games() {
            return None;
        }
        let pair = game / 2;
        let per_round = self.encounters.len();
        let round = pair as usize / per_round;
        let (first, second) = self.encounters[pair as usize % per_round];
        let players = match game % 2 {
            0 => ByColor { white: first, black: second },
            _ => ByColor { white: second, black: first },
        };
        let turn = match self.format {
            // The same two may meet several times in a round.
            Format::Pairings => pair as usize,
            Format::Match | Format::Gauntlet | Format::RoundRobin => round,
        };
        Some(Fixture { game, pair, opening: turn % self.openings, players })
    }

    /// All games in order.
    pub fn fixtures(&self) -> impl Iterator<Item = Fixture> {
        (0..self.games()).filter_map(|game| self.fixture(game))
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
        let row = |f: Fixture| (f.pair, f.opening, f.players.white.0, f.players.black.0);
        let rows: Vec<_> = schedule.fixtures().map(row).collect();
        assert_eq!(rows.len(), schedule.games() as usize);
        rows
    }

    #[test]
    fn a_match_swaps_colours_on_each_opening() {
        let expected = [(0, 0, 0, 1), (0, 0, 1, 0), (1, 1, 0, 1), (1, 1, 1, 0), (2, 0, 0, 1), (2, 0, 1, 0)];
        assert_eq!(listing(Format::Match, 2, 3, 2), expected);
    }

    #[test]
    fn a_gauntlet_is_run_by_the_first() {
        assert_eq!(
            listing(Format::Gauntlet, 3, 1, 9),
            [(0, 0, 0, 1), (0, 0, 1, 0), (1, 0, 0, 2), (1, 0, 2, 0)]
        );
    }

    #[test]
    fn a_round_robin_gives_everybody_the_same() {
        let mut met = BTreeMap::new();
        for (_, opening, white, black) in listing(Format::RoundRobin, 5, 4, 4) {
            *met.entry((opening, white, black)).or_insert(0) += 1;
        }
        assert_eq!(met.len(), 4 * 5 * 4);
        assert!(met.values().all(|count| *count == 1));
    }

    #[test]
    fn pairings_are_those_chosen() {
        let pairs = vec![(PlayerId(2), PlayerId(0)), (PlayerId(1), PlayerId(2))];
        let schedule = Schedule::of_pairings(pairs, 3, 2, 5).unwrap();
        let met: Vec<_> = schedule.fixtures().map(|f| (f.players.white.0, f.players.black.0)).collect();
        assert_eq!(met[..4], [(2, 0), (0, 2), (1, 2), (2, 1)]);
        assert_eq!(met.len(), 8);
        for wrong in [vec![], vec![(PlayerId(1), PlayerId(1))], vec![(PlayerId(0), PlayerId(3))]] {
            assert!(Schedule::of_pairings(wrong, 3, 1, 1).is_err());
        }
        assert!(Schedule::new(Format::Pairings, 2, 1, 1).is_err(), "nobody has chosen");
    }

    #[test]
    fn a_longer_schedule_begins_like_a_shorter_one() {
        for format in [Format::Gauntlet, Format::RoundRobin] {
            let short = listing(format, 4, 3, 2);
            assert_eq!(listing(format, 4, 7, 2)[..short.len()], short);
        }
    }

    #[test]
    fn schedules_that_make_no_sense_are_refused() {
        let refused = |format, players, rounds, openings| {
            Schedule::new(format, players, rounds, openings).unwrap_err().to_string()
        };
        assert_eq!(refused(Format::Match, 3, 1, 1), "a match cannot be played by 3 players");
        assert_eq!(refused(Format::RoundRobin, 1, 1, 1), "a round robin cannot be played by 1 players");
        assert_eq!(refused(Format::Match, 2, 1, 0), "there is no opening to play");
        assert!(refused(Format::Match, 2, u32::MAX, 1).contains("can be numbered"));
    }
}
