#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt;

use shakmaty::{
    CastlingMode, Chess, EnPassantMode, FromSetup, Move, Position as _, PositionError, fen::Fen, uci::UciMove,
};

use super::{
    Unreadable,
    words::{Words, one_line},
};

/// A game as it was said: not checked yet. [`resolve`](Self::resolve) checks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Where the game began.
    pub start: Start,
    /// The moves since.
    pub moves: Vec<UciMove>,
}

/// Where a game began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start {
    /// The usual position.
    Usual,
    /// The position of a FEN, which may be none.
    Fen(String),
}

/// A legal game: where it began and every move since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameSoFar {
    start: Chess,
    moves: Vec<Move>,
    current: Chess,
}

/// Why a game that was said is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PositionFault {
    /// The start is no FEN.
    #[error("'{fen}' is not a FEN: {reason}")]
    Fen {
        /// What was said.
        fen: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The start is no legal position.
    #[error("'{fen}' is not a legal position: {reason}")]
    Illegal {
        /// What was said.
        fen: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A move is not legal where it was to be played.
    #[error("move {number}, {mv}, is not legal in {fen}")]
    Move {
        /// Which of the moves, from 1.
        number: usize,
        /// The move.
        mv: UciMove,
        /// Where it was to be played.
        fen: String,
    },
}

impl Position {
    /// Checks the start and every move. Castling may be the king's move (`e1g1`) or the king taking its rook
    /// (`e1h1`). Castling rights and en passant squares that the board rules out are dropped.
    ///
    /// # Errors
    /// Says what is wrong where.
    pub fn resolve(&self) -> Result<GameSoFar, PositionFault> {
        let start = match &self.start {
            Start::Usual => Chess::default(),
            Start::Fen(fen) => read_fen(fen)?,
        };
        let mut game = GameSoFar::new(start);
        for (index, &mv) in self.moves.iter().enumerate() {
            let legal = mv.to_move(&game.current).map_err(|_| PositionFault::Move {
                number: index + 1,
                mv,
                fen: fen_of(&game.current),
            })?;
            game.play(legal);
        }
        Ok(game)
    }

    pub(super) fn parse(mut words: Words<'_>) -> Result<Position, Unreadable> {
        let malformed = |what: String| Unreadable::malformed("position", what);
        let start = loop {
            match words.next() {
                Some("startpos") => break Start::Usual,
                Some("fen") => break Start::Fen(words.until(|word| word == "moves")),
                Some(_) => {}
                None => return Err(malformed("neither startpos nor fen".to_owned())),
            }
        };
        words.until(|word| word == "moves");
        words.next();
        let moves = words.moves();
        // Passing over a word among the moves would make another game of it.
        match words.next() {
            Some(word) => Err(malformed(format!("move {}, '{word}', is not a move", moves.len() + 1))),
            None => Ok(Position { start, moves }),
        }
    }
}

impl From<&GameSoFar> for Position {
    fn from(game: &GameSoFar) -> Position {
        let start = if game.start == Chess::default() && game.start.fullmoves().get() == 1 {
            Start::Usual
        } else {
            Start::Fen(fen_of(&game.start))
        };
        Position { start, moves: game.moves.iter().map(|&mv| UciMove::from_standard(mv)).collect() }
    }
}

impl GameSoFar {
    /// A game about to begin.
    pub fn new(start: Chess) -> GameSoFar {
        GameSoFar { current: start.clone(), start, moves: Vec::new() }
    }

    /// Where the game began.
    pub fn start(&self) -> &Chess {
        &self.start
    }

    /// Every move since, legal one after the other.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Where the game stands.
    pub fn current(&self) -> &Chess {
        &self.current
    }

    /// Plays a move if it is legal; whether it was.
    #[must_use]
    pub fn push(&mut self, mv: Move) -> bool {
        let legal = self.current.is_legal(mv);
        if legal {
            self.play(mv);
        }
        legal
    }

    fn play(&mut self, mv: Move) {
        self.current.play_unchecked(mv);
        self.moves.push(mv);
    }
}

impl Default for GameSoFar {
    fn default() -> GameSoFar {
        GameSoFar::new(Chess::default())
    }
}

fn read_fen(text: &str) -> Result<Chess, PositionFault> {
    let fen = text.to_owned();
    let setup = match Fen::from_ascii(text.as_bytes()) {
        Ok(fen) => fen.into_setup(),
        Err(error) => return Err(PositionFault::Fen { fen, reason: error.to_string() }),
    };
    Chess::from_setup(setup, CastlingMode::Standard)
        .or_else(PositionError::ignore_invalid_castling_rights)
        .or_else(PositionError::ignore_invalid_ep_square)
        .map_err(|error| PositionFault::Illegal { fen, reason: error.to_string() })
}

pub(crate) fn fen_of(position: &Chess) -> String {
    Fen::from_position(position, EnPassantMode::Legal).to_string()
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.start {
            Start::Usual => f.write_str("position startpos")?,
            Start::Fen(fen) => write!(f, "position fen {}", one_line(fen))?,
        }
        if !self.moves.is_empty() {
            f.write_str(" moves")?;
        }
        self.moves.iter().try_for_each(|mv| write!(f, " {mv}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Position, Unreadable> {
        Position::parse(Words::new(text))
    }

    #[test]
    fn both_ways_to_write_castling() {
        let start = "position fen r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1 moves";
        for (said, written) in
            [("e1g1 e8c8", "e1g1 e8c8"), ("e1h1 e8a8", "e1g1 e8c8"), ("e1c1 e8h8", "e1c1 e8g8")]
        {
            let game = parse(&format!("{start} {said}")).unwrap().resolve().unwrap();
            assert_eq!(Position::from(&game).to_string(), format!("{start} {written}"));
        }
    }

    #[test]
    fn a_queen_may_go_where_a_king_would_castle() {
        let game = parse("fen 3k4/8/8/8/8/8/8/4Q2K w - - 0 1 moves e1g1").unwrap().resolve().unwrap();
        assert_eq!(game.moves()[0].role(), shakmaty::Role::Queen);
    }

    #[test]
    fn faults_are_named() {
        let fault = |text| parse(text).unwrap().resolve().unwrap_err().to_string();
        assert!(fault("fen nonsense").starts_with("'nonsense' is not a FEN"));
        assert!(fault("fen 8/8/8/8/8/8/8/8 w - - 0 1").contains("is not a legal position"));
        let illegal = fault("startpos moves e2e4 e2e4");
        assert!(illegal.starts_with("move 2, e2e4, is not legal in rnbqkbnr/"), "{illegal}");
        let unreadable = parse("startpos moves e2e4 hello e7e5").unwrap_err().to_string();
        assert_eq!(unreadable, "position: move 2, 'hello', is not a move");
        assert!(parse("moves e2e4").is_err());
        assert!(parse("startpos moves e2e4 0000").unwrap().resolve().is_err());
    }

    #[test]
    fn four_fields_and_impossible_rights_are_accepted() {
        let game = parse("fen 4k3/8/8/8/8/8/4P3/4K2R w KQkq e6 moves e1h1").unwrap().resolve().unwrap();
        assert_eq!(game.moves().len(), 1);
    }
}
