//! Game review, one move at a time.

use std::{collections::VecDeque, num::NonZeroI32, sync::Arc, time::Duration};

use serde::Serialize;
use shakmaty::{Chess, Move, Position as _};
use tabia_encoding::{Elo, ForMover, RatingPool, Score, parse_uci};
use tabia_game::{History, Outcome, Repetitions, Status, status};
use tabia_model::{Model, Policy};
use tabia_players::{Limits, Mark, Player, Reviewed, winning_chance};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    Engine, Fault, GameInput, Opinion,
    engine::input::{duration, elo},
    notation,
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
    engine: Box<dyn Player>,
    human: Arc<Model>,
    rating: Option<Elo>,
    pool: RatingPool,
    time: Duration,
    /// The game up to the next move to review.
    history: History,
    repetitions: Repetitions,
    coming: VecDeque<(Move, Option<Duration>)>,
    total: u32,
    /// The evaluation of the current position, once known.
    opinion: Option<Searched>,
}

/// The score of being mated.
const MATED: NonZeroI32 = NonZeroI32::new(-1).expect("not zero");

/// The evaluation of a position, for the side to move.
#[derive(Clone)]
struct Searched {
    best: Option<Move>,
    score: ForMover<Score>,
    second: Option<ForMover<Score>>,
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
        self.judge_next()?.map(|reviewed| Ok(reviewed.into_ts()?)).transpose()
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
        let mut coming = VecDeque::new();
        for (place, uci) in game.moves.iter().enumerate() {
            let at = || format!("move {} of the game", place + 1);
            let m = parse_uci(&position, uci).map_err(|error| Fault::new(format!("{}: {error}", at())))?;
            position.play_unchecked(m);
            let clock = game.clocks.as_ref().and_then(|clocks| clocks.get(place).copied().flatten());
            coming.push_back((m, clock.map(|clock| duration(&at(), clock)).transpose()?));
        }
        let rating = rating.map(|rating| elo("rating", rating)).transpose()?;
        // A number alone means what most people mean by it: a rating on a chess site.
        let pool =
            if game.pool.is_none() && rating.is_some() { RatingPool::Online } else { game.rating_pool() };
        let human = engine.store().model(model)?;
        if human.card().policy.is_none() {
            return Err(Fault::new(format!("the model {model:?} has no policy head")));
        }
        Ok(Review {
            engine: engine.store().player(&"engine".parse()?, 0)?,
            human,
            rating,
            pool,
            time,
            repetitions: Repetitions::from_start(history.current()),
            total: u32::try_from(coming.len()).unwrap_or(u32::MAX),
            coming,
            history,
            opinion: None,
        })
    }

    fn judge_next(&mut self) -> Result<Option<ReviewedMove>, Fault> {
        let Some((played, clock)) = self.coming.pop_front() else { return Ok(None) };
        let before = match self.opinion.take() {
            Some(known) => known,
            None => self.look()?,
        };
        let position = self.history.current().clone();
        let policy = self.likely_moves()?;
        self.history.push(played, clock);
        self.repetitions.push(self.history.current());
        let after = self.look()?;
        let reviewed = judge(&position, played, &before, &after, &policy);
        self.opinion = Some(after);
        let ply = self.total - u32::try_from(self.coming.len()).unwrap_or(u32::MAX);
        Ok(Some(ReviewedMove { ply, ..reviewed }))
    }

    /// The evaluation of the position, or the result where the game ends.
    fn look(&mut self) -> Result<Searched, Fault> {
        if let Status::Over(outcome) = status(self.history.current(), &self.repetitions) {
            let score = match outcome {
                // Only the side to move can be mated.
                Outcome::Win { .. } => Score::Mate(MATED),
                Outcome::Draw(_) | Outcome::Abandoned => Score::Centipawns(0),
            };
            return Ok(Searched { best: None, score: ForMover(score), second: None });
        }
        let limits = Limits { movetime: Some(self.time), lines: 2, ..Limits::default() };
        let choice = self.engine.choose(&self.history, &limits, &Stopwatch::start())?;
        let score = |place: usize| choice.lines.get(place).and_then(|line| line.score);
        Ok(Searched {
            best: Some(choice.mv),
            score: score(0).unwrap_or(ForMover(Score::Centipawns(0))),
            second: score(1),
        })
    }

    fn likely_moves(&self) -> Result<Policy, Fault> {
        let mut situation = self.history.situation();
        situation.mover.rating = self.rating.or(situation.mover.rating);
        situation.pool = self.pool;
        let said = self.human.evaluate(&[situation])?;
        Ok(said.into_iter().next().and_then(|said| said.policy).unwrap_or_default())
    }
}

fn judge(
    position: &Chess,
    played: Move,
    before: &Searched,
    after: &Searched,
    policy: &Policy,
) -> ReviewedMove {
    let best = before.best.unwrap_or(played);
    let win_before = winning_chance(before.score);
    let win_after = 1.0 - winning_chance(after.score);
    let best_probability = policy.probability(best);
    let reviewed = Reviewed {
        played,
        best,
        best_chance: win_before,
        second_chance: before.second.map(winning_chance),
        played_chance: win_after,
        best_probability,
    };
    let turn = position.turn();
    ReviewedMove {
        ply: 0,
        uci: notation::uci(position, played),
        san: notation::san(position, played),
        before: before.score.for_white(turn).into(),
        after: after.score.for_white(!turn).into(),
        best: notation::uci(position, best),
        best_san: notation::san(position, best),
        win_before,
        win_after,
        probability: policy.probability(played),
        best_probability,
        mark: reviewed.mark().into(),
    }
}
