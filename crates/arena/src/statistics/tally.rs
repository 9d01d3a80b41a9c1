use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

use super::{EloEstimate, sample::Sample};

/// Points of a player in a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Points {
    /// Nothing.
    Loss,
    /// Half a point.
    Draw,
    /// A point.
    Win,
}

impl Points {
    /// Points in halves: 0, 1 or 2.
    pub fn halves(self) -> u8 {
        match self {
            Points::Loss => 0,
            Points::Draw => 1,
            Points::Win => 2,
        }
    }

    /// Points of the opponent.
    pub fn inverted(self) -> Points {
        match self {
            Points::Loss => Points::Win,
            Points::Draw => Points::Draw,
            Points::Win => Points::Loss,
        }
    }
}

/// Trinomial counts: wins, draws and losses of a player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tally {
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
}

impl Tally {
    /// All games.
    pub fn games(self) -> u64 {
        self.wins + self.draws + self.losses
    }

    /// Points: 1 per win, 0.5 per draw.
    pub fn points(self) -> f64 {
        self.wins as f64 + 0.5 * self.draws as f64
    }

    /// Points per game; `None` without games.
    pub fn score(self) -> Option<f64> {
        (self.games() > 0).then(|| self.points() / self.games() as f64)
    }

    /// Draw ratio; `None` without games.
    pub fn draw_ratio(self) -> Option<f64> {
        (self.games() > 0).then(|| self.draws as f64 / self.games() as f64)
    }

    /// Counts a game.
    pub fn record(&mut self, points: Points) {
        match points {
            Points::Loss => self.losses += 1,
            Points::Draw => self.draws += 1,
            Points::Win => self.wins += 1,
        }
    }

    /// Counts of the opponent.
    pub fn inverted(self) -> Tally {
        Tally { wins: self.losses, draws: self.draws, losses: self.wins }
    }

    /// Elo difference with games as independent observations; `None` without games.
    pub fn elo(self) -> Option<EloEstimate> {
        EloEstimate::of(&self.sample())
    }

    pub(super) fn sample(self) -> Sample<3> {
        Sample([self.losses, self.draws, self.wins])
    }
}

impl Add for Tally {
    type Output = Tally;

    fn add(self, other: Tally) -> Tally {
        Tally {
            wins: self.wins + other.wins,
            draws: self.draws + other.draws,
            losses: self.losses + other.losses,
        }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        *self = *self + other;
    }
}

/// Pentanomial counts: game pairs on the same opening with reversed colours by the points 0, 0.5, 1, 1.5 and 2 of a
/// player.
///
/// The bias of an opening cancels within a pair, which narrows intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pairs(pub [u64; 5]);

impl Pairs {
    /// All pairs.
    pub fn pairs(self) -> u64 {
        self.0.iter().sum()
    }

    /// Counts a pair.
    pub fn record(&mut self, first: Points, second: Points) {
        self.0[usize::from(first.halves() + second.halves())] += 1;
    }

    /// Points per game; `None` without pairs.
    pub fn score(self) -> Option<f64> {
        self.sample().mean()
    }

    /// Elo difference with pairs as independent observations; `None` without pairs.
    pub fn elo(self) -> Option<EloEstimate> {
        EloEstimate::of(&self.sample())
    }

    pub(super) fn sample(self) -> Sample<5> {
        Sample(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_count_half_points() {
        let mut pairs = Pairs::default();
        for (first, second) in [
            (Points::Loss, Points::Loss),
            (Points::Draw, Points::Loss),
            (Points::Win, Points::Loss),
            (Points::Draw, Points::Draw),
            (Points::Win, Points::Draw),
            (Points::Win, Points::Win),
        ] {
            pairs.record(first, second);
        }
        assert_eq!(pairs, Pairs([1, 1, 2, 1, 1]));
        assert_eq!(pairs.score(), Some(0.5));
        assert_eq!(Pairs::default().score(), None);
    }

    #[test]
    fn inverted_counts_are_those_of_the_opponent() {
        let mut tally = Tally::default();
        for points in [Points::Win, Points::Win, Points::Draw, Points::Loss] {
            tally.record(points);
        }
        assert_eq!((tally.points(), tally.score(), tally.draw_ratio()), (2.5, Some(0.625), Some(0.25)));
        let mut other = Tally::default();
        for points in [Points::Win, Points::Win, Points::Draw, Points::Loss] {
            other.record(points.inverted());
        }
        assert_eq!(tally.inverted(), other);
        assert_eq!((tally + other).score(), Some(0.5));
    }
}
