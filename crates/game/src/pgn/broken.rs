use std::{fmt, io};

use crate::{FenError, Game};

/// The place of a game in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the game, from 1. Broken games count.
    pub game: u64,
    /// Offset of its first byte.
    pub offset: u64,
    /// Its first line, from 1.
    pub line: u64,
}

/// A game that could not be read, or not to its end.
#[derive(Debug)]
pub struct BrokenGame {
    /// Where the game begins.
    pub place: Place,
    /// What is wrong.
    pub problem: Problem,
    /// Offset of the fault in the stream, if known.
    pub offset: Option<u64>,
    /// Ply of the fault, from 1. Variations count on from the main line.
    pub ply: u32,
    /// The offending text, shortened; may be empty.
    pub token: String,
    /// The readable part: everything before the fault, or all but the rest of a broken variation.
    pub readable: Option<Box<Game>>,
}

/// What is wrong with a game.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// An illegal move.
    #[error("is not a legal move")]
    IllegalMove,
    /// A move that several pieces could make.
    #[error("is ambiguous")]
    AmbiguousMove,
    /// An illegal move inside a variation; the main line is complete.
    #[error("is not a legal move in the variation")]
    IllegalVariation,
    /// A word that looks like a move but is not one.
    #[error("cannot be read as a move")]
    UnreadableMove,
    /// Moves after the result.
    #[error("after the result")]
    AfterResult,
    /// A `{` without its `}`.
    #[error("unclosed comment")]
    UnclosedComment,
    /// A `}` without its `{`: the moves before it may have been a comment.
    #[error("unmatched closing brace")]
    StrayBrace,
    /// A `(` without its `)`.
    #[error("unclosed variation")]
    UnclosedVariation,
    /// A tag pair without an end.
    #[error("unclosed tag pair")]
    UnclosedTag,
    /// The `FEN` tag gives no position.
    #[error("in the FEN tag: {0}")]
    BadFen(FenError),
    /// The `Variant` tag names rules other than those of chess.
    #[error("is not a supported variant")]
    UnsupportedVariant,
    /// The moves end without a result.
    #[error("the moves end without a result")]
    NoResult,
    /// No tag pair, no move and no result.
    #[error("no game found")]
    NoGame,
    /// More bytes than a game may have.
    #[error("the game is longer than {limit} bytes")]
    TooLong {
        /// The most bytes a game may have.
        limit: usize,
    },
    /// The stream failed; nothing after this can be read.
    #[error("the stream failed: {0}")]
    Io(io::Error),
}

impl fmt::Display for BrokenGame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { game, offset, line } = self.place;
        write!(f, "game {game} (line {line}, byte {offset}): ")?;
        if self.ply > 0 {
            write!(f, "at ply {}", self.ply)?;
            if let Some(at) = self.offset {
                write!(f, ", byte {at}")?;
            }
            f.write_str(": ")?;
        }
        if !self.token.is_empty() {
            write!(f, "`{}` ", self.token)?;
        }
        write!(f, "{}", self.problem)
    }
}

impl std::error::Error for BrokenGame {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Io(error) => Some(error),
            Problem::BadFen(error) => Some(error),
            _ => None,
        }
    }
}
