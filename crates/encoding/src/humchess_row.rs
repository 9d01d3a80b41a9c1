use shakmaty::{Board, Chess, Color, FromSetup, Move, Piece, Position, Role, Setup, Square};
use thiserror::Error;

use crate::buckets::rating_in_bucket;
use crate::inputs::humchess_68::{CASTLING, CLS, LEN, RATING, TIME, write_tokens};
use crate::moves::from_to_4096::FROM_TO_4096;
use crate::{
    Elo, MoveVocabulary, Orientation, PolicyIndex, PolicySlot, RATING_BUCKETS, Situation, TIME_BUCKETS,
};

/// Bytes of the legal-move mask: one bit per pair of squares.
const MASK_LEN: usize = 4096 / 8;

/// A HumChess training row: a position and the move played, from the perspective of the side to move as in `humchess-68`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HumChessRow {
    /// The tokens of `humchess-68`.
    pub tokens: [i32; LEN],
    /// The chosen move: its index in `from-to-4096`.
    pub move_id: u16,
    /// The chosen promotion, q r b n = 0..3.
    pub promotion: Option<u8>,
    /// The legal moves: bit `i % 8` of byte `i / 8`, least significant first, is move `i`.
    pub legal_mask: [u8; MASK_LEN],
}

/// A decoded row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HumChessExample {
    /// The position, with default counters. A row does not record the side to move: where castling rights do not reveal it,
    /// it is White.
    pub position: Chess,
    /// The chosen move.
    pub chosen: Move,
    /// The mover's rating: the middle of its bucket.
    pub rating: Elo,
    /// The mover's [`time_bucket`](crate::time_bucket).
    pub time_bucket: u8,
}

/// Why a row cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HumChessRowError {
    /// A token out of range for its place.
    #[error("invalid token {value} in place {place}")]
    Token {
        /// From 0.
        place: usize,
        /// What is there.
        value: i32,
    },
    /// The squares are not a legal position.
    #[error("illegal position")]
    Position,
    /// The chosen move is not legal.
    #[error("illegal move {0}")]
    Move(u16),
}

impl HumChessRow {
    /// The row of a situation in which `chosen`, a legal move, was played.
    pub fn new(situation: &Situation<'_>, chosen: Move) -> HumChessRow {
        let turn = situation.position.turn();
        let mut tokens = [0; LEN];
        write_tokens(situation, &mut tokens);
        let mut legal_mask = [0; MASK_LEN];
        for m in situation.position.legal_moves() {
            let index = usize::from(FROM_TO_4096.slot(turn, m).index.0);
            legal_mask[index / 8] |= 1 << (index % 8);
        }
        let PolicySlot { index, promotion } = FROM_TO_4096.slot(turn, chosen);
        HumChessRow { tokens, move_id: index.0, promotion, legal_mask }
    }

    /// Decodes the row. The en passant square follows from the legal moves.
    ///
    /// # Errors
    /// When a token is out of place, or position or move are not legal.
    pub fn decode(&self) -> Result<HumChessExample, HumChessRowError> {
        let ranged = |place: usize, first: i32, count: usize| {
            let value = self.tokens[place];
            let offset = usize::try_from(value - first).ok().filter(|offset| *offset < count);
            offset.map(|offset| offset as u8).ok_or(HumChessRowError::Token { place, value })
        };
        ranged(0, CLS, 1)?;
        let rights = ranged(65, CASTLING, 16)?;
        let rating = rating_in_bucket(ranged(66, RATING, RATING_BUCKETS)?);
        let time_bucket = ranged(67, TIME, TIME_BUCKETS)?;
        for place in 1..=64 {
            ranged(place, 0, 13)?;
        }
        let viewer = self.viewer(rights);
        let mut setup = Setup { board: Board::empty(), turn: viewer, ..Setup::empty() };
        for seen in Square::ALL {
            if let Some(piece) = self.piece(seen, viewer) {
                setup.board.set_piece_at(Orientation::Rotated.square(viewer, seen), piece);
            }
        }
        for (bit, color, rook) in [
            (8, viewer, Square::H1),
            (4, viewer, Square::A1),
            (2, !viewer, Square::H1),
            (1, !viewer, Square::A1),
        ] {
            if rights & bit != 0 {
                setup.castling_rights.add(color.fold_wb(rook, rook.flip_vertical()));
            }
        }
        setup.ep_square = self.en_passant().map(|seen| Orientation::Rotated.square(viewer, seen));
        let position = Chess::from_setup(setup, shakmaty::CastlingMode::Standard)
            .map_err(|_| HumChessRowError::Position)?;
        let slot = PolicySlot { index: PolicyIndex(self.move_id), promotion: self.promotion };
        let chosen = FROM_TO_4096.find(&position, slot).ok_or(HumChessRowError::Move(self.move_id))?;
        Ok(HumChessExample { position, chosen, rating, time_bucket })
    }

