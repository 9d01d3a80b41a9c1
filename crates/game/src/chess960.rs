#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, str::FromStr};

use shakmaty::{CastlingMode, Chess, Color, File, FromSetup, Piece, Rank, Role, Setup, Square};

/// A start position of Chess960 by its number, 0 to 959, as Scharnagl numbered them: 518 is that of standard chess.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chess960(u16);

/// A number that no start position has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no Chess960 position {0} (expected 0 to 959)")]
pub struct UnknownChess960(pub String);

/// Squares for the two knights among the five that bishops and queen leave.
const KNIGHTS: [[usize; 2]; 10] =
    [[0, 1], [0, 2], [0, 3], [0, 4], [1, 2], [1, 3], [1, 4], [2, 3], [2, 4], [3, 4]];

impl Chess960 {
    /// How many there are.
    pub const COUNT: u16 = 960;
    /// That of standard chess.
    pub const STANDARD: Chess960 = Chess960(518);

    /// The position of a number; `None` from 960 on.
    pub fn new(number: u16) -> Option<Chess960> {
        (number < Chess960::COUNT).then_some(Chess960(number))
    }

    /// The position that a random number draws.
    pub fn drawn(random: u64) -> Chess960 {
        let scaled = (u128::from(random) * u128::from(Chess960::COUNT)) >> 64;
        Chess960(u16::try_from(scaled).unwrap_or(0))
    }

    /// The number of a position, if it is a start position.
    pub fn of(position: &Chess) -> Option<Chess960> {
        (0..Chess960::COUNT).map(Chess960).find(|number| number.position() == *position)
    }

    /// Its number.
    pub fn number(self) -> u16 {
        self.0
    }

    /// The position, with all castling rights.
    pub fn position(self) -> Chess {
        let mut setup = Setup::initial();
        for (file, role) in File::ALL.into_iter().zip(self.pieces()) {
            for (color, rank) in [(Color::White, Rank::First), (Color::Black, Rank::Eighth)] {
                setup.board.set_piece_at(Square::from_coords(file, rank), Piece { color, role });
            }
        }
        setup.castling_rights = setup.board.rooks();
        let mode = CastlingMode::detect(&setup);
        Chess::from_setup(setup, mode).unwrap_or_default()
    }

    /// The pieces of a back rank from the a-file on.
    fn pieces(self) -> [Role; 8] {
        let number = usize::from(self.0);
        let mut pieces = [None; 8];
        let mut place = |at: usize, role| {
            if let Some(square) = pieces.get_mut(at) {
                *square = Some(role);
            }
        };
        place(number % 4 * 2 + 1, Role::Bishop);
        place(number / 4 % 4 * 2, Role::Bishop);
        // The nth square that is still free.
        let mut fill = |free: usize, role| {
            let mut empty = pieces.iter_mut().filter(|square| square.is_none());
            if let Some(square) = empty.nth(free) {
                *square = Some(role);
            }
        };
        fill(number / 16 % 6, Role::Queen);
        // The second knight first, so that the place of the first is not shifted.
        let [first, second] = KNIGHTS.get(number / 96).copied().unwrap_or_default();
        fill(second, Role::Knight);
        fill(first, Role::Knight);
        for role in [Role::Rook, Role::King, Role::Rook] {
            fill(0, role);
        }
        pieces.map(|piece| piece.unwrap_or(Role::Rook))
    }
}

impl fmt::Display for Chess960 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Chess960 {
    type Err = UnknownChess960;

    fn from_str(text: &str) -> Result<Chess960, UnknownChess960> {
        let number = text.trim().parse().ok().and_then(Chess960::new);
        number.ok_or_else(|| UnknownChess960(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use shakmaty::Position;

    use super::*;
    use crate::{fen_of, position_from_fen};

    fn rank(number: u16) -> String {
        let fen = fen_of(&Chess960::new(number).unwrap().position());
        fen.split('/').next().unwrap().to_uppercase()
    }

    #[test]
    fn numbers_are_scharnagls() {
        assert_eq!(Chess960::STANDARD.position(), Chess::default());
        assert_eq!(Chess960::STANDARD.position().castles().mode(), CastlingMode::Standard);
        for (number, pieces) in
            [(0, "BBQNNRKR"), (1, "BQNBNRKR"), (518, "RNBQKBNR"), (534, "RNBKQBNR"), (959, "RKRNNQBB")]
        {
            assert_eq!(rank(number), pieces, "{number}");
        }
    }

    #[test]
    fn all_are_different_and_legal() {
        let ranks: HashSet<String> = (0..Chess960::COUNT).map(rank).collect();
        assert_eq!(ranks.len(), usize::from(Chess960::COUNT));
        for number in 0..Chess960::COUNT {
            let position = Chess960::new(number).unwrap().position();
            let board = position.board();
            let row = board.by_color(Color::White) & Rank::First;
            let at = |role| (board.by_role(role) & row).into_iter().map(Square::file).collect::<Vec<_>>();
            let (rooks, king, bishops) = (at(Role::Rook), at(Role::King)[0], at(Role::Bishop));
            assert!(rooks[0] < king && king < rooks[1], "{number}");
            assert_ne!(bishops[0] as u8 % 2, bishops[1] as u8 % 2, "{number}");
            assert_eq!(position.castles().castling_rights().count(), 4, "{number}");
            assert_eq!(position_from_fen(&fen_of(&position)).as_ref(), Ok(&position), "{number}");
            if number % 97 == 0 {
                assert_eq!(Chess960::of(&position).map(Chess960::number), Some(number));
            }
        }
    }

    #[test]
    fn numbers_beyond_959_are_refused() {
        assert_eq!("959".parse::<Chess960>().map(Chess960::number), Ok(959));
        for wrong in ["960", "-1", "", "random"] {
            assert_eq!(wrong.parse::<Chess960>(), Err(UnknownChess960(wrong.to_owned())));
        }
        assert_eq!((Chess960::drawn(0).number(), Chess960::drawn(u64::MAX).number()), (0, 959));
    }
}
