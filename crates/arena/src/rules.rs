use std::{fmt, time::Duration};

use tabia_game::TimeControl;
use tabia_players::Limits;

/// What both players of a game are held to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// How long they may think.
    pub budget: Budget,
    /// After this many plies, the opening's not counted, the game is a draw.
    pub max_plies: Option<u32>,
    /// When a game is ended early by what the players say of it. Off unless set.
    pub adjudication: Adjudication,
    /// How many candidates a player is asked to report; 0 leaves it to the player.
    pub lines: usize,
}

/// How long a player may think. Without any limit, a player uses its own default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budget {
    /// For each move; a player that exceeds [`Limits::movetime`] loses the game.
    pub limits: Limits,
    /// The clocks' control; a player whose flag falls loses the game.
    pub control: Option<TimeControl>,
    /// How much longer than allowed a move may take before it counts: for what passes between the clock and the player.
    pub margin: Duration,
}

/// When a game is ended by the players' own scores, as cutechess does it. A move without a score breaks every count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adjudication {
    /// When a losing player is taken to resign.
    pub resign: Option<Resign>,
    /// When a level game is taken for a draw.
    pub draw: Option<LevelDraw>,
}

/// A player loses whose own score was this bad on its last moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resign {
    /// On how many of its moves in a row.
    pub moves: u32,
    /// At least this many centipawns behind, or being mated.
    pub score: i32,
    /// Whose opinion counts.
    pub opinion: Opinion,
}

/// Whose scores an adjudication needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opinion {
    /// The loser's.
    Loser,
    /// The loser's, and the winner must be as sure of winning on as many moves.
    Both,
}

/// A game is drawn that both players thought level on their last moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelDraw {
    /// Not before this move number.
    pub from_move: u32,
    /// On how many moves of each player in a row, captures and pawn moves breaking the row.
    pub moves: u32,
    /// At most this many centipawns from level.
    pub score: i32,
}

/// `depth 4, 10+0.1`, or `no limits`.
impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(control) = &self.control {
            parts.push(control.to_string());
        }
        if let Some(time) = self.limits.movetime {
            parts.push(format!("{} ms a move", time.as_secs_f64() * 1000.0));
        }
        if let Some(nodes) = self.limits.nodes {
            parts.push(format!("{nodes} nodes"));
        }
        if let Some(depth) = self.limits.depth {
            parts.push(format!("depth {depth}"));
        }
        if parts.is_empty() {
            parts.push("no limits".to_owned());
        }
        if !self.margin.is_zero() {
            parts.push(format!("margin {} ms", self.margin.as_secs_f64() * 1000.0));
        }
        f.write_str(&parts.join(", "))
    }
}

/// `off`, or the rules in words.
impl fmt::Display for Adjudication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if let Some(Resign { moves, score, opinion }) = self.resign {
            let who = match opinion {
                Opinion::Loser => "",
                Opinion::Both => " for both",
            };
            parts.push(format!("resign after {moves} moves at -{score} cp{who}"));
        }
        if let Some(LevelDraw { from_move, moves, score }) = self.draw {
            parts.push(format!("draw after {moves} moves within {score} cp from move {from_move}"));
        }
        f.write_str(&if parts.is_empty() { "off".to_owned() } else { parts.join(", ") })
    }
}
