use shakmaty::Move;
use tabia_encoding::{ForMover, Score, TIME_BINS};
use tabia_model::Wdl;

/// A chosen move and the analysis behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The move.
    pub mv: Move,
    /// The expected reply, to ponder on.
    pub ponder: Option<Move>,
    /// The final lines, best first: at most [`Limits::lines`](crate::Limits::lines), at least one if there is any.
    pub lines: Vec<Line>,
    /// Positions visited.
    pub nodes: u64,
}

/// One candidate move with its analysis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// 1 for the best candidate, 2 for the next.
    pub rank: usize,
    /// Search depth in plies.
    pub depth: u32,
    /// Selective depth: the longest line searched.
    pub seldepth: u32,
    /// The score, for the side to move.
    pub score: Option<ForMover<Score>>,
    /// Whether the score is an upper bound.
    pub upper_bound: bool,
    /// Win, draw and loss probabilities of the side to move.
    pub wdl: Option<Wdl>,
    /// How long a person would think about the move: the probability of each [bin](tabia_encoding::time_bin).
    pub think_time: Option<[f32; TIME_BINS]>,
    /// The probability that the player chooses this candidate.
    pub probability: Option<f32>,
    /// Positions visited so far.
    pub nodes: u64,
    /// How full the transposition table is, in thousandths.
    pub table_permille: Option<u16>,
    /// Positions found in endgame tables so far; `None` without tables.
    pub tablebase_hits: Option<u64>,
    /// The principal variation, starting with the candidate.
    pub moves: Vec<Move>,
}

/// Why a search returned no move.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// There is no legal move.
    #[error("the game is over")]
    GameOver,
    /// None of [`Limits::search_moves`](crate::Limits::search_moves) is legal.
    #[error("none of the moves to search is legal")]
    NoSuchMove,
    /// An endgame table cannot be read.
    #[cfg(feature = "syzygy")]
    #[error(transparent)]
    Tables(#[from] tabia_syzygy::TablesError),
    /// The network failed.
    #[error("the network: {0}")]
    Network(#[from] tabia_runtime::RunError),
}
