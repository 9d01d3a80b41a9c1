use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use shakmaty::{ByColor, Color, Move, Position as _};
use tabia_encoding::{ForMover, Score};
use tabia_game::Outcome;
use tabia_players::{Line, Player};

use crate::{GameInProgress, Opening, Rules, Step, Stop, Timer, uci_of};

/// A finished game, with all that the players said.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedGame {
    /// Where it began.
    pub opening: Opening,
    /// The moves after the opening.
    pub moves: Vec<PlayedMove>,
    /// How it ended.
    pub outcome: Outcome,
    /// What a player did wrong, if that ended the game.
    pub fault: Option<Fault>,
}

/// One move of a game.
#[derive(Clone, Debug, PartialEq)]
pub struct PlayedMove {
    /// The move.
    pub mv: Move,
    /// How long the player thought.
    pub elapsed: Duration,
    /// What the player's clock showed afterwards, if there are clocks.
    pub clock: Option<Duration>,
    /// Positions the player visited.
    pub nodes: u64,
    /// What the player thought of its candidates, best first.
    pub lines: Vec<Line>,
}

impl PlayedMove {
    /// The player's opinion of the position, from its own side.
    pub fn score(&self) -> Option<ForMover<Score>> {
        self.lines.first().and_then(|line| line.score)
    }
}

/// What a player did wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Who.
    pub by: Color,
    /// What.
    pub kind: FaultKind,
}

/// The ways to lose without being mated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A move that the rules do not allow, in UCI notation.
    IllegalMove(String),
    /// No move, but an error: what it says.
    Failed(String),
    /// The player panicked: what it said.
    Panicked(String),
    /// The move took longer than the clock or the time for a move allows.
    OutOfTime,
}

impl FaultKind {
    /// Whether the player can no longer be trusted and is built anew for the next game.
    pub(crate) fn spoils_player(&self) -> bool {
        matches!(self, FaultKind::Failed(_) | FaultKind::Panicked(_))
    }
}

impl PlayedGame {
    /// Why the game ended, in a few words.
    pub fn reason(&self) -> String {
        if let Some(Fault { by, kind }) = &self.fault {
            let who = by.fold_wb("White", "Black");
            return match kind {
                FaultKind::IllegalMove(m) => format!("{who} made an illegal move: {m}"),
                FaultKind::Failed(what) => format!("{who} failed: {what}"),
                FaultKind::Panicked(what) => format!("{who} crashed: {what}"),
                FaultKind::OutOfTime => match self.outcome {
                    Outcome::Draw(_) => format!("{who} ran out of time against insufficient material"),
                    _ => format!("{who} ran out of time"),
                },
            };
        }
        self.outcome.reason().to_owned()
    }

    /// The moves after the opening in UCI notation.
    pub fn uci_moves(&self) -> Vec<String> {
        self.moves.iter().map(|played| uci_of(played.mv, self.opening.start())).collect()
    }
}

/// Plays one game; `None` if it was given up because of [`StopRequest::Now`](crate::StopRequest::Now).
///
/// Draws that can be claimed are: threefold repetition and fifty moves end the game. A player that errs, crashes, moves
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
        // A player that crashes here does so again when asked to move, and loses then.
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
            Step::Over(played) => return Some(*played),
            Step::GivenUp => return None,
        }
    }
}
