use std::time::Duration;

use shakmaty::Move;
use tabia_encoding::{ForWhite, Score, Situation};

use crate::{EvaluationRecord, GameHead, Line};

/// One position to learn from, and what is to be learned.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// What an encoder may look at.
    pub situation: Situation<'a>,
    /// What happened or was found there.
    pub target: Target<'a>,
    /// Which of the stream's sets the record is of.
    pub set: u32,
    /// The record's place in that set.
    pub record: crate::RecordIndex,
    /// How often the stream had gone through its sets before this record's turn came.
    pub epoch: u32,
}

/// What is to be learned from a position.
#[derive(Clone, Copy, Debug)]
pub enum Target<'a> {
    /// It was played in a game.
    Game(GameSample<'a>),
    /// Engines looked at it.
    Evaluation(&'a EvaluationRecord),
    /// An engine looked at one of its moves.
    Line(LineSample),
}

/// One move of an analysed position. What is to be learned is the position after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSample {
    /// How deep the session looked.
    pub depth: u8,
    /// How many lines of the session are better or as good.
    pub number: u16,
    /// The move, and its score as seen before it.
    pub line: Line,
}

/// One move of a game.
#[derive(Clone, Copy, Debug)]
pub struct GameSample<'a> {
    /// The game as a whole; its result is in here.
    pub head: &'a GameHead,
    /// Moves played before.
    pub ply: u32,
    /// Moves the whole game has.
    pub plies: u32,
    /// The move that was played.
    pub played: Move,
    /// How long the player thought, where both clocks and the increment are known.
    pub thought: Option<Duration>,
    /// An engine's opinion of the position after the move.
    pub evaluation: Option<ForWhite<Score>>,
}