    /// The side to move: a king with castling rights is on the e-file, which for Black is seen as the d-file.
    fn viewer(&self, rights: u8) -> Color {
        let king = if rights & 0b1100 != 0 { (6, Square::D1) } else { (12, Square::D8) };
        let (token, seen) = king;
        let black = rights != 0 && self.tokens[1 + usize::from(seen)] == token;
        Color::from_white(!black)
    }

    /// The piece on a square, in the row's orientation.
    fn piece(&self, seen: Square, viewer: Color) -> Option<Piece> {
        let token = self.tokens[1 + usize::from(seen)];
        let role = Role::ALL.get(usize::try_from(token - 1).ok()? % 6).copied()?;
        Some(Piece { color: if token <= 6 { viewer } else { !viewer }, role })
    }

    /// The empty square that a pawn may capture on, in the row's orientation.
    fn en_passant(&self) -> Option<Square> {
        (0..4096_u32).find_map(|index| {
            let legal = self.legal_mask[index as usize / 8] >> (index % 8) & 1 == 1;
            let (from, to) = (Square::new(index / 64), Square::new(index % 64));
            let captures = self.tokens[1 + usize::from(from)] == 1 && from.file() != to.file();
            (legal && captures && self.tokens[1 + usize::from(to)] == 0).then_some(to)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PlayerInfo;
    use crate::test_positions::position;

    const FIXTURES: &str = include_str!("../../../fixtures/positions.fen");

    #[test]
    fn every_move_of_every_fixture_round_trips() {
        let positions = FIXTURES.lines().filter(|line| !line.is_empty());
        let mut moves = 0;
        for (fen, place) in positions.zip(0..) {
            let position = position(fen);
            let mover = PlayerInfo { rating: Some(Elo(900 + 100 * (place % 18))), time_left: None };
            let situation = Situation { mover, ..Situation::of(&position) };
            for m in position.legal_moves() {
                let row = HumChessRow::new(&situation, m);
                let example = row.decode().unwrap_or_else(|bad| panic!("{fen}: {bad}"));
                let seat = PlayerInfo { rating: Some(example.rating), time_left: None };
                let again = Situation { mover: seat, ..Situation::of(&example.position) };
                assert_eq!(HumChessRow::new(&again, example.chosen), row, "{fen} {m}");
                if position.turn().is_white() {
                    assert_eq!((&example.position, example.chosen), (&position, m), "{fen} {m}");
                }
                moves += 1;
            }
        }
        assert!(moves > 2000, "{moves}");
    }

    #[test]
    fn castling_rights_reveal_the_side_to_move() {
        for fen in [
            "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1",
            "r3k3/8/8/8/8/8/8/R3K2R b q - 0 1",
            "4k3/8/8/8/8/8/8/R3K2R b Q - 0 1",
            "4k3/8/8/8/8/8/8/R3K2R w K - 0 1",
            "r3k2r/8/8/8/8/8/8/4K3 w kq - 0 1",
        ] {
            let position = position(fen);
            let row = HumChessRow::new(&Situation::of(&position), position.legal_moves()[0]);
            assert_eq!(row.decode().unwrap().position, position, "{fen}");
        }
    }

    #[test]
    fn mask_bits_are_least_significant_first() {
        let start = Chess::default();
        let row = HumChessRow::new(&Situation::of(&start), start.legal_moves()[0]);
        let (from, to) = (8 + 4, 24 + 4); // e2e4
        let index = from * 64 + to;
        assert_eq!(row.legal_mask[index / 8] >> (index % 8) & 1, 1);
        assert_eq!(row.legal_mask.iter().map(|byte| byte.count_ones()).sum::<u32>(), 20);
    }

    #[test]
    fn invalid_rows_are_rejected() {
        let start = Chess::default();
        let good = HumChessRow::new(&Situation::of(&start), start.legal_moves()[0]);
        let with = |change: fn(&mut HumChessRow)| {
            let mut row = good.clone();
            change(&mut row);
            row.decode().unwrap_err()
        };
        assert_eq!(with(|row| row.tokens[0] = 0), HumChessRowError::Token { place: 0, value: 0 });
        assert_eq!(with(|row| row.tokens[9] = 13), HumChessRowError::Token { place: 9, value: 13 });
        assert_eq!(with(|row| row.tokens[67] = 66), HumChessRowError::Token { place: 67, value: 66 });
        assert_eq!(with(|row| row.tokens[5] = 0), HumChessRowError::Position);
        assert_eq!(with(|row| row.move_id = 0), HumChessRowError::Move(0));
    }
}
