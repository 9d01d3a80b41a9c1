use super::{
    block::Block,
    kernels::{Kernel, Lanes},
};

/// Blocks summed in registers while the rows of a long list are added.
const TILE: usize = 4;

/// A block of accumulator sums and how a row of weights is added to it, wrapping around.
pub(super) trait SumBlock: Copy {
    type Sum<L: Lanes>: Copy;
    fn load<L: Lanes>(&self, lanes: L) -> Self::Sum<L>;
    fn add<L: Lanes>(lanes: L, sum: &mut Self::Sum<L>, weights: &Self);
    fn sub<L: Lanes>(lanes: L, sum: &mut Self::Sum<L>, weights: &Self);
    fn store<L: Lanes>(&mut self, lanes: L, sum: Self::Sum<L>);
}

impl SumBlock for Block<i32> {
    type Sum<L: Lanes> = L::Ints;

    #[inline(always)]
    fn load<L: Lanes>(&self, lanes: L) -> L::Ints {
        lanes.load_ints(&self.0)
    }

    #[inline(always)]
    fn add<L: Lanes>(lanes: L, sum: &mut L::Ints, weights: &Self) {
        *sum = lanes.add_ints(*sum, lanes.load_ints(&weights.0));
    }

    #[inline(always)]
    fn sub<L: Lanes>(lanes: L, sum: &mut L::Ints, weights: &Self) {
        *sum = lanes.sub_ints(*sum, lanes.load_ints(&weights.0));
    }

    #[inline(always)]
    fn store<L: Lanes>(&mut self, lanes: L, sum: L::Ints) {
        lanes.store_ints(sum, &mut self.0);
    }
}

/// An accumulator from another one: `from`, plus the rows of `added` features, minus the rows of `removed` ones.
pub(super) struct Update<'a, B> {
    /// The weights of each feature, as many blocks as `from`.
    pub(super) rows: &'a [B],
    pub(super) from: &'a [B],
    pub(super) added: &'a [u16],
    pub(super) removed: &'a [u16],
    pub(super) to: &'a mut [B],
}

impl<B: SumBlock> Kernel for Update<'_, B> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        // A quiet move, a capture, castling, and the same with the side to move among the features.
        match (self.added, self.removed) {
            (&[a], &[r]) => self.fused(lanes, [a], [r]),
            (&[a], &[r, s]) => self.fused(lanes, [a], [r, s]),
            (&[a, b], &[r]) => self.fused(lanes, [a, b], [r]),
            (&[a, b], &[r, s]) => self.fused(lanes, [a, b], [r, s]),
            (&[a, b], &[r, s, t]) => self.fused(lanes, [a, b], [r, s, t]),
            _ => self.generic(lanes),
        }
    }
}

impl<'a, B: SumBlock> Update<'a, B> {
    #[inline(always)]
    fn row(&self, feature: u16) -> &'a [B] {
        let width = self.from.len();
        &self.rows[usize::from(feature) * width..][..width]
    }

    #[inline(always)]
    fn fused<L: Lanes, const A: usize, const R: usize>(self, lanes: L, added: [u16; A], removed: [u16; R]) {
        let added = added.map(|feature| self.row(feature));
        let removed = removed.map(|feature| self.row(feature));
        for (block, (from, to)) in self.from.iter().zip(self.to).enumerate() {
            let mut sum = from.load(lanes);
            for row in added {
                B::add(lanes, &mut sum, &row[block]);
            }
            for row in removed {
                B::sub(lanes, &mut sum, &row[block]);
            }
            to.store(lanes, sum);
        }
    }

    #[inline(always)]
    fn generic<L: Lanes>(mut self, lanes: L) {
        let tiles = self.from.len() / TILE;
        for tile in 0..tiles {
            self.tile::<L, TILE>(lanes, tile * TILE);
        }
        for block in tiles * TILE..self.from.len() {
            self.tile::<L, 1>(lanes, block);
        }
    }

    /// `W` blocks from `first` on.
    #[inline(always)]
    fn tile<L: Lanes, const W: usize>(&mut self, lanes: L, first: usize) {
        let mut sums = [self.from[first].load(lanes); W];
        for (sum, from) in sums.iter_mut().zip(&self.from[first..]) {
            *sum = from.load(lanes);
        }
        for &feature in self.added {
            for (sum, weights) in sums.iter_mut().zip(&self.row(feature)[first..][..W]) {
                B::add(lanes, sum, weights);
            }
        }
        for &feature in self.removed {
            for (sum, weights) in sums.iter_mut().zip(&self.row(feature)[first..][..W]) {
                B::sub(lanes, sum, weights);
            }
        }
        for (sum, to) in sums.iter().zip(&mut self.to[first..]) {
            to.store(lanes, *sum);
        }
    }
}
