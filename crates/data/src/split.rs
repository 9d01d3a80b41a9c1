use shakmaty::ByColor;

use crate::shuffle::mix;
use crate::{PlayerHash, RecordKey};

/// Which records are kept aside to measure on. A record is on one side for good: it depends on nothing but its key, or
/// its players, and the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Split {
    /// Another seed keeps other records aside.
    pub seed: u64,
    /// How many of a million are kept aside.
    pub held_out_ppm: u32,
    /// What is kept aside: records or players.
    pub by: SplitBy,
}

/// What a split keeps aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SplitBy {
    /// Records, by their keys.
    #[default]
    Record,
    /// Players: a game is held out if one of its players is, so that none of them is ever trained on. Records without
    /// known players are split by their keys.
    Player,
}

/// The two sides of a [`Split`], and both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Side {
    /// What is learned from.
    #[default]
    Training,
    /// What is kept aside.
    HeldOut,
    /// Everything.
    All,
}

impl Split {
    /// How many of a million trainings keep aside unless they are told otherwise.
    pub const USUAL_HELD_OUT_PPM: u32 = 10_000;

    /// The split of trainings. Every run keeps the same records aside, so that what one never saw is strange to all.
    pub const fn of_training(held_out_ppm: u32, by: SplitBy) -> Split {
        Split { seed: 1, held_out_ppm, by }
    }

    /// Nothing is held out.
    pub const NONE: Split = Split { seed: 0, held_out_ppm: 0, by: SplitBy::Record };

    /// The side of a record: [`Side::Training`] or [`Side::HeldOut`].
    pub fn side(&self, key: RecordKey, players: ByColor<Option<PlayerHash>>) -> Side {
        let known = [players.white, players.black].into_iter().flatten();
        let mut players = known.map(|PlayerHash(player)| self.holds_out(u64::from(player))).peekable();
        let held_out = match self.by {
            SplitBy::Player if players.peek().is_some() => players.any(|held_out| held_out),
            SplitBy::Player | SplitBy::Record => self.holds_out(key.0),
        };
        if held_out { Side::HeldOut } else { Side::Training }
    }

    fn holds_out(&self, of: u64) -> bool {
        let draw = mix(mix(self.seed) ^ of);
        ((u128::from(draw) * 1_000_000) >> 64) < u128::from(self.held_out_ppm)
    }
}

impl Side {
    /// Whether a record that a split puts on the side `other` belongs here.
    pub fn takes(self, other: Side) -> bool {
        self == Side::All || self == other
    }
}
