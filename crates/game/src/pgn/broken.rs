use std::{fmt, io};

use crate::{FenError, Game};

/// Where a game begins in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The number of the game, from 1. Broken games count.
    pub game: u64,
    /// The byte the game begins at, from 0.
    pub offset: u64,
    /// The line the game begins in, from 1.
    pub line: u64,
}

/// A game that could not be read, or not to its end: what is wrong, and where.
#[derive(Debug)]
pub struct BrokenGame {
    /// Where the game begins.
    pub place: Place,
    /// What is wrong.
    pub problem: Problem,
    /// The byte of the stream where it is wrong, when that is known.
    pub offset: Option<u64>,
    /// The ply it is wrong at: the first move is 1. In a variation, the ply of the main line is counted on.
    pub ply: u32,
    /// The text that is wrong, shortened; empty when nothing can be pointed at.
    pub token: String,
    /// What could be read: everything up to the fault, or all but the rest of a broken variation.
    pub readable: Option<Box<Game>>,
}

/// What is wrong with a game.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A move the rules do not allow.
    #[error("is not a legal move")]
    IllegalMove,
    /// A move that several pieces could make.
    #[error("fits more than one legal move")]
    AmbiguousMove,
    /// A move the rules do not allow, inside a variation; the main line is whole.
    #[error("is not a legal move of the variation")]
    IllegalVariation,
    /// A word that looks like a move but is not one.
    #[error("cannot be read as a move")]
    UnreadableMove,
    /// Moves after the result.
    #[error("stands after the result")]
    AfterResult,
    /// A `{` without its `}`.
    #[error("comment does not end")]
    UnclosedComment,
    /// A `}` without its `{`: what looked like moves before it may have been a comment.
    #[error("closes no comment")]
    StrayBrace,
    /// A `(` without its `)`.
    #[error("variation does not end")]
    UnclosedVariation,
    /// A tag pair without an end.
    #[error("a tag pair does not end")]
    UnclosedTag,
    /// The `FEN` tag gives no position.
    #[error("the FEN tag is {0}")]
    BadFen(FenError),
    /// The `Variant` tag names rules other than those of chess.
    #[error("is a variant of chess that is not supported")]
    UnsupportedVariant,
    /// The moves end without a result.
    #[error("the moves end without a result")]
    NoResult,
    /// No tag pair, no move and no result.
    #[error("the text holds no game")]
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
