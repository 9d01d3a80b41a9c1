#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt;

use shakmaty::{
    CastlingMode, Chess, Color, EnPassantMode, FromSetup, Move, Position as _, Setup, fen::Fen, uci::UciMove,
};

use super::{
    ParseError,
    tokens::{Tokens, one_line},
};

/// Parameters of `position`, unchecked; see [`resolve`](Self::resolve).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Start position.
    pub start: StartPosition,
    /// Moves from the start position.
    pub moves: Vec<UciMove>,
}

/// Start position of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StartPosition {
    /// `startpos`
    Startpos,
    /// `fen`, unchecked
    Fen(String),
}

/// A start position and legal moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameHistory {
    start: Chess,
    moves: Vec<Move>,
    current: Chess,
}

/// Invalid position or moves.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PositionError {
    /// Malformed FEN.
    #[error("invalid FEN '{fen}': {reason}")]
    Fen {
        /// FEN as received.
        fen: String,
        /// Reason.
        reason: String,
    },
    /// Illegal start position.
    #[error("illegal position '{fen}': {reason}")]
    Illegal {
        /// FEN as received.
        fen: String,
        /// Reason.
        reason: String,
    },
    /// Illegal move.
    #[error("move {number}: illegal move {mv} in {fen}")]
    Move {
        /// Number of the move, from 1.
        number: usize,
        /// The move.
        mv: UciMove,
        /// Position before the move.
        fen: String,
    },
}

impl Position {
    /// Checks the start position and all moves as standard chess. Castling may be written as a king move (`e1g1`) or as
    /// king takes rook (`e1h1`). Impossible castling rights and en passant squares are dropped, and those that only Chess960
    /// has.
    ///
    /// # Errors
    /// If the start position is invalid or a move is illegal.
    pub fn resolve(&self) -> Result<GameHistory, PositionError> {
        self.resolve_in(CastlingMode::Standard)
    }

    /// The same, where `mode` may be that of `UCI_Chess960`: castling rights are X-FEN or Shredder-FEN, and the game writes
    /// castling as king takes rook.
    ///
    /// # Errors
    /// If the start position is invalid or a move is illegal.
    pub fn resolve_in(&self, mode: CastlingMode) -> Result<GameHistory, PositionError> {
        let mut game = match &self.start {
            StartPosition::Startpos => GameHistory::initial(mode),
            StartPosition::Fen(fen) => GameHistory::new(parse_fen(fen, mode)?),
        };
        for (index, &mv) in self.moves.iter().enumerate() {
            let legal = mv.to_move(&game.current).map_err(|_| PositionError::Move {
                number: index + 1,
                mv,
                fen: fen_of(&game.current),
            })?;
            game.play(legal);
        }
        Ok(game)
    }

    /// Whether the start position has castling rights that `mode` drops.
    pub(crate) fn needs_chess960(&self, mode: CastlingMode) -> bool {
        let StartPosition::Fen(fen) = &self.start else { return false };
        let setup = Fen::from_ascii(fen.as_bytes()).map(Fen::into_setup);
        mode == CastlingMode::Standard
            && setup.is_ok_and(|setup| CastlingMode::detect(&setup) == CastlingMode::Chess960)
    }

    pub(super) fn parse(mut tokens: Tokens<'_>) -> Result<Position, ParseError> {
        let malformed = |reason: String| ParseError::malformed("position", reason);
        let start = loop {
            match tokens.next() {
                Some("startpos") => break StartPosition::Startpos,
                Some("fen") => break StartPosition::Fen(tokens.until(|token| token == "moves")),
                Some(_) => {}
                None => return Err(malformed("expected startpos or fen".to_owned())),
            }
        };
        tokens.skip_past("moves");
        let moves = tokens.moves();
        // Skipping a token between moves would change the game.
        match tokens.next() {
            Some(token) => Err(malformed(format!("move {}: invalid move '{token}'", moves.len() + 1))),
            None => Ok(Position { start, moves }),
        }
    }
}

impl From<&GameHistory> for Position {
    fn from(game: &GameHistory) -> Position {
        let mode = game.castling_mode();
        let start = if game.start == Chess::default() && game.start.fullmoves().get() == 1 {
            StartPosition::Startpos
        } else {
            StartPosition::Fen(match mode {
                CastlingMode::Standard => fen_of(&game.start),
                // Programs that read one form of these rights read the files of the rooks.
                CastlingMode::Chess960 => shredder_fen(&game.start),
            })
        };
        Position { start, moves: game.moves.iter().map(|&mv| mv.to_uci(mode)).collect() }
    }
}

impl GameHistory {
    /// A game without moves.
    pub fn new(start: Chess) -> GameHistory {
        GameHistory { current: start.clone(), start, moves: Vec::new() }
    }

    /// A game without moves from the initial position.
    pub(crate) fn initial(mode: CastlingMode) -> GameHistory {
        GameHistory::new(Chess::from_setup(Setup::initial(), mode).unwrap_or_default())
    }

    /// Start position.
    pub fn start(&self) -> &Chess {
        &self.start
    }

    /// How castling is written: as king takes rook in a game of Chess960.
    pub fn castling_mode(&self) -> CastlingMode {
        self.start.castles().mode()
    }

    /// Moves from the start position.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Current position.
    pub fn current(&self) -> &Chess {
        &self.current
    }

