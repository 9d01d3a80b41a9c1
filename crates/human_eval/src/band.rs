use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use shakmaty::Position;
use tabia_data::GameHead;
use tabia_data::stats::{Category, Phase, Pool, TimeClass};
use tabia_encoding::{Elo, RatingPool, Situation};

/// Grouping of positions into bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grouping {
    /// One band.
    All,
    /// Rating of the side to move, in steps of 200.
    Elo,
    /// Game phase.
    Phase,
    /// Time control.
    Time,
    /// Rating pool.
    Pool,
}

impl Grouping {
    /// Name.
    pub fn label(self) -> &'static str {
        match self {
            Grouping::All => "all",
            Grouping::Elo => "elo",
            Grouping::Phase => "phase",
            Grouping::Time => "time",
            Grouping::Pool => "pool",
        }
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

const BAND_WIDTH: u16 = 200;

/// A band of a grouping, in display order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Band {
    All,
    /// Lower bound of the ratings.
    Elo(u16),
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
            Grouping::Elo => self.rating.map_or(Band::NoElo, Band::of_rating),
            Grouping::Phase => Band::Phase(self.phase),
            Grouping::Time => Band::Time(self.speed),
            Grouping::Pool => {
                Band::Pool(Pool::ALL.iter().position(|pool| pool.0 == self.pool).unwrap_or(Pool::ALL.len()))
            }
        }
    }
}

impl Band {
    pub(crate) fn of_rating(rating: Elo) -> Band {
        Band::Elo(rating.0 / BAND_WIDTH * BAND_WIDTH)
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Band::All => f.write_str("all"),
            Band::Elo(from) => write!(f, "{from}-{}", from + BAND_WIDTH - 1),
            Band::NoElo => f.write_str("unknown"),
            Band::Phase(phase) => f.write_str(phase.label()),
            Band::Time(speed) => f.write_str(speed.label()),
            Band::Pool(index) => f.write_str(Pool::ALL.get(index).map_or("?", |pool| pool.label())),
        }
    }
}
