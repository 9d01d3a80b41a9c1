use std::fmt;

use serde::{Deserialize, Serialize};
use shakmaty::Role;

/// What the number of a value head measures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// A score: one unit is this many centipawns.
    Centipawns(f32),
    /// An expected result from -1 (lost) to 1 (won).
    Expectation,
    /// A probability from 0 to 1: (p - 0.5) times this is the score in centipawns.
    Probability(f32),
}

/// Whose point of view a value head takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Perspective {
    /// Positive is good for White.
    White,
    /// Positive is good for the side to move.
    Mover,
    /// Positive is good for the side to move in the context position: the mode `context-win` of two-input networks.
    ContextMover,
    /// How much better for White the position (input 0) is than a reference (input 1): the mode `compare` of two-input
    /// networks. The reference is the context, or the start position without one. The unit spans both sides of the
    /// reference, so it counts twice.
    Comparison,
}

/// The order of the three chances of an outcome head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeOrder {
    /// Win, draw, loss.
    #[default]
    WinDrawLoss,
    /// Loss, draw, win.
    LossDrawWin,
}

/// How a system reads the number of a value head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ValueConvention {
    /// What it measures.
    pub unit: Unit,
    /// Whose point of view it takes.
    pub perspective: Perspective,
}

impl Default for ValueConvention {
    /// Pawns for the side to move.
    fn default() -> Self {
        ValueConvention { unit: Unit::Centipawns(100.0), perspective: Perspective::Mover }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unit::Centipawns(scale) => write!(f, "{scale} centipawns a unit"),
            Unit::Expectation => f.write_str("expected result, -1 to 1"),
            Unit::Probability(scale) => write!(f, "probability, (p - 0.5) x {scale} centipawns"),
        }
    }
}

impl fmt::Display for Perspective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Perspective::White => "White",
            Perspective::Mover => "the side to move",
            Perspective::ContextMover => "the side to move in the context (context-win)",
            Perspective::Comparison => "White, against a reference position (compare)",
        })
    }
}

/// The value of a piece in centipawns; 0 for a king.
pub const fn piece_value(role: Role) -> i32 {
    match role {
        Role::Pawn => 100,
        Role::Knight => 320,
        Role::Bishop => 330,
        Role::Rook => 500,
        Role::Queen => 900,
        Role::King => 0,
    }
}
