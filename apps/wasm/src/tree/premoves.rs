use std::collections::BTreeMap;

use shakmaty::{
    Bitboard, CastlingMode, CastlingSide, Chess, Color, Piece, Position, Rank, Role, Square, attacks,
};

use super::Destinations;

/// Where each piece of a side could ever go in one move, whatever the other side does first: over pieces, onto its own
/// (they may be taken), pawns also sideways.
pub(super) fn destinations(position: &Chess, side: Color) -> Destinations {
    let mut targets = BTreeMap::new();
    for from in position.board().by_color(side) {
        let Some(piece) = position.board().piece_at(from) else { continue };
        let mut reached = reach(piece, from);
        if piece.role == Role::King {
            reached |= castling(position, side);
        }
        reached.discard(from);
        if !reached.is_empty() {
            targets.insert(from.to_string(), reached.into_iter().map(|to| to.to_string()).collect());
        }
    }
    Destinations(targets)
}

fn reach(piece: Piece, from: Square) -> Bitboard {
    if piece.role != Role::Pawn {
        return attacks::attacks(from, piece, Bitboard::EMPTY);
    }
    let forward = piece.color.fold_wb(8, -8);
    let mut reached = attacks::pawn_attacks(piece.color, from);
    reached.extend(from.offset(forward));
    if from.rank() == piece.color.fold_wb(Rank::Second, Rank::Seventh) {
        reached.extend(from.offset(2 * forward));
    }
    reached
}

/// The squares a king castles to, as moves name them.
fn castling(position: &Chess, side: Color) -> Bitboard {
    let mut targets = Bitboard::EMPTY;
    for wing in CastlingSide::ALL {
        let Some(rook) = position.castles().rook(side, wing) else { continue };
        targets.add(match position.castles().mode() {
            CastlingMode::Standard => Square::from_coords(wing.king_to_file(), side.backrank()),
            CastlingMode::Chess960 => rook,
        });
    }
    targets
}

#[cfg(test)]
mod tests {
    use tabia_game::position_from_fen;

    use super::*;

    fn from(fen: &str, side: Color, square: &str) -> Vec<String> {
        let all = destinations(&position_from_fen(fen).unwrap(), side).0;
        all.get(square).cloned().unwrap_or_default()
    }

    #[test]
    fn premoves_see_no_pieces_in_the_way() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        assert_eq!(from(start, Color::Black, "e7"), ["e5", "d6", "e6", "f6"]);
        assert_eq!(from(start, Color::Black, "a8").len(), 14);
        assert_eq!(from(start, Color::White, "b1"), ["d2", "a3", "c3"]);
        assert_eq!(from(start, Color::White, "e1"), ["c1", "d1", "f1", "g1", "d2", "e2", "f2"]);
        assert!(from(start, Color::White, "e7").is_empty());
    }

    #[test]
    fn a_king_without_rights_does_not_castle() {
        assert_eq!(from("4k3/8/8/8/8/8/8/R3K2R w - - 0 1", Color::White, "e1").len(), 5);
        assert_eq!(from("4k3/8/8/8/8/8/8/R3K2R w Q - 0 1", Color::White, "e1").len(), 6);
    }
}
