//! Passed, doubled and isolated pawns.

use shakmaty::{Bitboard, Board, Color, File, Piece, Rank, Role, Square};

use super::{material::count, tapered::Tapered};

const DOUBLED: Tapered = Tapered::new(-10, -20);
const ISOLATED: Tapered = Tapered::new(-10, -15);

/// One side's pawns.
fn pawns(board: &Board, color: Color) -> Bitboard {
    board.by_piece(Piece { color, role: Role::Pawn })
}

/// A file and its neighbours.
pub(super) fn files_around(file: File) -> Bitboard {
    [-1, 0, 1]
        .into_iter()
        .filter_map(|step| file.offset(step))
        .fold(Bitboard::EMPTY, |files, f| files | Bitboard::from_file(f))
}

/// The ranks in front of a square, as `color` sees it.
fn ranks_ahead(square: Square, color: Color) -> Bitboard {
    let beyond = |rank: &Rank| match color {
        Color::White => *rank > square.rank(),
        Color::Black => *rank < square.rank(),
    };
    Rank::ALL.into_iter().filter(beyond).fold(Bitboard::EMPTY, |ranks, r| ranks | Bitboard::from_rank(r))
}

/// Pawns that no enemy pawn on their own or a neighbouring file stands in front of. Worth more the further they
/// are, the further the enemy king is from the promotion square, and the nearer their own king.
pub(super) fn passed(board: &Board, color: Color) -> Tapered {
    let mut score = Tapered::default();
    let enemies = pawns(board, !color);
    for pawn in pawns(board, color) {
        if (enemies & files_around(pawn.file()) & ranks_ahead(pawn, color)).any() {
            continue;
        }
        let steps = steps_from_second_rank(pawn, color);
        let growth = steps * (steps - 1).max(0);
        let promotion = Square::from_coords(pawn.file(), color.fold_wb(Rank::Eighth, Rank::First));
        let endgame = 10 * (growth + steps + 1) + 5 * steps * distance(board.king_of(!color), promotion)
            - 2 * steps * distance(board.king_of(color), pawn);
        score += Tapered::new(15 * growth, endgame);
    }
    score
}

fn steps_from_second_rank(pawn: Square, color: Color) -> i32 {
    let second = color.fold_wb(Rank::Second, Rank::Seventh);
    i32::try_from(pawn.rank().distance(second)).expect("at most five")
}

/// King moves between two squares.
fn distance(king: Option<Square>, square: Square) -> i32 {
    king.map_or(0, |king| i32::try_from(king.distance(square)).expect("at most seven"))
}

/// Every pawn on a file after the first.
pub(super) fn doubled(board: &Board, color: Color) -> Tapered {
    let own = pawns(board, color);
    let extra: i32 =
        File::ALL.into_iter().map(|file| (count(own & Bitboard::from_file(file)) - 1).max(0)).sum();
    DOUBLED * extra
}

/// Every file with pawns whose neighbouring files have none.
pub(super) fn isolated(board: &Board, color: Color) -> Tapered {
    let own = pawns(board, color);
    let alone = |file: &File| {
        let here = Bitboard::from_file(*file);
        (own & here).any() && (own & files_around(*file) & !here).is_empty()
    };
    let files = File::ALL.into_iter().filter(alone).count();
    ISOLATED * i32::try_from(files).expect("at most eight")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn board(placement: &str) -> Board {
        placement.parse().unwrap()
    }

    #[test]
    fn a_passed_pawn_grows_towards_promotion() {
        // e5: three steps, growth 6; the black king is 2 from e8, the white king 4 from e5.
        let fifth = board("8/6k1/8/4P3/8/8/8/4K3");
        let expected = Tapered::new(90, 10 * (6 + 3 + 1) + 5 * 3 * 2 - 2 * 3 * 4);
        assert_eq!(passed(&fifth, Color::White), expected);
        assert_eq!(passed(&fifth, Color::Black), Tapered::default());
        // On its first square only the base remains; one step on there is still no growth.
        assert_eq!(passed(&board("8/6k1/8/8/8/8/4P3/4K3"), Color::White), Tapered::new(0, 10));
        let third = Tapered::new(0, 10 * 2 + 5 * 2 - 2 * 2);
        assert_eq!(passed(&board("8/6k1/8/8/8/4P3/8/4K3"), Color::White), third);
        // The same for Black, seen from the other end.
        assert_eq!(passed(&board("4k3/8/8/8/4p3/8/6K1/8"), Color::Black), expected);
    }

    #[test]
    fn enemy_pawns_ahead_on_three_files_hold_a_pawn_back() {
        for held in ["4k3/3p4/8/4P3/8/8/8/4K3", "4k3/4p3/8/4P3/8/8/8/4K3", "4k3/8/5p2/4P3/8/8/8/4K3"] {
            assert_eq!(passed(&board(held), Color::White), Tapered::default(), "{held}");
        }
        for free in ["4k3/2p5/8/4P3/8/8/8/4K3", "4k3/8/8/3pP3/8/8/8/4K3", "4k3/8/8/4P3/5p2/8/8/4K3"] {
            assert_ne!(passed(&board(free), Color::White), Tapered::default(), "{free}");
        }
    }

    #[test]
    fn each_extra_pawn_on_a_file_is_doubled() {
        let tripled = board("4k3/8/8/8/4P3/4P3/PPP1P3/4K3");
        assert_eq!(doubled(&tripled, Color::White), Tapered::new(-20, -40));
        assert_eq!(doubled(&tripled, Color::Black), Tapered::default());
    }

    #[test]
    fn a_file_without_neighbours_is_isolated_once() {
        let pawns = board("4k3/7p/8/8/4P3/4P3/PP6/4K3");
        assert_eq!(isolated(&pawns, Color::White), Tapered::new(-10, -15), "e2 and e3 are one file");
        assert_eq!(isolated(&pawns, Color::Black), Tapered::new(-10, -15));
        assert_eq!(isolated(&Board::new(), Color::White), Tapered::default());
    }
}
