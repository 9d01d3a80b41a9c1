use std::time::Duration;

use shakmaty::{Color, Move, Position};
use tabia_data::{GameSample, LineSample, Sample, Target};
use tabia_encoding::{Batch, Elo, Encoding, ForMover, MoveVocabulary, PlayerInfo, Score, Situation};

/// The index of a move that is not known: what losses of PyTorch ignore by default.
pub const NO_MOVE: i64 = -100;

/// What a forced mate is worth in centipawns, less one for each move until then.
pub const MATE: f32 = 10_000.0;

/// Rows that memory is reserved for: a batch that asks for more may never become so large.
const MOST_ROOM: usize = 1 << 16;

/// One batch: the inputs of an encoding, and a column for each thing that is known of the positions.
///
/// Columns have a number for each row. Unknown numbers are NaN.
pub struct Columns {
    /// The inputs.
    pub inputs: Batch,
    /// The index of the move that was played, or that is best by the analysis; [`NO_MOVE`] without one. Empty without a
    /// vocabulary.
    pub moves: Vec<i64>,
    /// The index of the piece promoted to; [`NO_MOVE`] for other moves. Empty without a vocabulary that has a promotion head.
    pub promotions: Vec<i64>,
    /// The legal moves: 1 at their indices, a vocabulary's width for each row. Empty unless asked for.
    pub legal: Vec<u8>,
    /// Points of the side to move: 1 a win, 0.5 a draw, 0 a loss.
    pub result: Vec<f32>,
    /// Engine evaluation for the side to move in centipawns: of an analysed position that of its best line, in a game that
    /// of the move played. See [`MATE`].
    pub evaluation: Vec<f32>,
    /// Rating of the side to move.
    pub rating: Vec<f32>,
    /// Rating of the other side.
    pub opponent_rating: Vec<f32>,
    /// Seconds left to the side to move.
    pub clock: Vec<f32>,
    /// Seconds left to the other side.
    pub opponent_clock: Vec<f32>,
    /// Seconds on the clock at the start of the game.
    pub base: Vec<f32>,
    /// Seconds added by each move.
    pub increment: Vec<f32>,
    /// Seconds the move took.
    pub thought: Vec<f32>,
    /// Half-moves before the position; 0 of an analysed one.
    pub ply: Vec<i32>,
    /// The rating pool, as an index of [`RatingPool::ALL`](tabia_encoding::RatingPool::ALL).
    pub pool: Vec<u8>,
    /// The index of the record in its set.
    pub record: Vec<i64>,
}

/// How policy targets are written.
#[derive(Clone, Copy)]
pub(crate) struct Policy {
    pub(crate) vocabulary: &'static dyn MoveVocabulary,
    pub(crate) legal: bool,
}

impl Columns {
    /// No rows, with room for `rows`.
    pub(crate) fn new(encoding: &'static dyn Encoding, rows: usize) -> Columns {
        let rows = rows.min(MOST_ROOM);
        let numbers = || Vec::with_capacity(rows);
        Columns {
            inputs: Batch::new(encoding),
            moves: Vec::new(),
            promotions: Vec::new(),
            legal: Vec::new(),
            result: numbers(),
            evaluation: numbers(),
            rating: numbers(),
            opponent_rating: numbers(),
            clock: numbers(),
            opponent_clock: numbers(),
            base: numbers(),
            increment: numbers(),
            thought: numbers(),
            ply: Vec::with_capacity(rows),
            pool: Vec::with_capacity(rows),
            record: Vec::with_capacity(rows),
        }
    }

    /// Number of positions.
    pub fn rows(&self) -> usize {
        self.inputs.rows()
    }

    /// Removes all rows; memory is kept.
    pub(crate) fn clear(&mut self) {
        let Columns {
            inputs,
            moves,
            promotions,
            legal,
            result,
            evaluation,
            rating,
            opponent_rating,
            clock,
            opponent_clock,
            base,
            increment,
            thought,
            ply,
            pool,
            record,
        } = self;
        inputs.clear();
        legal.clear();
        ply.clear();
        pool.clear();
        for column in [moves, promotions, record] {
            column.clear();
        }
        for column in
            [result, evaluation, rating, opponent_rating, clock, opponent_clock, base, increment, thought]
        {
            column.clear();
        }
    }

