//! The evaluation of the Chess Challenge's levels, number for number. Most of its terms are those of [`evaluate`](super::evaluate);
//! the king's attackers, the pawn shield, mobility and the phase are counted in its own way.

use shakmaty::{Bitboard, Board, Chess, Color, Piece, Position, Rank, Role, attacks};
use tabia_encoding::{ForMover, ForWhite};

use super::{
    king::{self, ATTACKERS},
    material::{self, count},
    pawns, rooks, squares,
    tapered::Tapered,
};

/// The middlegame's share of a full board. A board with more than the pieces of the start goes beyond it.
const FULL: i32 = 256;

/// The evaluation in centipawns.
pub fn evaluate(position: &Chess) -> ForMover<i32> {
    let board = position.board();
    let score = side(board, Color::White) - side(board, Color::Black);
    let phase = phase(board);
    let blend = (score.middlegame * phase + score.endgame * (FULL - phase)) / FULL;
    ForWhite(blend).for_mover(position.turn())
}

/// All terms of one side.
fn side(board: &Board, color: Color) -> Tapered {
    let attacked = pawn_attacks(board, !color);
    material::material(board, color)
        + material::bishop_pair(board, color)
        + squares::placement(board, color)
        + shield(board, color)
        + king::files(board, color)
        + attackers(board, color, attacked)
        + mobility(board, color, attacked)
        + pawns::passed(board, color)
        + pawns::doubled(board, color)
        + pawns::isolated(board, color)
        + rooks::on_files(board, color)
        + rooks::on_the_seventh(board, color)
}

/// The game phase of 24, rounded to a share of [`FULL`]; not capped.
fn phase(board: &Board) -> i32 {
    let pieces =
        count(board.knights() | board.bishops()) + 2 * count(board.rooks()) + 4 * count(board.queens());
    (pieces * FULL + 12) / 24
}

/// The squares the pawns of a side attack.
fn pawn_attacks(board: &Board, color: Color) -> Bitboard {
    board
        .by_piece(Piece { color, role: Role::Pawn })
        .into_iter()
        .fold(Bitboard::EMPTY, |all, pawn| all | attacks::pawn_attacks(color, pawn))
}

/// [`king::shield`], but only of a king on its two home ranks.
fn shield(board: &Board, color: Color) -> Tapered {
    let home = color.fold_wb([Rank::First, Rank::Second], [Rank::Eighth, Rank::Seventh]);
    let at_home = board.king_of(color).is_some_and(|king| home.contains(&king.rank()));
    if at_home { king::shield(board, color) } else { Tapered::default() }
}

/// The pieces that reach the king's square or one beside it, and each of these squares that a pawn attacks.
fn attackers(board: &Board, color: Color, pawn_attacks: Bitboard) -> Tapered {
    let Some(king) = board.king_of(color) else { return Tapered::default() };
    let zone = attacks::king_attacks(king).with(king);
    let pieces = board.by_color(!color) & !board.pawns() & !board.kings();
    let reaching = pieces.into_iter().filter(|&piece| (board.attacks_from(piece) & zone).any()).count();
    let attackers = reaching + (pawn_attacks & zone).count();
    Tapered::new(ATTACKERS[attackers.min(ATTACKERS.len() - 1)], 0)
}

/// Attacked squares, those of own pieces too, relative to the usual number. Minor pieces do not count squares that a
/// pawn attacks.
fn mobility(board: &Board, color: Color, pawn_attacks: Bitboard) -> Tapered {
    let mut score = Tapered::default();
    for (role, usual, each, avoided) in [
        (Role::Knight, 4, Tapered::new(4, 4), pawn_attacks),
        (Role::Bishop, 6, Tapered::new(5, 5), pawn_attacks),
        (Role::Rook, 7, Tapered::new(3, 7), Bitboard::EMPTY),
        (Role::Queen, 14, Tapered::new(1, 2), Bitboard::EMPTY),
    ] {
        for square in board.by_piece(Piece { color, role }) {
            score += each * (count(board.attacks_from(square) & !avoided) - usual);
        }
    }
    score
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(placement: &str) -> Board {
        placement.parse().unwrap()
    }

    #[test]
    fn pawns_attack_the_king_square_by_square() {
        // The pawn on f3 attacks e2 and g2, both beside the king on f1.
        let attacked = board("4k3/8/8/8/8/5p2/8/5K2");
        let by_pawns = pawn_attacks(&attacked, Color::Black);
        assert_eq!(attackers(&attacked, Color::White, by_pawns), Tapered::new(-20, 0));
    }

    #[test]
    fn the_shield_counts_on_the_home_ranks_only() {
        assert_eq!(shield(&board("4k3/8/8/8/8/5PPP/6K1/8"), Color::White), Tapered::new(45, 0));
        assert_eq!(shield(&board("4k3/8/8/8/5PPP/6K1/8/8"), Color::White), Tapered::default());
        assert_eq!(shield(&board("8/4k3/3ppp2/8/8/8/8/4K3"), Color::Black), Tapered::new(45, 0));
    }

    #[test]
    fn minor_pieces_avoid_pawns_and_defend_their_own() {
        // The knight on e5 reaches eight squares: its own pawn on d7 counts, d3, which a pawn attacks, does not.
        let knight = board("4k3/3P4/6p1/4N3/2p5/8/8/4K3");
        let by_pawns = pawn_attacks(&knight, Color::Black);
        assert_eq!(mobility(&knight, Color::White, by_pawns), Tapered::new((7 - 4) * 4, (7 - 4) * 4));
        // The rook on a1 defends e1.
        let rook = board("4k3/8/8/8/8/1p6/8/R3K3");
        let by_pawns = pawn_attacks(&rook, Color::Black);
        assert_eq!(mobility(&rook, Color::White, by_pawns), Tapered::new((11 - 7) * 3, (11 - 7) * 7));
    }

    #[test]
    fn the_phase_is_not_capped() {
        assert_eq!(phase(&Board::new()), 256);
        assert_eq!(phase(&board("qqqqk3/8/8/8/8/8/8/QQQQK3")), 341);
        assert_eq!(phase(&board("4k3/8/8/8/8/8/8/N3K3")), 11);
    }
}
