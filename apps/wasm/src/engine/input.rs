//! Games and limits as the page gives them.

use std::time::Duration;

use serde::Deserialize;
use shakmaty::{ByColor, Chess, Color};
use tabia_encoding::{Elo, Pace, PlayerInfo, RatingPool, parse_uci};
use tabia_game::{History, position_from_fen};
use tabia_search::{Limits, TimeLeft};
use tsify::Tsify;

use crate::{Fault, rules::read_time_control};

/// A game up to where somebody is to think.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct GameInput {
    /// The position before the first move; without it, that of every game.
    #[serde(default)]
    #[tsify(optional)]
    pub start_fen: Option<String>,
    /// The moves in UCI notation.
    pub moves: Vec<String>,
    /// Beside the moves: what the mover's clock showed after each, in seconds.
    #[serde(default)]
    #[tsify(optional)]
    pub clocks: Option<Vec<Option<f64>>>,
    /// Who plays White.
    pub white: PlayerInput,
    /// Who plays Black.
    pub black: PlayerInput,
    /// The time control, as `timeControl` reads it.
    #[serde(default)]
    #[tsify(optional)]
    pub time_control: Option<String>,
    /// Whose scale the ratings are on.
    #[serde(default)]
    #[tsify(optional)]
    pub pool: Option<PoolInput>,
}

/// What is known of a player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Tsify)]
pub struct PlayerInput {
    /// The rating.
    #[serde(default)]
    #[tsify(optional)]
    pub rating: Option<f64>,
    /// Seconds on the clock now.
    #[serde(default)]
    #[tsify(optional)]
    pub remaining: Option<f64>,
}

/// Whose scale ratings are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Tsify)]
#[serde(rename_all = "kebab-case")]
pub enum PoolInput {
    /// A chess site.
    Online,
    /// FIDE or a federation.
    OverTheBoard,
    /// Nobody said.
    Unknown,
}

/// How long a player may think. Without any limit it uses its own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct LimitsInput {
    /// Plies to look ahead.
    #[serde(default)]
    #[tsify(optional)]
    pub depth: Option<u32>,
    /// Positions to visit.
    #[serde(default)]
    #[tsify(optional)]
    pub nodes: Option<f64>,
    /// Seconds for the move.
    #[serde(default)]
    #[tsify(optional)]
    pub movetime: Option<f64>,
    /// How many candidates to report.
    #[serde(default)]
    #[tsify(optional)]
    pub lines: Option<u32>,
    /// Choose among these moves only.
    #[serde(default)]
    #[tsify(optional)]
    pub search_moves: Option<Vec<String>>,
    /// Whether the player divides the time on its clock itself.
    #[serde(default)]
    #[tsify(optional)]
    pub use_clock: Option<bool>,
}

impl GameInput {
    /// The game, with ratings, clocks and time control.
    pub(crate) fn history(&self) -> Result<History, Fault> {
        let start = match &self.start_fen {
            Some(fen) => position_from_fen(fen).map_err(|error| Fault::new(format!("startFen: {error}")))?,
            None => Chess::default(),
        };
        let pace = self.pace()?;
        let seats = ByColor { white: &self.white, black: &self.black };
        let seat = |name: &str, seat: &PlayerInput| -> Result<PlayerInfo, Fault> {
            let rating = seat.rating.map(|rating| elo(name, rating)).transpose()?;
            Ok(PlayerInfo { rating, time_left: pace.map(|pace| pace.base) })
        };
        let seats_at_start =
            ByColor { white: seat("white", seats.white)?, black: seat("black", seats.black)? };
        let mut history = History::new(start, seats_at_start).under(self.rating_pool(), pace);
        let clocks = self.clocks.as_deref().unwrap_or_default();
        for (place, uci) in self.moves.iter().enumerate() {
            let at = || format!("move {} of the game", place + 1);
            let m = parse_uci(history.current(), uci)
                .map_err(|error| Fault::new(format!("{}: {error}", at())))?;
            let clock = clocks.get(place).copied().flatten();
            let clock = clock.map(|clock| duration(&at(), clock)).transpose()?;
            history.push(m, clock);
        }
        for color in Color::ALL {
            if let Some(time_left) = self.remaining()?[color] {
                history.set_time_left(color, Some(time_left));
            }
        }
        Ok(history)
    }

    /// What the clocks show now, where that is known.
    fn remaining(&self) -> Result<ByColor<Option<Duration>>, Fault> {
        let remaining = |name: &str, seat: &PlayerInput| {
            seat.remaining.map(|remaining| duration(name, remaining)).transpose()
        };
        Ok(ByColor { white: remaining("white", &self.white)?, black: remaining("black", &self.black)? })
    }

    fn pace(&self) -> Result<Option<Pace>, Fault> {
        let control = self.time_control.as_deref().map(read_time_control).transpose()?.flatten();
        Ok(control.and_then(|control| control.pace()))
    }

    /// Whose scale the ratings are on.
    pub(crate) fn rating_pool(&self) -> RatingPool {
        match self.pool {
            Some(PoolInput::Online) => RatingPool::Online,
            Some(PoolInput::OverTheBoard) => RatingPool::OverTheBoard,
            Some(PoolInput::Unknown) | None => RatingPool::Unknown,
        }
    }
}

impl LimitsInput {
    /// The limits for the next move of a game. People look at the clock, whether or not they are told to.
    pub(crate) fn over(&self, game: &GameInput, history: &History, looks: bool) -> Result<Limits, Fault> {
        let at = |uci: &String| {
            parse_uci(history.current(), uci).map_err(|error| Fault::new(format!("searchMoves: {error}")))
        };
        let search_moves = self.search_moves.iter().flatten().map(at).collect::<Result<_, _>>()?;
        let clocks = match game.remaining()? {
            ByColor { white: Some(white), black: Some(black) } if looks || self.use_clock == Some(true) => {
                let increment = game.pace()?.map_or(Duration::ZERO, |pace| pace.increment);
                let left = |remaining| TimeLeft { remaining, increment };
                Some(ByColor { white: left(white), black: left(black) })
            }
            _ => None,
        };
        Ok(Limits {
            depth: self.depth,
            nodes: self.nodes.map(|nodes| nodes.max(1.0) as u64),
            movetime: self.movetime.map(|seconds| duration("movetime", seconds)).transpose()?,
            clocks,
            search_moves,
            lines: self.lines.unwrap_or(1) as usize,
            ..Limits::default()
        })
    }
}

/// A rating that a player can have.
pub(crate) fn elo(whose: &str, rating: f64) -> Result<Elo, Fault> {
    if (1.0..=4000.0).contains(&rating) {
        Ok(Elo(rating.round() as u16))
    } else {
        Err(Fault::new(format!("{whose}: {rating} is no rating from 1 to 4000")))
    }
}

pub(crate) fn duration(whose: &str, seconds: f64) -> Result<Duration, Fault> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| Fault::new(format!("{whose}: {seconds} is no time in seconds")))
}
