use arrayvec::ArrayVec;
use shakmaty::{Chess, Color, Move, Position};

/// One non-zero input element, or one change of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Feature {
    /// Which element.
    pub index: u16,
    /// Its value, or by how much it changes. Always a small integer, so that sums are exact.
    pub amount: i8,
}

/// A short list of features without heap memory. No encoding has more than 256 at once.
pub type FeatureList = ArrayVec<Feature, 256>;

/// A feature, from an index as arrays have it.
pub(crate) fn feature(index: usize, amount: i8) -> Feature {
    Feature { index: index as u16, amount }
}

/// Writes the vector the side to move sees.
pub(crate) fn write_dense(encoding: &impl SparseEncoding, position: &Chess, out: &mut [f32]) {
    let mut features = FeatureList::new();
    encoding.features(position, position.turn(), &mut features);
    for Feature { index, amount } in features {
        out[usize::from(index)] = f32::from(amount);
    }
}

/// For how many viewers a sparse encoding has a vector of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Viewers {
    /// The vector does not depend on who looks: one accumulator is enough.
    Shared,
    /// White and Black see different vectors: keep one accumulator each and use the side to move's.
    Each,
}

/// An encoding whose input is a sparse vector of small integers, most of which survive a move.
///
/// The sum of first-layer weights over the features can then be kept up to date by the few features a move
/// changes. The dense row that [`Encoding::encode`](crate::Encoding::encode) writes to input
/// [`input`](SparseEncoding::input) is exactly this vector, seen by the side to move.
pub trait SparseEncoding: Send + Sync {
    /// Length of the vector.
    fn width(&self) -> usize;

    /// Which input of the encoding the vector is. Other inputs do not depend on the position to encode.
    fn input(&self) -> usize {
        0
    }

    /// Whether White and Black see different vectors.
    fn viewers(&self) -> Viewers;

    /// For each element of the vector that the other viewer sees, its place in the viewer's own. `None` where the one
    /// does not follow from the other, or where who is to move changes a viewer's vector.
    fn other_view(&self) -> Option<Vec<u16>> {
        None
    }

    /// Appends the non-zero elements of the vector that `viewer` sees, in no particular order, each index once.
    fn features(&self, position: &Chess, viewer: Color, out: &mut FeatureList);

    /// Appends what the legal move `m` from `before` to `after` changes in the vector that `viewer` sees.
    /// An index may occur more than once; the amounts add up.
    ///
    /// The default compares the two vectors; encodings in which a move touches few squares do better.
    fn changes(&self, before: &Chess, m: Move, after: &Chess, viewer: Color, out: &mut FeatureList) {
        let _ = m;
        let (mut old, mut new) = (FeatureList::new(), FeatureList::new());
        self.features(before, viewer, &mut old);
        self.features(after, viewer, &mut new);
        old.sort_unstable();
        new.sort_unstable();
        let (mut i, mut j) = (0, 0);
        while i < old.len() || j < new.len() {
            let (a, b) = (old.get(i), new.get(j));
            match (a, b) {
                (Some(a), Some(b)) if a == b => (i, j) = (i + 1, j + 1),
                (Some(a), b) if b.is_none_or(|b| a.index <= b.index) => {
                    out.push(Feature { index: a.index, amount: -a.amount });
                    i += 1;
                }
                (_, Some(b)) => {
                    out.push(*b);
                    j += 1;
                }
                (_, None) => break,
            }
        }
    }
}
