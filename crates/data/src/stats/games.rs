use serde::Serialize;
use shakmaty::Position;

use super::{GameResult, Grid, Histogram, Phase, Pool, RatingBand, Tally, TimeClass};
use crate::GameRecord;

/// Statistics of games.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GameStats {
    /// How many games there are.
    pub games: u64,
    /// Number of plies.
    pub plies: u64,
    /// Games by rating and time control.
    pub ratings: Grid<RatingBand, TimeClass>,
    /// Games by the number of their plies.
    pub lengths: Histogram,
    /// Games by result.
    pub results: Tally<GameResult>,
    /// Games by rating pool.
    pub pools: Tally<Pool>,
    /// Positions by phase.
    pub phases: Tally<Phase>,
    /// Games of which both ratings are known.
    pub both_ratings: u64,
    /// Games with another start position.
    pub other_starts: u64,
    /// Games with a clock, and moves with one.
    pub clocks: Share,
    /// Games with an evaluation, and moves with one.
    pub evaluations: Share,
}

/// Number of games and of plies with an annotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Share {
    /// Games with at least one.
    pub games: u64,
    /// Moves with one.
    pub plies: u64,
}

impl Share {
    fn add(&mut self, plies: usize) {
        self.games += u64::from(plies > 0);
        self.plies += plies as u64;
    }

    fn merge(&mut self, other: Share) {
        self.games += other.games;
        self.plies += other.plies;
    }
}

impl Default for GameStats {
    fn default() -> GameStats {
        GameStats {
            games: 0,
            plies: 0,
            ratings: Grid::default(),
            lengths: Histogram::new(10, 31),
            results: Tally::default(),
            pools: Tally::default(),
            phases: Tally::default(),
            both_ratings: 0,
            other_starts: 0,
            clocks: Share::default(),
            evaluations: Share::default(),
        }
    }
}

impl GameStats {
    /// Counts a game.
    pub fn add(&mut self, game: &GameRecord) {
        let head = &game.head;
        self.games += 1;
        self.plies += game.plies.len() as u64;
        self.ratings.add(RatingBand::of(head), TimeClass::of(head.pace));
        self.lengths.add(game.plies.len() as u64);
        self.results.add(GameResult::of(head));
        self.pools.add(Pool(head.pool));
        self.both_ratings += u64::from(head.ratings.iter().all(Option::is_some));
        self.other_starts += u64::from(game.start != shakmaty::Chess::default());
        self.clocks.add(game.plies.iter().filter(|ply| ply.clock.is_some()).count());
        self.evaluations.add(game.plies.iter().filter(|ply| ply.evaluation.is_some()).count());
        let mut position = game.start.clone();
        for ply in &game.plies {
            self.phases.add(Phase::of(position.board()));
            position.play_unchecked(ply.played);
        }
    }

    /// Adds the counts of another part of the set.
    pub fn merge(&mut self, other: &GameStats) {
        self.games += other.games;
        self.plies += other.plies;
        self.ratings.merge(&other.ratings);
        self.lengths.merge(&other.lengths);
        self.results.merge(&other.results);
        self.pools.merge(&other.pools);
        self.phases.merge(&other.phases);
        self.both_ratings += other.both_ratings;
        self.other_starts += other.other_starts;
        self.clocks.merge(other.clocks);
        self.evaluations.merge(other.evaluations);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::{ByColor, Chess, Color};
    use tabia_encoding::{Elo, Pace, RatingPool, parse_uci};

    use super::*;
    use crate::{GameHead, Ply};

    fn game(moves: &[&str]) -> GameRecord {
        let mut position = Chess::default();
        let plies = moves
            .iter()
            .zip(1..)
            .map(|(text, number)| {
                let played = parse_uci(&position, text).unwrap();
                position.play_unchecked(played);
                let clock = (number % 2 == 1).then(|| Duration::from_secs(60 - number));
                Ply { played, clock, evaluation: None }
            })
            .collect();
        let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
        let head = GameHead {
            ratings: ByColor { white: Some(Elo(1900)), black: Some(Elo(2130)) },
            pool: RatingPool::Online,
            pace: Some(Pace { base: minutes(5), increment: Duration::ZERO }),
            result: Some(Some(Color::Black)),
            ..GameHead::default()
        };
        GameRecord { head, start: Chess::default(), plies }
    }

    #[test]
    fn statistics_of_parts_add_up() {
        let mut stats = GameStats::default();
        stats.add(&game(&["f2f3", "e7e5", "g2g4", "d8h4"]));
        assert_eq!((stats.games, stats.plies, stats.both_ratings, stats.other_starts), (1, 4, 1, 0));
        assert_eq!(stats.clocks, Share { games: 1, plies: 2 });
        assert_eq!(stats.evaluations, Share::default());
        let (_, band) = stats.ratings.rows().find(|(band, _)| *band == RatingBand::From(10)).unwrap();
        assert_eq!(band.count(TimeClass::Blitz), 1);
        assert_eq!(stats.results.count(GameResult::Black), 1);
        assert_eq!(stats.phases.count(Phase::Opening), 4);

        let mut other = GameStats::default();
        other.add(&game(&["e2e4"]));
        let mut both = stats.clone();
        both.add(&game(&["e2e4"]));
        stats.merge(&other);
        assert_eq!(stats, both);
    }
}
