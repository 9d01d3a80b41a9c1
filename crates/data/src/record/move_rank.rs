//! A move as its rank among the pseudo-legal moves of a position, counted by bitboards.
//!
//! Ranks are computed without generating moves: groups of moves are counted and skipped until the move's group. The order
//! of groups and of moves within them is part of the shard format and never changes:
//!
//! 1. pawns, by destination: single steps, double steps, captures towards the a-file, captures towards
//!    the h-file, none of them promoting; en passant captures by origin; then promotions by step, by capture towards
//!    the a-file, by capture towards the h-file, each destination with four codes: queen, rook, bishop, knight;
//! 2. knights, bishops, rooks, queens, then the king: pieces of a kind by square, each one's moves by destination;
//! 3. castling, by the rook's square, where the right is there and the squares between are free.
//!
//! Squares ascend from a1 = 0 to h8 = 63.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use shakmaty::{
    Bitboard, Board, CastlingSide, Chess, Color, File, Move, Position, Rank, Role, Square, attacks,
};

use super::RecordError;
use super::bytes::Reader;

/// A rank byte that is followed by a second one.
///
/// No known position of standard chess has so many pseudo-legal moves, but there is no proof that none has.
const ESCAPE: u8 = 255;

/// Appends a rank: one byte below 255, else 255 and the rest.
pub(super) fn write(out: &mut Vec<u8>, rank: u16) -> Result<(), RecordError> {
    match rank.checked_sub(u16::from(ESCAPE)) {
        None => out.push(rank as u8),
        Some(beyond) => {
            let beyond = u8::try_from(beyond).map_err(|_| RecordError::Number { what: "a move" })?;
            out.extend_from_slice(&[ESCAPE, beyond]);
        }
    }
    Ok(())
}

/// The inverse of [`write`].
#[inline]
pub(super) fn read(reader: &mut Reader<'_>) -> Result<u16, RecordError> {
    Ok(match reader.byte()? {
        ESCAPE => u16::from(ESCAPE) + u16::from(reader.byte()?),
        rank => u16::from(rank),
    })
}

const PROMOTIONS: [Role; 4] = [Role::Queen, Role::Rook, Role::Bishop, Role::Knight];

/// The rank of a pseudo-legal move, or `None` if it is not one here.
pub(super) fn rank_of(position: &Chess, m: Move) -> Option<u16> {
    let mut before = 0;
    for_each_group(position, |group, squares| {
        if let Some((square, code)) = group.place_of(m)
            && squares.contains(square)
            && group.move_on(position.board(), square, code) == Some(m)
        {
            let below = squares & Bitboard(below(square));
            return Some(before + below.count() as u32 * group.codes() + code);
        }
        before += squares.count() as u32 * group.codes();
        None
    })
    .and_then(|rank| u16::try_from(rank).ok())
}

/// The pseudo-legal move with this rank, or `None` if there are not that many. Never the capture of a king, so that
/// whatever is played, both kings stay on the board.
pub(super) fn move_at(position: &Chess, rank: u16) -> Option<Move> {
    let mut left = u32::from(rank);
    for_each_group(position, |group, squares| {
        let here = squares.count() as u32 * group.codes();
        if left >= here {
            left -= here;
            return None;
        }
        let square = nth(squares, left / group.codes());
        Some(square.and_then(|square| group.move_on(position.board(), square, left % group.codes())))
    })
    .flatten()
}

/// Moves that are counted together: one per square of a set, or four if they promote.
#[derive(Clone, Copy)]
enum Group {
    /// The squares are where pawns arrive, coming from `square - offset`.
    Pawns { offset: i32 },
    /// The same on the last rank.
    Promotions { offset: i32 },
    /// The squares are where capturing pawns come from.
    EnPassant { to: Square },
    /// The squares are where the piece may go.
    Piece { role: Role, from: Square },
    /// The squares are rooks to castle with.
    Castling { king: Square },
}

impl Group {
    #[inline]
    fn codes(self) -> u32 {
        if matches!(self, Group::Promotions { .. }) { 4 } else { 1 }
    }

