use shakmaty::ByColor;

use crate::shuffle::mix;
use crate::{PlayerHash, RecordKey};

/// The split into training and held-out records. The side of a record depends only on its key, or its players, and the
/// seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Split {
    /// Random seed.
    pub seed: u64,
    /// Held-out records per million.
    pub held_out_ppm: u32,
    /// Whether records or players are held out.
    pub by: SplitBy,
}

/// What a split holds out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SplitBy {
    /// Records, by key.
    #[default]
    Record,
    /// Players: a game is held out if one of its players is, so that held-out players are never trained on. Records without
    /// known players are split by key.
    Player,
}

/// The sides of a [`Split`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Side {
    /// Training records.
    #[default]
    Training,
    /// Held-out records.
    HeldOut,
    /// Everything.
    All,
}

impl Split {
    /// Default number of held-out records per million.
    pub const USUAL_HELD_OUT_PPM: u32 = 10_000;

    /// The split of trainings. All runs hold out the same records, so that their results are comparable.
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
