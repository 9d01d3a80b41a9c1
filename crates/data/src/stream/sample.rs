use std::time::Duration;

use shakmaty::Move;
use tabia_encoding::{ForWhite, Score, Situation};

use crate::{EvaluationRecord, GameHead, Line};

/// A training sample: a position and its target.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// The encoder's input.
    pub situation: Situation<'a>,
    /// The training target.
    pub target: Target<'a>,
    /// Which of the stream's sets the record is of.
    pub set: u32,
    /// The record's place in that set.
    pub record: crate::RecordIndex,
    /// The epoch of the record.
    pub epoch: u32,
}

/// The target of a sample.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// It was played in a game.
    Game(GameSample<'a>),
    /// It was analysed by engines.
    Evaluation(&'a EvaluationRecord),
    /// It comes after a move of an analysed position.
    Line(LineSample),
}

/// A line of an analysed position. The sample is the position after its first move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSample {
    /// Depth of the session.
    pub depth: u8,
    /// Rank of the line in its session, from 0.
    pub number: u16,
    /// The move and its score.
    pub line: Line,
}

/// One move of a game.
#[derive(Clone, Copy, Debug)]
pub struct GameSample<'a> {
    /// Facts about the game, including its result.
    pub head: &'a GameHead,
    /// Ply of the position.
    pub ply: u32,
    /// Number of plies of the game.
    pub plies: u32,
    /// The move that was played.
    pub played: Move,
    /// Thinking time, if both clocks and the increment are known.
    pub thought: Option<Duration>,
    /// Engine evaluation of the position after the move.
    pub evaluation: Option<ForWhite<Score>>,
}
