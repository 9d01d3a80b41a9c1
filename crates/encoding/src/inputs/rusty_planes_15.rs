use shakmaty::{Color, Position, Square};

use crate::placement::{placements, role_index};
use crate::reach::destinations;
use crate::{ElementKind, Encoding, EncodingId, InputSpec, Perspective, Row, Situation, ValueConvention};

/// Rusty Chess's 15 planes for a convolutional net: White's P N B R Q K, Black's, destinations of White's
/// and of Black's moves as in `rusty-902`, and ones if White is to move.
///
/// The plain board from the 8th rank down, files a to h. White comes first here, unlike in the flat encodings; so does the
/// original.
pub(crate) struct RustyPlanes15;

fn index(plane: usize, square: Square) -> usize {
    plane * 64 + usize::from(square.flip_vertical())
}

impl Encoding for RustyPlanes15 {
    fn id(&self) -> EncodingId {
        EncodingId("rusty-planes-15")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[InputSpec { name: "planes", shape: &[15, 8, 8], kind: ElementKind::Value }]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        let position = situation.position;
        let values = row.values(0);
        for placed in placements(position.board()) {
            let plane = placed.piece.color.fold_wb(0, 6) + role_index(placed.piece.role);
            values[index(plane, placed.square)] = 1.0;
        }
        for (color, plane) in [(Color::White, 12), (Color::Black, 13)] {
            for square in destinations(position, color) {
                values[index(plane, square)] = 1.0;
            }
        }
        values[14 * 64..].fill(position.turn().fold_wb(1.0, 0.0));
    }

    fn value_convention(&self) -> ValueConvention {
        ValueConvention { perspective: Perspective::White, ..ValueConvention::default() }
    }
}