    /// Plays a move if it is legal; returns whether it was.
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

impl Default for GameHistory {
    fn default() -> GameHistory {
        GameHistory::new(Chess::default())
    }
}

fn parse_fen(text: &str, mode: CastlingMode) -> Result<Chess, PositionError> {
    let fen = text.to_owned();
    let setup = match Fen::from_ascii(text.as_bytes()) {
        Ok(fen) => fen.into_setup(),
        Err(error) => return Err(PositionError::Fen { fen, reason: error.to_string() }),
    };
    Chess::from_setup(setup, mode)
        .or_else(shakmaty::PositionError::ignore_invalid_castling_rights)
        .or_else(shakmaty::PositionError::ignore_invalid_ep_square)
        .map_err(|error| PositionError::Illegal { fen, reason: error.to_string() })
}

pub(crate) fn fen_of(position: &Chess) -> String {
    Fen::from_position(position, EnPassantMode::Legal).to_string()
}

/// With castling rights by the file of the rook: `HAha`.
fn shredder_fen(position: &Chess) -> String {
    let fen = fen_of(position);
    let rights = position.castles().castling_rights();
    let letters = Color::ALL.into_iter().flat_map(|color| {
        let rooks = (rights & color.backrank()).into_iter().rev();
        rooks.map(move |rook| color.fold_wb(rook.file().upper_char(), rook.file().char()))
    });
    let fields = fen.split(' ').enumerate().map(|(place, field)| match place {
        2 if rights.any() => letters.clone().collect(),
        _ => field.to_owned(),
    });
    fields.collect::<Vec<String>>().join(" ")
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.start {
            StartPosition::Startpos => f.write_str("position startpos")?,
            StartPosition::Fen(fen) => write!(f, "position fen {}", one_line(fen))?,
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

    fn parse(text: &str) -> Result<Position, ParseError> {
        Position::parse(Tokens::new(text))
    }

    #[test]
    fn both_castling_notations_are_accepted() {
        let start = "position fen r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1 moves";
        for (input, written) in
            [("e1g1 e8c8", "e1g1 e8c8"), ("e1h1 e8a8", "e1g1 e8c8"), ("e1c1 e8h8", "e1c1 e8g8")]
        {
            let game = parse(&format!("{start} {input}")).unwrap().resolve().unwrap();
            assert_eq!(Position::from(&game).to_string(), format!("{start} {written}"));
        }
    }

    #[test]
    fn chess960_is_read_in_both_forms_and_written_in_one() {
        let moves = "moves e2e4 f7f5 f1g3 f8g6 d1c1 d8c8";
        for (rights, mode) in [
            ("KQkq", CastlingMode::Chess960),
            ("ECec", CastlingMode::Chess960),
            ("ECec", CastlingMode::Standard),
        ] {
            let line = format!("fen bqrkrnnb/pppppppp/8/8/8/8/PPPPPPPP/BQRKRNNB w {rights} - 0 1 {moves}");
            let resolved = parse(&line).unwrap().resolve_in(mode);
            let CastlingMode::Chess960 = mode else {
                assert!(matches!(resolved, Err(PositionError::Move { number: 5, .. })), "{resolved:?}");
                continue;
            };
            let game = resolved.unwrap();
            assert!(game.moves()[4].is_castle(), "{rights}");
            let written =
                format!("position fen bqrkrnnb/pppppppp/8/8/8/8/PPPPPPPP/BQRKRNNB w ECec - 0 1 {moves}");
            assert_eq!(Position::from(&game).to_string(), written);
        }
    }

    #[test]
    fn a_chess960_game_writes_standard_castling_as_king_takes_rook() {
        let game = parse("fen 4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1 moves e1g1").unwrap();
        let written = Position::from(&game.resolve_in(CastlingMode::Chess960).unwrap()).to_string();
        assert_eq!(written, "position fen 4k3/8/8/8/8/8/8/R3K2R w HA - 0 1 moves e1h1");
        let start = parse("startpos").unwrap().resolve_in(CastlingMode::Chess960).unwrap();
        assert_eq!(
            (Position::from(&start).to_string().as_str(), start.castling_mode().is_chess960()),
            ("position startpos", true)
        );
    }

    #[test]
    fn e1g1_is_not_castling_for_a_queen() {
        let game = parse("fen 3k4/8/8/8/8/8/8/4Q2K w - - 0 1 moves e1g1").unwrap().resolve().unwrap();
        assert_eq!(game.moves()[0].role(), shakmaty::Role::Queen);
    }

    #[test]
    fn invalid_positions_are_rejected() {
        let error = |text| parse(text).unwrap().resolve().unwrap_err();
        assert!(matches!(error("fen nonsense"), PositionError::Fen { .. }));
        assert!(matches!(error("fen 8/8/8/8/8/8/8/8 w - - 0 1"), PositionError::Illegal { .. }));
        assert!(matches!(error("startpos moves e2e4 e2e4"), PositionError::Move { number: 2, .. }));
        for line in ["startpos moves e2e4 hello e7e5", "moves e2e4"] {
            assert!(matches!(parse(line), Err(ParseError::Malformed { message: "position", .. })), "{line}");
        }
        assert!(parse("startpos moves e2e4 0000").unwrap().resolve().is_err());
    }

    #[test]
    fn four_field_fens_and_impossible_rights_are_accepted() {
        let game = parse("fen 4k3/8/8/8/8/8/4P3/4K2R w KQkq e6 moves e1h1").unwrap().resolve().unwrap();
        assert_eq!(game.moves().len(), 1);
    }
}
