//! A whole game judged, a move at a time.

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

/// A move, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct ReviewedMove {
    /// Half-moves from the start, this one included.
    pub ply: u32,
    /// The move in UCI notation.
    pub uci: String,
    /// The move in algebraic notation.
    pub san: String,
    /// The engine's opinion before the move, for White.
    pub before: Opinion,
    /// And after it. A mate on the board counts as one in one move.
    pub after: Opinion,
    /// The engine's choice.
    pub best: String,
    /// The same in algebraic notation.
    pub best_san: String,
    /// The mover's chance before the move.
    pub win_before: f64,
    /// And after it.
    pub win_after: f64,
    /// How likely a person of the rating plays the move.
    pub probability: f32,
    /// And the best move.
    pub best_probability: f32,
    /// What it is worth telling about.
    pub mark: MoveMark,
}

/// What a move is worth telling about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Tsify)]
#[serde(rename_all = "kebab-case")]
pub enum MoveMark {
    /// Nothing.
    #[serde(rename = "")]
    None,
    /// It cost a little.
    Inaccuracy,
    /// It cost much.
    Mistake,
    /// It may have cost the game.
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

/// A review of a game under way. It needs the model `value` and one with a move head.
#[wasm_bindgen]
pub struct Review {
    engine: Box<dyn Player>,
    human: Arc<Model>,
    rating: Option<Elo>,
    pool: RatingPool,
    time: Duration,
    /// The game up to the next move to judge.
    history: History,
    repetitions: Repetitions,
    coming: VecDeque<(Move, Option<Duration>)>,
    total: u32,
    /// The engine's opinion of the position the game stands in, once it has one.
    opinion: Option<Searched>,
}

/// The score of who is mated.
const MATED: NonZeroI32 = NonZeroI32::new(-1).expect("not zero");

/// What the engine says of a position, for the side to move.
#[derive(Clone)]
struct Searched {
    best: Option<Move>,
    score: ForMover<Score>,
    second: Option<ForMover<Score>>,
}

#[wasm_bindgen]
impl Review {
    /// A review of a game through the eyes of people of a rating, as a model with a move head sees them, with so much time for
    /// the engine's every look.
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

    /// How many moves there are to judge.
    pub fn total(&self) -> u32 {
        self.total
    }

    /// Judges the next move; `undefined` when all are judged.
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
            return Err(Fault::new(format!(
                "the model {model:?} has no move head: it cannot say what people would play"
            )));
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

    /// The engine's opinion of the position, or the rules' where the game ends in it.
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
