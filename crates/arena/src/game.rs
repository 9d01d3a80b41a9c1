use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use shakmaty::{ByColor, Color, Move, Position as _};
use tabia_encoding::{ForMover, Score};
use tabia_game::Outcome;
use tabia_players::{Line, Player};

use crate::{GameInProgress, Opening, Rules, Step, Stop, Timer, uci_of};

/// A finished game with scores and times of all moves.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedGame {
    /// Opening.
    pub opening: Opening,
    /// Moves after the opening.
    pub moves: Vec<PlayedMove>,
    /// Outcome.
    pub outcome: Outcome,
    /// Set if a player lost by a forfeit.
    pub forfeit: Option<Forfeit>,
}

/// A move of a game.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedMove {
    /// The move.
    pub mv: Move,
    /// Time used.
    pub elapsed: Duration,
    /// The player's clock after the move.
    pub clock: Option<Duration>,
    /// Nodes searched.
    pub nodes: u64,
    /// The player's MultiPV lines, best first.
    pub lines: Vec<Line>,
}

impl PlayedMove {
    /// The player's score.
    pub fn score(&self) -> Option<ForMover<Score>> {
        self.lines.first().and_then(|line| line.score)
    }
}

/// A game lost by an illegal move, an error or on time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forfeit {
    /// The player that lost.
    pub by: Color,
    /// Reason.
    pub reason: ForfeitReason,
}

/// Reason of a forfeit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForfeitReason {
    /// Illegal move, in UCI notation.
    IllegalMove(String),
    /// The player returned this error.
    Failed(String),
    /// The player panicked with this message.
    Panicked(String),
    /// The move exceeded the clock or the move time.
    Timeout,
}

impl ForfeitReason {
    /// Whether the player must be rebuilt for the next game.
    pub(crate) fn requires_rebuild(&self) -> bool {
        matches!(self, ForfeitReason::Failed(_) | ForfeitReason::Panicked(_))
    }
}

impl PlayedGame {
    /// Why the game ended.
    pub fn reason(&self) -> String {
        if let Some(Forfeit { by, reason }) = &self.forfeit {
            let who = by.fold_wb("White", "Black");
            return match reason {
                ForfeitReason::IllegalMove(m) => format!("{who} made an illegal move: {m}"),
                ForfeitReason::Failed(error) => format!("{who} failed: {error}"),
                ForfeitReason::Panicked(message) => format!("{who} crashed: {message}"),
                ForfeitReason::Timeout => match self.outcome {
                    Outcome::Draw(_) => format!("{who} ran out of time against insufficient material"),
                    _ => format!("{who} ran out of time"),
                },
            };
        }
        self.outcome.reason().to_owned()
    }

    /// Moves after the opening in UCI notation.
    pub fn uci_moves(&self) -> Vec<String> {
        self.moves.iter().map(|played| uci_of(played.mv, self.opening.start())).collect()
    }
}

/// Plays a game; `None` if it was aborted by [`StopRequest::Now`](crate::StopRequest::Now).
///
/// Draws by threefold repetition and the fifty-move rule are claimed automatically. A player that fails, panics, moves
/// illegally or runs out of time loses.
pub fn play_game(
    players: ByColor<&mut (dyn Player + '_)>,
    opening: &Opening,
    rules: &Rules,
    timer: &dyn Timer,
    stop: &Stop,
) -> Option<PlayedGame> {
    let mut players = players;
    for player in &mut players {
        // A player that panics here will panic again when it has to move, and forfeit.
        let _ = catch_unwind(AssertUnwindSafe(|| player.new_game()));
    }
    let mut game = GameInProgress::new(opening, rules);
    loop {
        let player = match game.position().turn() {
            Color::White => &mut players.white,
            Color::Black => &mut players.black,
        };
        match game.step(*player, timer, stop) {
            Step::Moved => {}
            Step::Ended(played) => return Some(*played),
            Step::Aborted => return None,
        }
    }
}