    pub(crate) fn push(&mut self, sample: &Sample<'_>, policy: Option<Policy>) {
        let situation = &sample.situation;
        self.inputs.push(situation);
        let known = Known::of(sample);
        if let Some(policy) = policy {
            self.push_move(situation, known.played, policy);
        }
        self.result.push(known.result);
        self.evaluation.push(known.evaluation.map_or(f32::NAN, centipawns));
        let PlayerInfo { rating, time_left } = situation.mover;
        self.rating.push(elo(rating));
        self.clock.push(seconds(time_left));
        let PlayerInfo { rating, time_left } = situation.opponent;
        self.opponent_rating.push(elo(rating));
        self.opponent_clock.push(seconds(time_left));
        self.base.push(seconds(situation.pace.map(|pace| pace.base)));
        self.increment.push(seconds(situation.pace.map(|pace| pace.increment)));
        self.thought.push(seconds(known.thought));
        self.ply.push(known.ply);
        self.pool.push(situation.pool.index() as u8);
        self.record.push(sample.record.0 as i64);
    }

    fn push_move(&mut self, situation: &Situation<'_>, played: Option<Move>, policy: Policy) {
        let Policy { vocabulary, legal } = policy;
        let turn = situation.position.turn();
        let slot = played.map(|played| vocabulary.slot(turn, played));
        self.moves.push(slot.map_or(NO_MOVE, |slot| i64::from(slot.index.0)));
        if vocabulary.promotion_width() > 0 {
            self.promotions.push(slot.and_then(|slot| slot.promotion).map_or(NO_MOVE, i64::from));
        }
        if legal {
            let begin = self.legal.len();
            self.legal.resize(begin + vocabulary.width(), 0);
            for m in situation.position.legal_moves() {
                self.legal[begin + usize::from(vocabulary.slot(turn, m).index.0)] = 1;
            }
        }
    }
}

/// What a target says of its position.
struct Known {
    played: Option<Move>,
    result: f32,
    evaluation: Option<ForMover<Score>>,
    thought: Option<Duration>,
    ply: i32,
}

impl Known {
    fn of(sample: &Sample<'_>) -> Known {
        let turn = sample.situation.position.turn();
        let none = Known { played: None, result: f32::NAN, evaluation: None, thought: None, ply: 0 };
        match sample.target {
            Target::Game(GameSample { head, ply, played, thought, evaluation, .. }) => Known {
                played: Some(played),
                result: head.result.map_or(f32::NAN, |winner| points(winner, turn)),
                evaluation: evaluation.map(|score| score.for_mover(turn)),
                thought,
                ply: ply as i32,
            },
            Target::Evaluation(record) => {
                let best = record.sessions.first().and_then(|deepest| deepest.lines.first());
                Known {
                    played: best.map(|line| line.first),
                    evaluation: best.map(|line| line.score.for_mover(turn)),
                    ..none
                }
            }
            Target::Line(LineSample { line, .. }) => {
                Known { evaluation: Some(line.score.after_move(!turn).for_mover(turn)), ..none }
            }
        }
    }
}

fn points(winner: Option<Color>, turn: Color) -> f32 {
    winner.map_or(0.5, |winner| if winner == turn { 1.0 } else { 0.0 })
}

fn centipawns(ForMover(score): ForMover<Score>) -> f32 {
    match score {
        Score::Centipawns(cp) => cp as f32,
        Score::Mate(moves) => {
            let moves = moves.get();
            (MATE - moves.unsigned_abs() as f32) * moves.signum() as f32
        }
    }
}

fn elo(rating: Option<Elo>) -> f32 {
    rating.map_or(f32::NAN, |Elo(rating)| f32::from(rating))
}

fn seconds(time: Option<Duration>) -> f32 {
    time.map_or(f32::NAN, |time| time.as_secs_f32())
}
