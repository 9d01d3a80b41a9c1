use std::time::Duration;

use shakmaty::Move;
use tabia_encoding::{ForMover, Score, TIME_BINS};
use tabia_game::History;
use tabia_model::Wdl;

use crate::Limits;

/// Anything that, shown a game, chooses a move.
pub trait Player: Send {
    /// What people call it.
    fn name(&self) -> String;

    /// A new game begins: forget what only the last one taught.
    fn new_game(&mut self) {}

    /// Chooses a legal move for the side to move.
    ///
    /// # Errors
    /// If the game is over, or what the player runs on fails.
    fn choose(
        &mut self,
        game: &History,
        limits: &Limits,
        watch: &dyn SearchControl,
    ) -> Result<Choice, PlayerError>;
}

/// The world outside a thinking player: time, the wish to stop, and somebody who listens.
pub trait SearchControl: Sync {
    /// Time since the player was asked.
    fn elapsed(&self) -> Duration;

    /// Whether the player should move now.
    fn stopped(&self) -> bool;

    /// Lets time pass until this much of it has since the player was asked, or until the player should move. Where time
    /// stands still, or nobody can wait, it returns at once.
    fn wait_until(&self, moment: Duration) {
        let _ = moment;
    }

    /// The player has something to say while it thinks.
    fn report(&self, line: &Line) {
        let _ = line;
    }
}

/// Time stands still, nobody interrupts and nobody listens: for players limited by depth or nodes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoControl;

impl SearchControl for NoControl {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn stopped(&self) -> bool {
        false
    }
}

/// A chosen move, and what the player thought.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The move.
    pub mv: Move,
    /// The answer the player expects, to think about meanwhile.
    pub ponder: Option<Move>,
    /// Its last thoughts, best first: at most as many as [`Limits::lines`] asked for, at least one if it has any.
    pub lines: Vec<Line>,
    /// Positions it visited.
    pub nodes: u64,
}

/// One candidate and what a player thinks of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// 1 for the best candidate, 2 for the next.
    pub rank: usize,
    /// Plies looked ahead, and the most along any line.
    pub depth: u32,
    /// The longest line looked at.
    pub deepest: u32,
    /// Who is better.
    pub score: Option<ForMover<Score>>,
    /// The score is an upper bound: the candidate is no better.
    pub upper_bound: bool,
    /// How the game may end, for the side to move.
    pub wdl: Option<Wdl>,
    /// How long a person would think about the move: the chance of each [bin](tabia_encoding::time_bin).
    pub think_time: Option<[f32; TIME_BINS]>,
    /// How likely the player is to choose this candidate.
    pub probability: Option<f32>,
    /// Positions visited so far.
    pub nodes: u64,
    /// How full the transposition table is, in thousandths.
    pub table_permille: Option<u16>,
    /// The candidate and what should follow.
    pub moves: Vec<Move>,
}

/// Why a player could not move.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayerError {
    /// There is no legal move.
    #[error("the game is over")]
    GameOver,
    /// None of the moves asked for is legal.
    #[error("none of the moves to choose from is legal")]
    NoSuchMove,
    /// The network failed.
    #[error("the network: {0}")]
    Network(#[from] tabia_model::runtime::RunError),
    /// An outside player failed: a crashed engine, an illegal answer, silence.
    #[error("{0}")]
    Outside(String),
}
