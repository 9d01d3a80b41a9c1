//! Games and limits from TypeScript.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use shakmaty::{ByColor, Chess, Color};
use tabia_encoding::{Elo, Pace, PlayerInfo, RatingPool, parse_uci};
use tabia_game::{History, position_from_fen};
use tabia_players::{Limits, TimeLeft};
use tsify::Tsify;

use crate::{Fault, rules::read_time_control};

/// A game up to the position to move in.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
#[tsify(missing_as_null)]
pub struct GameInput {
    /// The initial position [default: the standard one].
    #[serde(default)]
    #[tsify(optional)]
    pub start_fen: Option<String>,
    /// The moves in UCI notation.
    pub moves: Vec<String>,
    /// The mover's clock after each move, in seconds.
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
    /// The rating pool.
    #[serde(default)]
    #[tsify(optional)]
    pub pool: Option<PoolInput>,
}

/// A player of the game.
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

/// A rating pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Tsify)]
#[serde(rename_all = "kebab-case")]
pub enum PoolInput {
    /// A chess site.
    Online,
    /// Lichess.
    Lichess,
    /// Chess.com.
    #[serde(rename = "chess.com")]
    ChessCom,
    /// FIDE or a federation.
    OverTheBoard,
    /// Unknown.
    Unknown,
}

impl From<RatingPool> for PoolInput {
    fn from(pool: RatingPool) -> PoolInput {
        match pool {
            RatingPool::Online => PoolInput::Online,
            RatingPool::Lichess => PoolInput::Lichess,
            RatingPool::ChessCom => PoolInput::ChessCom,
            RatingPool::OverTheBoard => PoolInput::OverTheBoard,
            RatingPool::Puzzle | RatingPool::Unknown => PoolInput::Unknown,
        }
    }
}

/// Search limits; without any, the player uses its own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct LimitsInput {
    /// Maximum depth in plies.
    #[serde(default)]
    #[tsify(optional)]
    pub depth: Option<u32>,
    /// Maximum number of nodes.
    #[serde(default)]
    #[tsify(optional)]
    pub nodes: Option<f64>,
    /// Seconds for the move.
    #[serde(default)]
    #[tsify(optional)]
    pub movetime: Option<f64>,
    /// Number of lines to report.
    #[serde(default)]
    #[tsify(optional)]
    pub lines: Option<u32>,
    /// Search only these moves.
    #[serde(default)]
    #[tsify(optional)]
    pub search_moves: Option<Vec<String>>,
    /// Whether the player manages its own clock.
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

    /// The current clocks, where known.
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

    /// The rating pool.
    pub(crate) fn rating_pool(&self) -> RatingPool {
        match self.pool {
            Some(PoolInput::Online) => RatingPool::Online,
            Some(PoolInput::Lichess) => RatingPool::Lichess,
            Some(PoolInput::ChessCom) => RatingPool::ChessCom,
            Some(PoolInput::OverTheBoard) => RatingPool::OverTheBoard,
            Some(PoolInput::Unknown) | None => RatingPool::Unknown,
        }
    }
}

impl LimitsInput {
    /// The limits for the next move of a game. `uses_clock` passes the clocks even without [`LimitsInput::use_clock`].
    pub(crate) fn over(
        &self,
        game: &GameInput,
        history: &History,
        uses_clock: bool,
    ) -> Result<Limits, Fault> {
        let at = |uci: &String| {
            parse_uci(history.current(), uci).map_err(|error| Fault::new(format!("searchMoves: {error}")))
        };
        let search_moves = self.search_moves.iter().flatten().map(at).collect::<Result<_, _>>()?;
        let clocks = match game.remaining()? {
            ByColor { white: Some(white), black: Some(black) }
                if uses_clock || self.use_clock == Some(true) =>
            {
                let increment = game.pace()?.map_or(Duration::ZERO, |pace| pace.increment);
                let left = |remaining| TimeLeft { remaining, increment };
                Some(ByColor { white: left(white), black: left(black) })
            }
            _ => None,
        };
        let lines = self.lines.unwrap_or(1) as usize;
        Ok(Limits { clocks, search_moves, lines, ..self.per_move()? })
    }

    /// Depth, nodes and time.
    pub(crate) fn per_move(&self) -> Result<Limits, Fault> {
        Ok(Limits {
            depth: self.depth,
            nodes: self.nodes.map(|nodes| nodes.max(1.0) as u64),
            movetime: self.movetime.map(|seconds| duration("movetime", seconds)).transpose()?,
            ..Limits::default()
        })
    }
}

/// A valid rating.
pub(crate) fn elo(whose: &str, rating: f64) -> Result<Elo, Fault> {
    if (1.0..=4000.0).contains(&rating) {
        Ok(Elo(rating.round() as u16))
    } else {
        Err(Fault::new(format!("{whose}: invalid rating {rating} (expected 1 to 4000)")))
    }
}

pub(crate) fn duration(whose: &str, seconds: f64) -> Result<Duration, Fault> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| Fault::new(format!("{whose}: invalid time {seconds} (expected seconds)")))
}
