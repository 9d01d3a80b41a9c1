use shakmaty::{Chess, Move};
use tabia_encoding::{ForWhite, Score};

/// One position and every engine session that looked at it.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationRecord {
    /// The position. Its move counters are those of a fresh FEN: `0 1`.
    pub position: Chess,
    /// The sessions, deepest first; equal depths by `knodes`, most first.
    pub sessions: Vec<Session>,
}

/// One run of an engine: lines of the same session are comparable with each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// How deep it looked, in plies.
    pub depth: u8,
    /// How many thousand nodes it looked at.
    pub knodes: u64,
    /// Its lines, best for the side to move first, each move once.
    pub lines: Vec<Line>,
}

/// One line of a session: its first move and what the engine thought of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The first move.
    pub first: Move,
    /// The score of the line.
    pub score: ForWhite<Score>,
}

/// One row of the Lichess evaluations: a position and one line of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationRow {
    /// The position. Its move counters are those of a fresh FEN: `0 1`.
    pub position: Chess,
    /// How deep the engine looked, in plies.
    pub depth: u8,
    /// How many thousand nodes it looked at.
    pub knodes: u64,
    /// The line.
    pub line: Line,
}
