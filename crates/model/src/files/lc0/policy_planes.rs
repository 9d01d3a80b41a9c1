//! The mapping from the planes of a convolutional policy head to the `lc0-1858` vocabulary.
//!
//! A plane is a type of move, indexed by the origin square from the mover's side: 56 planes of queen moves (eight directions,
//! clockwise from straight ahead, by one to seven squares), 8 of knight moves (clockwise from two ahead, one right), and 9 of
//! promotions (capture left, straight, capture right; each rook, bishop, queen). A knight promotion is the plain pawn move.

use shakmaty::{Color, Move, Rank, Role, Square};

use super::refuse;
use crate::{LoadError, LoadErrorKind};

/// Used planes; lc0 rounds up to 80.
pub(super) const USED_PLANES: usize = 73;

/// Steps of file and rank, clockwise from straight ahead.
const QUEEN_STEPS: [(i32, i32); 8] = [(0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1)];
const KNIGHT_STEPS: [(i32, i32); 8] =
    [(1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)];

/// For each index of the vocabulary, `plane * 64 + origin`.
pub(super) fn elements() -> Result<Vec<i64>, LoadError> {
    let unknown = |what: &str| refuse(LoadErrorKind::UnknownNetwork, what);
    let vocabulary =
        tabia_encoding::vocabulary("lc0-1858").ok_or_else(|| unknown("no move vocabulary lc0-1858"))?;
    let mut elements = vec![None; vocabulary.width()];
    for (plane, (step, promotion)) in kinds().enumerate() {
        for from in Square::ALL {
            if promotion.is_some() && from.rank() != Rank::Seventh {
                continue;
            }
            let Some(to) = offset(from, step) else { continue };
            // The index does not depend on the piece.
            let role = if promotion.is_some() { Role::Pawn } else { Role::Queen };
            let m = Move::Normal { role, from, capture: None, to, promotion };
            let index = usize::from(vocabulary.slot(Color::White, m).index.0);
            if let Some(element) = elements.get_mut(index) {
                *element = i64::try_from(plane * 64 + usize::from(from)).ok();
            }
        }
    }
    let unmapped = || unknown("the lc0-1858 vocabulary has a move without a policy plane");
    elements.into_iter().map(|element| element.ok_or_else(unmapped)).collect()
}

/// The step and promotion of each plane, in order.
fn kinds() -> impl Iterator<Item = ((i32, i32), Option<Role>)> {
    let queen = QUEEN_STEPS.into_iter().flat_map(|(x, y)| (1..=7).map(move |n| ((x * n, y * n), None)));
    let knight = KNIGHT_STEPS.into_iter().map(|step| (step, None));
    let promotions = [-1, 0, 1]
        .into_iter()
        .flat_map(|x| [Role::Rook, Role::Bishop, Role::Queen].map(|role| ((x, 1), Some(role))));
    queen.chain(knight).chain(promotions)
}

fn offset(from: Square, (files, ranks): (i32, i32)) -> Option<Square> {
    Some(Square::from_coords(from.file().offset(files)?, from.rank().offset(ranks)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapping_is_a_bijection() {
        assert_eq!(kinds().count(), USED_PLANES);
        let mut elements = elements().unwrap();
        assert_eq!(elements.len(), 1858);
        elements.sort_unstable();
        elements.dedup();
        assert_eq!(elements.len(), 1858);
        assert!(elements.iter().all(|&e| (0..USED_PLANES as i64 * 64).contains(&e)));
    }

    #[test]
    fn mapping_matches_the_public_table() {
        let elements = elements().unwrap();
        // (index of the move, plane, square of origin)
        for (index, plane, square) in [
            (7, 0, Square::A1),     // a1a2
            (204, 0, Square::A2),   // a2a3
            (22, 13, Square::A1),   // a1h8
            (0, 14, Square::A1),    // a1b1
            (1598, 34, Square::A8), // a8a1
            (1792, 69, Square::A7), // a7a8q
            (1793, 67, Square::A7), // a7a8r
            (1795, 72, Square::A7), // a7b8q
            (1796, 70, Square::A7), // a7b8r
            (1797, 71, Square::A7), // a7b8b
            (1855, 69, Square::H7), // h7h8q
        ] {
            assert_eq!(elements[index], plane * 64 + square as i64, "move {index}");
        }
    }
}
