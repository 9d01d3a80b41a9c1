//! King safety, in the middlegame only.

use shakmaty::{Bitboard, Board, Color, Piece, Role, attacks};

use super::{material::count, pawns::files_around, tapered::Tapered};

const SHIELD: i32 = 15;
const OPEN_FILE: i32 = -20;
const HALF_OPEN_FILE: i32 = -10;
/// By the number of attackers; more than six are no worse than six.
pub(super) const ATTACKERS: [i32; 7] = [0, -5, -20, -45, -80, -120, -160];

/// Own pawns on the three squares in front of the king.
pub(super) fn shield(board: &Board, color: Color) -> Tapered {
    let Some(king) = board.king_of(color) else { return Tapered::default() };
    let pawns = board.by_piece(Piece { color, role: Role::Pawn });
    let Some(rank) = king.rank().offset(color.fold_wb(1, -1)) else { return Tapered::default() };
    let front = Bitboard::from_rank(rank) & files_around(king.file());
    Tapered::new(SHIELD * count(pawns & front), 0)
}

/// The king's file and its neighbours: open without any pawn, half open without one of the king's own.
pub(super) fn files(board: &Board, color: Color) -> Tapered {
    let Some(king) = board.king_of(color) else { return Tapered::default() };
    let own = board.by_color(color);
    let exposure: i32 = [-1, 0, 1]
        .into_iter()
        .filter_map(|step| king.file().offset(step))
        .map(|file| {
            let pawns = board.pawns() & Bitboard::from_file(file);
            if pawns.is_empty() {
                OPEN_FILE
            } else if (pawns & own).is_empty() {
                HALF_OPEN_FILE
            } else {
                0
            }
        })
        .sum();
    Tapered::new(exposure, 0)
}

/// Enemy knights, bishops, rooks and queens that attack the king's square or one beside it.
pub(super) fn attackers(board: &Board, color: Color) -> Tapered {
    let Some(king) = board.king_of(color) else { return Tapered::default() };
    let zone = attacks::king_attacks(king).with(king);
    let pieces = board.by_color(!color) & !board.pawns() & !board.kings();
    let attackers = pieces.into_iter().filter(|&piece| (board.attacks_from(piece) & zone).any()).count();
    Tapered::new(ATTACKERS[attackers.min(ATTACKERS.len() - 1)], 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(placement: &str) -> Board {
        placement.parse().unwrap()
    }

    #[test]
    fn pawns_right_before_the_king_shield_it() {
        let castled = board("6k1/5pp1/7p/8/8/8/5PPP/6K1");
        assert_eq!(shield(&castled, Color::White), Tapered::new(45, 0));
        assert_eq!(shield(&castled, Color::Black), Tapered::new(30, 0), "h6 is too far");
        assert_eq!(shield(&board("6K1/5PPP/8/8/8/8/8/k7"), Color::White), Tapered::default());
    }

    #[test]
    fn files_without_own_pawns_expose_the_king() {
        // f: open, g: half open, h: closed.
        let exposed = board("6k1/6p1/8/8/8/8/7P/6K1");
        assert_eq!(files(&exposed, Color::White), Tapered::new(-30, 0));
        // On the edge only two files count: the open a-file and b-file.
        assert_eq!(files(&board("6k1/8/8/8/8/8/7P/K7"), Color::White), Tapered::new(-40, 0));
    }

    #[test]
    fn pieces_that_reach_the_kings_surroundings_attack_it() {
        let zone = |placement| attackers(&board(placement), Color::White).middlegame;
        assert_eq!(zone("k7/8/8/8/8/8/6PP/7K"), 0);
        assert_eq!(zone("k5r1/8/8/8/8/8/6PP/7K"), -5, "the rook reaches g2");
        assert_eq!(zone("k5r1/8/8/6p1/8/8/6PP/7K"), 0, "its own pawn is in the way");
        assert_eq!(zone("k5rr/8/8/8/8/8/8/7K"), -20);
        assert_eq!(
            zone("k5rr/8/8/8/3q4/6n1/4b3/7K"),
            -45,
            "neither the bishop nor the rook behind the knight"
        );
        assert_eq!(attackers(&board("k5r1/8/8/8/8/8/6PP/7K"), Color::Black), Tapered::default());
    }

    #[test]
    fn more_than_six_attackers_are_no_worse() {
        let many = board("k5rr/1b6/1b6/8/5n2/8/q7/2r4K");
        assert_eq!(attackers(&many, Color::White), Tapered::new(-160, 0));
    }
}
