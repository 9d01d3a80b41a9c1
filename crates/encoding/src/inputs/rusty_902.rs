use shakmaty::{Chess, Color, Position};

use super::rusty_774::{HEAD, channel, head};
use crate::placement::placements;
use crate::reach::destinations;
use crate::sparse::{feature, write_dense};
use crate::{
    ElementKind, Encoding, EncodingId, FeatureList, InputSpec, Perspective, Perspectives, Row, Situation,
    SparseEncoding, ValueConvention,
};

/// Rusty Chess's 902 inputs: those of `rusty-774` with 14 channels for each square instead of 12.
///
/// Channels 12 and 13: destinations of White's and of Black's moves, see [`destinations`]. No network with these inputs is
/// public; they are planes 12 and 13 of the project's convolutional branch.
pub(crate) struct Rusty902;

const CHANNELS: usize = 14;

impl Encoding for Rusty902 {
    fn id(&self) -> EncodingId {
        EncodingId("rusty-902")
    }

    fn inputs(&self) -> &'static [InputSpec] {
        &[InputSpec { name: "input", shape: &[902], kind: ElementKind::Value }]
    }

    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>) {
        write_dense(self, situation.position, row.values(0));
    }

    fn value_convention(&self) -> ValueConvention {
        ValueConvention { perspective: Perspective::White, ..ValueConvention::default() }
    }

    fn sparse(&self) -> Option<&dyn SparseEncoding> {
        Some(self)
    }
}

/// A move changes destinations all over the board, so changes are the default comparison of both vectors.
impl SparseEncoding for Rusty902 {
    fn width(&self) -> usize {
        902
    }

    fn perspectives(&self) -> Perspectives {
        Perspectives::Shared
    }

    fn features(&self, position: &Chess, _perspective: Color, out: &mut FeatureList) {
        let index = |square, channel| HEAD + usize::from(square) * CHANNELS + channel;
        head(position, out);
        let pieces = placements(position.board());
        out.extend(pieces.map(|placed| feature(index(placed.square, channel(placed)), 1)));
        for (color, channel) in [(Color::White, 12), (Color::Black, 13)] {
            let reached = destinations(position, color).into_iter();
            out.extend(reached.map(|square| feature(index(square, channel), 1)));
        }
    }
}
