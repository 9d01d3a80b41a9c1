//! The hand-written evaluation, after the Chess Challenge's description. [`challenge`] is the one its levels use.
//!
//! Every term scores a middlegame and an endgame value for one colour; the difference between the colours is
//! tapered by the game phase. One file per group of terms. All integer, and symmetric in the colours.

pub mod challenge;
mod king;
mod material;
mod mobility;
mod pawns;
mod rooks;
mod squares;
mod tapered;

use shakmaty::{Board, Chess, Color, Position};
use tabia_encoding::{ForMover, ForWhite};

pub use material::material_gain;
pub use tabia_encoding::piece_value;
use tapered::Tapered;

/// The evaluation in centipawns.
pub fn evaluate(position: &Chess) -> ForMover<i32> {
    let board = position.board();
    let score = side(board, Color::White) - side(board, Color::Black);
    ForWhite(score.blend(material::phase(board))).for_mover(position.turn())
}

/// All terms of one side.
fn side(board: &Board, color: Color) -> Tapered {
    material::material(board, color)
        + material::bishop_pair(board, color)
        + squares::placement(board, color)
        + king::shield(board, color)
        + king::files(board, color)
        + king::attackers(board, color)
        + mobility::mobility(board, color)
        + pawns::passed(board, color)
        + pawns::doubled(board, color)
        + pawns::isolated(board, color)
        + rooks::on_files(board, color)
        + rooks::on_the_seventh(board, color)
}

#[cfg(test)]
mod tests {
    use shakmaty::{CastlingMode, EnPassantMode};
    use tabia_game::position_from_fen;

    use super::*;

    const POSITIONS: &str = include_str!("../../../../fixtures/positions.fen");

    /// The same position with the colours exchanged.
    fn mirrored(position: &Chess) -> Chess {
        let setup = position.to_setup(EnPassantMode::Legal).into_mirrored();
        setup.position(CastlingMode::Standard).unwrap()
    }

    #[test]
    fn both_colours_are_judged_alike() {
        let positions: Vec<Chess> = POSITIONS
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|fen| position_from_fen(fen).unwrap())
            .collect();
        assert!(positions.len() >= 200);
        for position in &positions {
            assert_eq!(evaluate(position), evaluate(&mirrored(position)));
        }
        assert!(positions.iter().any(|position| evaluate(position).0 > 100));
    }

    #[test]
    fn the_start_is_level() {
        assert_eq!(evaluate(&Chess::default()), ForMover(0));
    }

    #[test]
    fn the_score_is_the_movers() {
        let of = |fen| evaluate(&position_from_fen(fen).unwrap()).0;
        let white = of("4k3/8/8/8/8/8/8/QN2K3 w - - 0 1");
        assert_eq!(of("4k3/8/8/8/8/8/8/QN2K3 b - - 0 1"), -white);
        assert!(white > 1000);
    }

    #[test]
    fn all_terms_add_up() {
        // A bare rook ending, White to move: phase 2 of 24.
        let position = position_from_fen("4k3/8/8/8/8/8/4P3/R3K3 w - - 0 1").unwrap();
        let material = Tapered::new(600, 600);
        // a1 rook, e2 pawn, e1 king; the black king on e8 stands like the white one.
        let placement = Tapered::new(-20, 10);
        let shield = Tapered::new(15, 0);
        // d and f open for White; d and f open, e half open for Black; the rook reaches nothing near e8.
        let files = Tapered::new(-40 + 50, 0);
        let mobility = Tapered::new((10 - 7) * 3, (10 - 7) * 7);
        let passed = Tapered::new(0, 10);
        let isolated = Tapered::new(-10, -15);
        let open = Tapered::new(20, 25);
        let total = material + placement + shield + files + mobility + passed + isolated + open;
        assert_eq!(evaluate(&position).0, total.blend(2));
    }
}
