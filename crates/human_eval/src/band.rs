use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use shakmaty::Position;
use tabia_data::GameHead;
use tabia_data::stats::{Category, Phase, Pool, TimeClass};
use tabia_encoding::{Elo, RatingPool, Situation};

/// How positions are divided into bands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Grouping {
    /// All in one.
    All,
    /// By the rating of the side to move, 200 points a band.
    Elo,
    /// By how far the game has come.
    Phase,
    /// By the time control.
    Time,
    /// By whose scale the ratings are on.
    Pool,
}

impl Grouping {
    /// What it is called.
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

/// How much time a game gives: as Lichess calls it, with what is faster than bullet counted as bullet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Speed {
    /// Below 3 minutes for 40 moves.
    Bullet,
    /// Below 8 minutes.
    Blitz,
    /// Below 25 minutes.
    Rapid,
    /// The rest.
    Classical,
    /// No time control is known.
    Unknown,
}

impl Speed {
    /// All of them, fastest first.
    pub const ALL: [Speed; 5] = [Speed::Bullet, Speed::Blitz, Speed::Rapid, Speed::Classical, Speed::Unknown];

    /// The speed of a game.
    pub fn of(head: &GameHead) -> Speed {
        match TimeClass::of(head.pace) {
            TimeClass::UltraBullet | TimeClass::Bullet => Speed::Bullet,
            TimeClass::Blitz => Speed::Blitz,
            TimeClass::Rapid => Speed::Rapid,
            TimeClass::Classical => Speed::Classical,
            TimeClass::Unknown => Speed::Unknown,
        }
    }

    /// What it is called.
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
        found.ok_or_else(|| format!("{text:?} is no speed: bullet, blitz, rapid, classical or unknown"))
    }
}

/// Where one position belongs in every grouping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    rating: Option<Elo>,
    phase: Phase,
    speed: Speed,
    pool: RatingPool,
}

/// Points of a rating band.
const WIDTH: u16 = 200;

/// One band of a grouping; bands of one grouping are ordered as a table shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Band {
    All,
    /// From this rating.
    Elo(u16),
    NoElo,
    Phase(Phase),
    Time(Speed),
    /// Its number among the pools.
    Pool(usize),
}

impl Place {
    pub(crate) fn of(situation: &Situation<'_>, head: &GameHead) -> Place {
        Place {
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
        Band::Elo(rating.0 / WIDTH * WIDTH)
    }
}

impl fmt::Display for Band {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Band::All => f.write_str("all"),
            Band::Elo(from) => write!(f, "{from}-{}", from + WIDTH - 1),
            Band::NoElo => f.write_str("unknown"),
            Band::Phase(phase) => f.write_str(phase.label()),
            Band::Time(speed) => f.write_str(speed.label()),
            Band::Pool(number) => f.write_str(Pool::ALL.get(number).map_or("?", |pool| pool.label())),
        }
    }
}
