//! Game review, one move at a time.

use std::{collections::VecDeque, time::Duration};

use serde::Serialize;
use shakmaty::{ByColor, Position as _};
use tabia_encoding::{RatingPool, parse_uci};
use tabia_players::Limits;
use tabia_practice::{GameMove, Mark, ReviewInProgress, ReviewSettings, Reviewer, WhiteScore};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    Engine, Fault, GameInput, Opinion,
    engine::input::{duration, elo},
    stopwatch::Stopwatch,
};

/// The review of a move.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct ReviewedMove {
    /// Plies from the start, this one included.
    pub ply: u32,
    /// The move in UCI notation.
    pub uci: String,
    /// The move in algebraic notation.
    pub san: String,
    /// The evaluation before the move, from White's point of view.
    pub before: Opinion,
    /// The evaluation after the move; a mate on the board is a mate in one.
    pub after: Opinion,
    /// The best move in UCI notation.
    pub best: String,
    /// The same in algebraic notation.
    pub best_san: String,
    /// The mover's winning chance before the move.
    pub win_before: f64,
    /// The winning chance after the move.
    pub win_after: f64,
    /// The probability that a person of the rating plays the move.
    pub probability: f32,
    /// The probability of the best move.
    pub best_probability: f32,
    /// Its mark.
    pub mark: MoveMark,
}

/// The mark of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Tsify)]
#[serde(rename_all = "kebab-case")]
pub enum MoveMark {
    /// None.
    #[serde(rename = "")]
    None,
    /// It lost a little.
    Inaccuracy,
    /// It lost much.
    Mistake,
    /// It may have lost the game.
    Blunder,
    /// The only good move, and few people play it.
    Good,
    /// The only good move by far, and hardly anybody plays it.
    Brilliant,
    /// The only good move was missed, as most people would.
    HardToFind,
}

impl From<Mark> for MoveMark {
    fn from(mark: Mark) -> MoveMark {
        match mark {
            Mark::None => MoveMark::None,
            Mark::Inaccuracy => MoveMark::Inaccuracy,
            Mark::Mistake => MoveMark::Mistake,
            Mark::Blunder => MoveMark::Blunder,
            Mark::Good => MoveMark::Good,
            Mark::Brilliant => MoveMark::Brilliant,
            Mark::HardToFind => MoveMark::HardToFind,
        }
    }
}

/// A review in progress. It needs the model `value` and one with a policy head.
#[wasm_bindgen]
pub struct Review {
    reviewer: Reviewer,
    game: ReviewInProgress,
    total: u32,
}

#[wasm_bindgen]
impl Review {
    /// A review for people of a rating, by a model with a policy head, with this much engine time per position.
    #[wasm_bindgen(constructor)]
    pub fn new(
        engine: &Engine,
        game: &Ts<GameInput>,
        model: &str,
        rating: Option<f64>,
        #[wasm_bindgen(js_name = secondsPerMove)] seconds_per_move: f64,
    ) -> Result<Review, Fault> {
        Review::of(engine, &game.to_rust()?, model, rating, duration("secondsPerMove", seconds_per_move)?)
    }

    /// The number of moves.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Reviews the next move; `undefined` at the end.
    pub fn step(&mut self) -> Result<Option<Ts<ReviewedMove>>, Fault> {
        let reviewed = self.reviewer.step(&mut self.game, &|| Box::new(Stopwatch::start()))?;
        reviewed.map(|reviewed| Ok(ReviewedMove::from(reviewed).into_ts()?)).transpose()
    }
}

impl Review {
    fn of(
        engine: &Engine,
        game: &GameInput,
        model: &str,
        rating: Option<f64>,
        time: Duration,
    ) -> Result<Review, Fault> {
        let before_first = GameInput { moves: Vec::new(), ..game.clone() };
        // What the clocks show now is not what they showed then.
        let seats = [game.white, game.black].map(|seat| crate::PlayerInput { remaining: None, ..seat });
        let [white, black] = seats;
        let history = GameInput { white, black, ..before_first }.history()?;
        let mut position = history.current().clone();
        let mut moves = VecDeque::new();
        for (place, uci) in game.moves.iter().enumerate() {
            let at = || format!("move {} of the game", place + 1);
            let played =
                parse_uci(&position, uci).map_err(|error| Fault::new(format!("{}: {error}", at())))?;
            position.play_unchecked(played);
            let clock = game.clocks.as_ref().and_then(|clocks| clocks.get(place).copied().flatten());
            let clock = clock.map(|clock| duration(&at(), clock)).transpose()?;
            moves.push_back(GameMove { played, clock, elapsed: None });
        }
        let rating = rating.map(|rating| elo("rating", rating)).transpose()?;
        // A number alone means what most people mean by it: a rating on a chess site.
        let pool =
            if game.pool.is_none() && rating.is_some() { RatingPool::Online } else { game.rating_pool() };
        let settings = ReviewSettings {
            limits: Limits { movetime: Some(time), ..Limits::default() },
            ratings: ByColor { white: rating, black: rating },
            pool: Some(pool),
            ..ReviewSettings::default()
        };
        let player = engine.store().player(&"engine".parse()?, 0)?;
        let mut reviewer = Reviewer::new(player, engine.store().model(model)?)
            .map_err(|_| Fault::new(format!("the model {model:?} has no policy head")))?;
        let total = u32::try_from(moves.len()).unwrap_or(u32::MAX);
        let game = reviewer.start_from(history, moves, settings);
        Ok(Review { reviewer, game, total })
    }
}

impl From<tabia_practice::ReviewedMove> for ReviewedMove {
    fn from(of: tabia_practice::ReviewedMove) -> ReviewedMove {
        let opinion = |WhiteScore { cp, mate }| Opinion { cp, mate };
        ReviewedMove {
            ply: of.ply,
            before: opinion(of.before),
            after: opinion(of.after),
            uci: of.uci,
            san: of.san,
            best: of.best,
            best_san: of.best_san,
            win_before: of.win_before,
            win_after: of.win_after,
            probability: of.probability,
            best_probability: of.best_probability,
            mark: of.mark.into(),
        }
    }
}