    /// The move of this group on a square of its set.
    #[inline]
    fn move_on(self, board: &Board, square: Square, code: u32) -> Option<Move> {
        let (role, from, promotion) = match self {
            Group::Pawns { offset } => (Role::Pawn, square.offset(-offset)?, None),
            Group::Promotions { offset } => {
                (Role::Pawn, square.offset(-offset)?, PROMOTIONS.get(code as usize).copied())
            }
            Group::EnPassant { to } => return Some(Move::EnPassant { from: square, to }),
            Group::Piece { role, from } => (role, from, None),
            Group::Castling { king } => return Some(Move::Castle { king, rook: square }),
        };
        let capture = if board.occupied().contains(square) { board.role_at(square) } else { None };
        if capture == Some(Role::King) {
            return None;
        }
        Some(Move::Normal { role, from, capture, to: square, promotion })
    }

    /// The square and code that `m` would have in this group, if it is of its kind at all.
    fn place_of(self, m: Move) -> Option<(Square, u32)> {
        match (self, m) {
            (Group::Pawns { .. } | Group::Promotions { .. }, Move::Normal { to, promotion, .. }) => {
                let code = PROMOTIONS.iter().position(|&role| Some(role) == promotion);
                Some((to, code.unwrap_or(0) as u32))
            }
            (Group::Piece { .. }, Move::Normal { to, .. }) => Some((to, 0)),
            (Group::EnPassant { .. }, Move::EnPassant { from, .. }) => Some((from, 0)),
            (Group::Castling { .. }, Move::Castle { rook, .. }) => Some((rook, 0)),
            _ => None,
        }
    }
}

/// Visits the groups in order until one answers.
#[inline]
fn for_each_group<T>(position: &Chess, mut visit: impl FnMut(Group, Bitboard) -> Option<T>) -> Option<T> {
    let (board, turn) = (position.board(), position.turn());
    let (us, them, occupied) = (position.us(), position.them(), board.occupied());
    let pawns = board.pawns() & us;

    let (forward, double_step_rank, last_rank) = match turn {
        Color::White => (8, Rank::Fourth, Rank::Eighth),
        Color::Black => (-8, Rank::Fifth, Rank::First),
    };
    let last_rank = Bitboard::from_rank(last_rank);
    let steps = shift(pawns, forward) & !occupied;
    let double_steps = shift(steps, forward) & !occupied & Bitboard::from_rank(double_step_rank);
    let towards_a = shift(pawns & !Bitboard::from_file(File::A), forward - 1) & them;
    let towards_h = shift(pawns & !Bitboard::from_file(File::H), forward + 1) & them;
    let by_step = [(steps, forward), (double_steps, 2 * forward)];
    let by_capture = [(towards_a, forward - 1), (towards_h, forward + 1)];
    for (squares, offset) in by_step.into_iter().chain(by_capture) {
        let answer = visit(Group::Pawns { offset }, squares & !last_rank);
        if answer.is_some() {
            return answer;
        }
    }
    if let Some(to) = position.maybe_ep_square() {
        let answer = visit(Group::EnPassant { to }, attacks::pawn_attacks(!turn, to) & pawns);
        if answer.is_some() {
            return answer;
        }
    }
    if ((steps | towards_a | towards_h) & last_rank).any() {
        for (squares, offset) in [(steps, forward)].into_iter().chain(by_capture) {
            let answer = visit(Group::Promotions { offset }, squares & last_rank);
            if answer.is_some() {
                return answer;
            }
        }
    }

    macro_rules! pieces {
        ($role:expr, $of:expr, $from:ident => $attacks:expr) => {
            for $from in $of & us {
                let answer = visit(Group::Piece { role: $role, from: $from }, $attacks & !us);
                if answer.is_some() {
                    return answer;
                }
            }
        };
    }
    pieces!(Role::Knight, board.knights(), from => attacks::knight_attacks(from));
    pieces!(Role::Bishop, board.bishops(), from => attacks::bishop_attacks(from, occupied));
    pieces!(Role::Rook, board.rooks(), from => attacks::rook_attacks(from, occupied));
    pieces!(Role::Queen, board.queens(), from => attacks::queen_attacks(from, occupied));
    pieces!(Role::King, board.kings(), from => attacks::king_attacks(from));

    let castles = position.castles();
    if castles.has_color(turn) {
        let king = board.king_of(turn)?;
        let rooks = CastlingSide::ALL
            .into_iter()
            .filter(|&side| (castles.path(turn, side) & occupied).is_empty())
            .filter_map(|side| castles.rook(turn, side))
            .collect();
        return visit(Group::Castling { king }, rooks);
    }
    None
}

