use arrayvec::ArrayVec;
use shakmaty::{Chess, Color, Move, Position};

/// A non-zero element of a sparse input, or a change of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Feature {
    /// Its index in the input.
    pub index: u16,
    /// Its value or change: a small integer, so that sums are exact.
    pub amount: i8,
}

/// Features on the stack. No encoding has more than 256 at once.
pub type FeatureList = ArrayVec<Feature, 256>;

pub(crate) fn feature(index: usize, amount: i8) -> Feature {
    Feature { index: index as u16, amount }
}

/// Writes the dense vector of the side to move.
pub(crate) fn write_dense(encoding: &impl SparseEncoding, position: &Chess, out: &mut [f32]) {
    let mut features = FeatureList::new();
    encoding.features(position, position.turn(), &mut features);
    for Feature { index, amount } in features {
        out[usize::from(index)] = f32::from(amount);
    }
}

/// How many accumulators a sparse encoding needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Perspectives {
    /// One: the features do not depend on the perspective.
    Shared,
    /// One for White and one for Black; the side to move's is evaluated.
    PerSide,
}

/// An encoding whose input is a sparse vector of small integers, for incrementally updated accumulators.
///
/// The dense row that [`Encoding::encode`](crate::Encoding::encode) writes to input [`input`](SparseEncoding::input) is this
/// vector from the perspective of the side to move.
pub trait SparseEncoding: Send + Sync {
    /// Length of the vector.
    fn width(&self) -> usize;

    /// Which input of the encoding the vector is. Other inputs do not depend on the position to encode.
    fn input(&self) -> usize {
        0
    }

    /// Whether White and Black have different vectors.
    fn perspectives(&self) -> Perspectives;

    /// The permutation from one perspective to the other: for each element of the opponent's vector, its index in the own
    /// one. `None` where there is none, or where the side to move is part of the features.
    fn other_view(&self) -> Option<Vec<u16>> {
        None
    }

    /// Appends the non-zero elements from a perspective, in any order, each index once.
    fn features(&self, position: &Chess, perspective: Color, out: &mut FeatureList);

    /// Appends what the legal move `m` from `before` to `after` changes from a perspective. Amounts of repeated indices add
    /// up.
    ///
    /// The default compares the two vectors; override it where a move touches few squares.
    fn changes(&self, before: &Chess, m: Move, after: &Chess, perspective: Color, out: &mut FeatureList) {
        let _ = m;
        let (mut old, mut new) = (FeatureList::new(), FeatureList::new());
        self.features(before, perspective, &mut old);
        self.features(after, perspective, &mut new);
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
