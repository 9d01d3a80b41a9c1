use shakmaty::{Chess, Move};
use tabia_encoding::{ForWhite, Score};

/// A position and its engine analyses.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaluationRecord {
    /// The position, with move counters `0 1`.
    pub position: Chess,
    /// The sessions by descending depth, then by descending `knodes`.
    pub sessions: Vec<Session>,
}

/// One analysis by an engine. Scores of lines are comparable within a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Depth in plies.
    pub depth: u8,
    /// Nodes in thousands.
    pub knodes: u64,
    /// Its lines, best for the side to move first, one per move.
    pub lines: Vec<Line>,
}

/// A line of a session: its first move and score.
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
    /// The position, with move counters `0 1`.
    pub position: Chess,
    /// Depth in plies.
    pub depth: u8,
    /// Nodes in thousands.
    pub knodes: u64,
    /// The line.
    pub line: Line,
}