/// Shifts a bitboard; bits that leave the board are dropped. Files wrap.
#[inline]
fn shift(squares: Bitboard, by: i32) -> Bitboard {
    Bitboard(if by >= 0 { squares.0 << by } else { squares.0 >> -by })
}

/// The bits below a square's.
fn below(square: Square) -> u64 {
    (1 << u32::from(square)) - 1
}

/// The `n`th square of a set, from 0, if it has that many.
#[inline]
fn nth(squares: Bitboard, n: u32) -> Option<Square> {
    let mut bits = squares.0;
    for _ in 0..n {
        bits &= bits.wrapping_sub(1);
    }
    Bitboard(bits).first()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use shakmaty::fen::Fen;
    use shakmaty::{CastlingMode, Position};

    use super::*;

    fn position(fen: &str) -> Chess {
        fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
    }

    /// Positions with every kind of move, for both sides.
    const FENS: [&str; 8] = [
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 0 1",
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        "r2q1rk1/pP1p2pp/Q4n2/bbp1p3/Np6/1B3NBn/pPPP1PPP/R3K2R b KQ - 0 1",
        "rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8",
        "4k3/8/8/2PpP3/8/8/8/4K3 w - d6 0 2",
        "4k3/8/8/8/2pPp3/8/8/4K3 b - d3 0 2",
        "8/8/8/K2pP2r/8/8/8/4k3 w - d6 0 2",
    ];

    #[test]
    fn ranks_of_legal_moves_are_distinct_and_round_trip() {
        for fen in FENS {
            let position = position(fen);
            let mut ranks = HashSet::new();
            for m in position.legal_moves() {
                let rank = rank_of(&position, m).unwrap_or_else(|| panic!("{fen}: {m}"));
                assert!(ranks.insert(rank), "{fen}: {m} shares rank {rank}");
                assert_eq!(move_at(&position, rank), Some(m), "{fen}: rank {rank}");
            }
        }
    }

    #[test]
    fn ranks_are_contiguous() {
        for fen in FENS {
            let position = position(fen);
            let moves: Vec<_> = (0..u16::MAX).map_while(|rank| move_at(&position, rank)).collect();
            assert!(moves.len() >= position.legal_moves().len());
            for (rank, &m) in moves.iter().enumerate() {
                assert_eq!(rank_of(&position, m), Some(rank as u16), "{fen}: {m}");
            }
            assert_eq!(move_at(&position, moves.len() as u16 + 500), None);
        }
    }

    #[test]
    fn large_ranks_take_two_bytes() {
        let mut out = Vec::new();
        for rank in [0, 254, 255, 300, 510] {
            write(&mut out, rank).unwrap();
        }
        assert_eq!(out, [0, 254, 255, 0, 255, 45, 255, 255]);
        let mut reader = Reader::new(&out, "moves");
        assert_eq!([(); 5].map(|()| read(&mut reader).unwrap()), [0, 254, 255, 300, 510]);
        assert!(read(&mut reader).is_err() && write(&mut Vec::new(), 511).is_err());
    }

    #[test]
    fn a_move_that_is_not_pseudo_legal_has_no_rank() {
        let (here, there) = (position(FENS[0]), position(FENS[2]));
        let legal = here.legal_moves();
        for m in there.legal_moves().into_iter().filter(|m| !legal.contains(m)) {
            let back = rank_of(&here, m).and_then(|rank| move_at(&here, rank));
            assert!(back.is_none_or(|back| back == m), "{m}");
        }
    }
}
