use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use shakmaty::Position;
use tabia_data::GameHead;
use tabia_data::stats::{Category, Phase, Pool, TimeClass};
use tabia_encoding::{Elo, RatingPool, Situation};

/// Grouping of positions into bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// One band.
    All,
    /// Rating of the side to move.
    Elo {
        /// Width of a band.
        width: NonZeroU16,
    },
    /// Game phase.
    Phase,
    /// Time control.
    Time,
    /// Rating pool.
    Pool,
}

impl Grouping {
    /// Usual width of a rating band.
    pub const RATING_BAND: NonZeroU16 = NonZeroU16::new(200).unwrap();

    /// Name.
    pub fn label(self) -> &'static str {
        match self {
            Grouping::All => "all",
            Grouping::Elo { .. } => "elo",
            Grouping::Phase => "phase",
            Grouping::Time => "time",
            Grouping::Pool => "pool",
        }
    }
}

/// Serialised as its [label](Grouping::label).
impl Serialize for Grouping {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.label())
    }
}

/// Speed category of a game as on Lichess, with ultrabullet counted as bullet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Speed {
    /// Below 3 minutes for 40 moves.
    Bullet,
    /// Below 8 minutes.
    Blitz,
    /// Below 25 minutes.
    Rapid,
    /// 25 minutes or more.
    Classical,
    /// Unknown time control.
    Unknown,
}

impl Speed {
    /// All speeds, fastest first.
    pub const ALL: [Speed; 5] = [Speed::Bullet, Speed::Blitz, Speed::Rapid, Speed::Classical, Speed::Unknown];

    /// Speed of a game.
    pub fn of(head: &GameHead) -> Speed {
        match TimeClass::of(head.pace) {
            TimeClass::UltraBullet | TimeClass::Bullet => Speed::Bullet,
            TimeClass::Blitz => Speed::Blitz,
            TimeClass::Rapid => Speed::Rapid,
            TimeClass::Classical => Speed::Classical,
            TimeClass::Unknown => Speed::Unknown,
        }
    }

    /// Name.
    pub fn label(self) -> &'static str {
        match self {
            Speed::Bullet => "bullet",
            Speed::Blitz => "blitz",
            Speed::Rapid => "rapid",
            Speed::Classical => "classical",
            Speed::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Speed, String> {
        let found = Speed::ALL.into_iter().find(|speed| speed.label() == text);
        found.ok_or_else(|| {
            format!("invalid speed {text:?} (expected bullet, blitz, rapid, classical or unknown)")
        })
    }
}

/// Categories of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Categories {
    rating: Option<Elo>,
    phase: Phase,
    speed: Speed,
    pool: RatingPool,
}

/// A band of a grouping, in display order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Band {
    All,
    Elo {
        /// Lower bound of the ratings.
        from: u16,
        width: NonZeroU16,
    },
    NoElo,
    Phase(Phase),
    Time(Speed),
    /// Index in [`Pool::ALL`].
    Pool(usize),
}

impl Categories {
    pub(crate) fn of(situation: &Situation<'_>, head: &GameHead) -> Categories {
        Categories {
            rating: situation.mover.rating,
            phase: Phase::of(situation.position.board()),
            speed: Speed::of(head),
            pool: head.pool,
        }
    }

    pub(crate) fn band(&self, grouping: Grouping) -> Band {
        match grouping {
            Grouping::All => Band::All,
            Grouping::Elo { width } => {
                self.rating.map_or(Band::NoElo, |rating| Band::of_rating(rating, width))
            }
            Grouping::Phase => Band::Phase(self.phase),
            Grouping::Time => Band::Time(self.speed),
            Grouping::Pool => {
                Band::Pool(Pool::ALL.iter().position(|pool| pool.0 == self.pool).unwrap_or(Pool::ALL.len()))
            }
        }
    }
}

impl Band {
    pub(crate) fn of_rating(rating: Elo, width: NonZeroU16) -> Band {
        Band::Elo { from: rating.0 / width * width.get(), width }
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Band::All => f.write_str("all"),
            Band::Elo { from, width } => write!(f, "{from}-{}", from.saturating_add(width.get() - 1)),
            Band::NoElo => f.write_str("unknown"),
            Band::Phase(phase) => f.write_str(phase.label()),
            Band::Time(speed) => f.write_str(speed.label()),
            Band::Pool(index) => f.write_str(Pool::ALL.get(index).map_or("?", |pool| pool.label())),
        }
    }
}
