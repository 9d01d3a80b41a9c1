//! A fixed move order, which breaks ties between equally good moves.
//!
//! Moves that win material come first: MVV-LVA, promotions included. Within that, and among all other moves, the order is that of the from-square and then
//! of the to-square, a1 b1 ... h8 as the side to move sees the board; castling goes to where the king lands. So the
//! order depends on nothing but the position, and is the same for both colours.

use std::cmp::Reverse;

use shakmaty::{Chess, Color, Move, MoveList, Position, Square};
use tabia_game::History;
use tabia_search::{Limits, SearchError, material_gain, piece_value};

/// Whether a quiescence search follows the move: captures, en passant included, and promotions.
pub(crate) fn is_tactical(m: Move) -> bool {
    m.is_capture() || m.is_promotion()
}

/// All legal moves, in the fixed order.
pub(crate) fn legal_moves(position: &Chess) -> MoveList {
    let mut moves = position.legal_moves();
    moves.sort_unstable_by_key(|&m| place(m, position.turn()));
    moves
}

/// The legal moves a player may choose from, in the fixed order; at least one.
pub(crate) fn candidates(game: &History, limits: &Limits) -> Result<Vec<Move>, SearchError> {
    let legal = legal_moves(game.current());
    if legal.is_empty() {
        return Err(SearchError::GameOver);
    }
    let wanted = |m: &Move| limits.search_moves.is_empty() || limits.search_moves.contains(m);
    let candidates: Vec<Move> = legal.into_iter().filter(wanted).collect();
    if candidates.is_empty() { Err(SearchError::NoSuchMove) } else { Ok(candidates) }
}

/// Sorts moves by score, the best first; equals stay in order. By insertion: moves are few, and the page's download is
/// smaller without another instance of the standard sort.
pub(crate) fn best_first<T: PartialOrd>(scored: &mut [(Move, T)]) {
    for end in 1..scored.len() {
        let mut place = end;
        while place > 0 && scored[place - 1].1 < scored[place].1 {
            scored.swap(place - 1, place);
            place -= 1;
        }
    }
}

/// Where a move stands in the fixed order: no two legal moves stand in the same place.
pub(crate) fn place(m: Move, turn: Color) -> (Reverse<i32>, i32, Square, Square) {
    let seen = |square: Square| if turn.is_white() { square } else { square.flip_vertical() };
    let piece = if is_tactical(m) { piece_value(m.role()) } else { 0 };
    let to = m.castling_side().map_or(m.to(), |side| side.king_to(turn));
    (Reverse(material_gain(m)), piece, seen(m.from().expect("no move drops a piece")), seen(to))
}

#[cfg(test)]
mod tests {
    use shakmaty::{CastlingMode, EnPassantMode};
    use tabia_game::position_from_fen;

    use super::*;

    const POSITIONS: &str = include_str!("../../../fixtures/positions.fen");

    fn positions() -> impl Iterator<Item = Chess> {
        let fens = POSITIONS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        fens.map(|fen| position_from_fen(fen).unwrap())
    }

    fn in_order(fen: &str) -> Vec<String> {
        let moves = legal_moves(&position_from_fen(fen).unwrap());
        moves.iter().map(|m| m.to_uci(CastlingMode::Standard).to_string()).collect()
    }

    #[test]
    fn gains_come_first_and_squares_decide() {
        // exd6 takes a pawn in passing, b8 promotes; the king can castle.
        let moves = in_order("7k/1P6/8/3pP3/8/8/8/R3K3 w Q d6 0 1");
        assert_eq!(moves[..5], ["b7b8q", "b7b8r", "b7b8b", "b7b8n", "e5d6"]);
        assert_eq!(moves[5..8], ["a1b1", "a1c1", "a1d1"]);
        let castling = moves.iter().position(|m| m == "e1c1").unwrap();
        assert_eq!(moves[castling + 1], "e1d1", "castling stands where the king lands");
    }

    #[test]
    fn the_least_valuable_piece_takes_first() {
        let moves = in_order("3qk3/8/8/8/8/8/8/Q2R1K2 w - - 0 1");
        assert_eq!(moves[0], "d1d8");
        let moves = in_order("1r2k3/8/8/1q6/2P5/8/8/1R3K2 w - - 0 1");
        assert_eq!(moves[..2], ["c4b5", "b1b5"]);
    }

    #[test]
    fn no_two_moves_share_a_place() {
        for position in positions() {
            let moves = legal_moves(&position);
            let places: Vec<_> = moves.iter().map(|&m| place(m, position.turn())).collect();
            assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }

    #[test]
    fn both_colours_have_the_same_order() {
        for position in positions() {
            let setup = position.to_setup(EnPassantMode::Legal).into_mirrored();
            let mirrored: Chess = setup.position(CastlingMode::Standard).unwrap();
            let there: Vec<_> = legal_moves(&mirrored).iter().map(|m| m.to().flip_vertical()).collect();
            let here: Vec<_> = legal_moves(&position).iter().map(|m| m.to()).collect();
            assert_eq!(here, there);
        }
    }
}
