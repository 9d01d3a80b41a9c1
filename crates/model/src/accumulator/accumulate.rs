use super::{
    Activation,
    block::{Block, LANES},
    first_layer::FirstLayer,
    kernels::{Kernel, Lanes},
};

/// Blocks summed in registers while the rows of a long list are walked through.
const TILE: usize = 4;

/// First-layer sums `from`, plus the rows `added`, minus the rows `removed`.
pub(super) struct Accumulate<'a> {
    pub(super) layer: &'a FirstLayer,
    pub(super) from: &'a [Block<i32>],
    pub(super) added: &'a [u16],
    pub(super) removed: &'a [u16],
    pub(super) to: &'a mut [Block<i32>],
}

impl Kernel for Accumulate<'_> {
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

impl Accumulate<'_> {
    #[inline(always)]
    fn fused<L: Lanes, const A: usize, const R: usize>(self, lanes: L, added: [u16; A], removed: [u16; R]) {
        let added = added.map(|feature| self.layer.row(feature));
        let removed = removed.map(|feature| self.layer.row(feature));
        for (block, (from, to)) in self.from.iter().zip(self.to).enumerate() {
            let mut sum = lanes.load_ints(&from.0);
            for row in added {
                sum = lanes.add_ints(sum, lanes.load_ints(&row[block].0));
            }
            for row in removed {
                sum = lanes.sub_ints(sum, lanes.load_ints(&row[block].0));
            }
            lanes.store_ints(sum, &mut to.0);
        }
    }

    #[inline(always)]
    fn generic<L: Lanes>(self, lanes: L) {
        let (from_tiles, from_rest) = self.from.as_chunks::<TILE>();
        let (to_tiles, to_rest) = self.to.as_chunks_mut::<TILE>();
        for (tile, (from, to)) in from_tiles.iter().zip(to_tiles).enumerate() {
            generic_tile(lanes, self.layer, tile * TILE, from, self.added, self.removed, to);
        }
        let done = from_tiles.len() * TILE;
        for (block, (from, to)) in from_rest.iter().zip(to_rest).enumerate() {
            let (from, to) = (std::array::from_ref(from), std::array::from_mut(to));
            generic_tile(lanes, self.layer, done + block, from, self.added, self.removed, to);
        }
    }
}

#[inline(always)]
fn generic_tile<L: Lanes, const W: usize>(
    lanes: L,
    layer: &FirstLayer,
    first: usize,
    from: &[Block<i32>; W],
    added: &[u16],
    removed: &[u16],
    to: &mut [Block<i32>; W],
) {
    let mut sums = [lanes.load_ints(&from[0].0); W];
    for (sum, from) in sums.iter_mut().zip(from) {
        *sum = lanes.load_ints(&from.0);
    }
    for &feature in added {
        let row = &layer.row(feature)[first..][..W];
        for (sum, weights) in sums.iter_mut().zip(row) {
            *sum = lanes.add_ints(*sum, lanes.load_ints(&weights.0));
        }
    }
    for &feature in removed {
        let row = &layer.row(feature)[first..][..W];
        for (sum, weights) in sums.iter_mut().zip(row) {
            *sum = lanes.sub_ints(*sum, lanes.load_ints(&weights.0));
        }
    }
    for (sum, to) in sums.iter().zip(to) {
        lanes.store_ints(*sum, &mut to.0);
    }
}

/// First-layer sums as the numbers the next layer takes.
pub(super) struct Activate<'a> {
    pub(super) layer: &'a FirstLayer,
    pub(super) sums: &'a [Block<i32>],
    pub(super) to: &'a mut [[f32; LANES]],
}

impl Kernel for Activate<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match self.layer.activation {
            // The usual one gets a loop of its own, without a choice inside.
            Activation::Relu => self.each(lanes, Activation::Relu),
            other => self.each(lanes, other),
        }
    }
}

impl Activate<'_> {
    #[inline(always)]
    fn each<L: Lanes>(self, lanes: L, activation: Activation) {
        for ((sum, step), to) in self.sums.iter().zip(&self.layer.steps).zip(self.to) {
            let x = lanes.mul(lanes.to_floats(lanes.load_ints(&sum.0)), lanes.load(&step.0));
            lanes.store(activation.apply(lanes, x), to);
        }
    }
}
