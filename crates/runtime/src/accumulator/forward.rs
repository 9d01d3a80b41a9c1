use std::array;

use super::{
    Activation,
    block::{Block, LANES, blocks},
    first_layer::FirstLayer,
    kernels::{Kernel, Lanes},
    layer::{Form, Layer, TILE},
};

/// The activations of the first layer, from its accumulator.
pub(super) struct Activate<'a> {
    pub(super) layer: &'a FirstLayer,
    pub(super) sums: &'a [Block<i32>],
    pub(super) to: &'a mut [[f32; LANES]],
}

impl Kernel for Activate<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match self.layer.activation {
            // The most common one gets a loop without a branch inside.
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

/// The sums of a layer, in the same order of operations on every level.
///
/// - [`Form::Tiles`]: an output starts from `start`; the inputs other than 0, in order, go in turn to this and to
///   a second sum, which are added at the end. Products with an input of 0 cannot change a sum, which is never
///   -0.0.
/// - [`Form::Dots`]: the products are added per lane, block by block, then lanes `i` and `i + 8`, `i + 4`,
///   `i + 2`, `i + 1`, then `start`.
pub(super) struct Sums<'a> {
    pub(super) layer: &'a Layer,
    /// The layer's bias, or the bias plus the context's part.
    pub(super) start: &'a [Block<f32>],
    pub(super) inputs: &'a [[f32; LANES]],
    /// Scratch for the indices of non-zero inputs.
    pub(super) nonzero: &'a mut [u16],
    pub(super) to: &'a mut [[f32; LANES]],
}

/// A layer: its sums and activation.
pub(super) struct Forward<'a>(pub(super) Sums<'a>);

impl Kernel for Forward<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        let Sums { layer, start, inputs, nonzero, to } = self.0;
        Sums { layer, start, inputs, nonzero, to: &mut *to }.run(lanes);
        for values in to {
            lanes.store(layer.activation.apply(lanes, lanes.load(values)), values);
        }
    }
}

impl Kernel for Sums<'_> {
    #[inline(always)]
    fn run<L: Lanes>(self, lanes: L) {
        match self.layer.form {
            Form::Tiles => self.tiles(lanes),
            Form::Dots => self.dots(lanes),
        }
    }
}

impl Sums<'_> {
    #[inline(always)]
    fn tiles<L: Lanes>(self, lanes: L) {
        let count = list_nonzero(lanes, self.inputs, self.layer.inputs, self.nonzero);
        let nonzero = &self.nonzero[..count];
        let inputs = self.inputs.as_flattened();
        let (starts, last_start) = self.start.as_chunks::<TILE>();
        let (to, last_to) = self.to.as_chunks_mut::<TILE>();
        let (weights, last_weights) = self.layer.weights.split_at(starts.len() * TILE * self.layer.inputs);
        let tiles = weights.as_chunks::<TILE>().0.chunks_exact(self.layer.inputs);
        for ((tile, start), to) in tiles.zip(starts).zip(to) {
            sum_tile(lanes, tile, start, inputs, nonzero, to);
        }
        if let ([start], [to]) = (last_start, last_to) {
            let (tile, start, to) = (last_weights.as_chunks().0, array::from_ref(start), array::from_mut(to));
            sum_tile(lanes, tile, start, inputs, nonzero, to);
        }
    }

    #[inline(always)]
    fn dots<L: Lanes>(self, lanes: L) {
        let rows = self.layer.weights.chunks_exact(blocks(self.layer.inputs));
        let start = &self.start[0].0;
        let to = &mut self.to[0];
        for (output, row) in rows.enumerate() {
            let mut sum = lanes.splat(0.0);
            for (weights, x) in row.iter().zip(self.inputs) {
                sum = lanes.add(sum, lanes.mul(lanes.load(&weights.0), lanes.load(x)));
            }
            let mut products = [0.0; LANES];
            lanes.store(sum, &mut products);
            to[output] = start[output] + sum_lanes(&products);
        }
    }
}

#[inline(always)]
fn sum_tile<L: Lanes, const W: usize>(
    lanes: L,
    weights: &[[Block<f32>; W]],
    start: &[Block<f32>; W],
    inputs: &[f32],
    nonzero: &[u16],
    to: &mut [[f32; LANES]; W],
) {
    // The same length, so that one bounds check serves both.
    let inputs = &inputs[..weights.len()];
    let mut even = [lanes.splat(0.0); W];
    let mut odd = even;
    for (sum, start) in even.iter_mut().zip(start) {
        *sum = lanes.load(&start.0);
    }
    let (pairs, last) = nonzero.as_chunks::<2>();
    for &[i, j] in pairs {
        add_input(lanes, &mut even, inputs[usize::from(i)], &weights[usize::from(i)]);
        add_input(lanes, &mut odd, inputs[usize::from(j)], &weights[usize::from(j)]);
    }
    if let &[i] = last {
        add_input(lanes, &mut even, inputs[usize::from(i)], &weights[usize::from(i)]);
    }
    for ((even, odd), to) in even.iter().zip(&odd).zip(to) {
        lanes.store(lanes.add(*even, *odd), to);
    }
}

// Not a closure, which could not be marked inline(always).
#[inline(always)]
fn add_input<L: Lanes, const W: usize>(
    lanes: L,
    sums: &mut [L::Floats; W],
    input: f32,
    weights: &[Block<f32>; W],
) {
    let x = lanes.splat(input);
    for (sum, weights) in sums.iter_mut().zip(weights) {
        *sum = lanes.add(*sum, lanes.mul(x, lanes.load(&weights.0)));
    }
}

/// The sum of sixteen lanes by halves.
#[inline(always)]
fn sum_lanes(x: &[f32; LANES]) -> f32 {
    let eight: [f32; 8] = array::from_fn(|i| x[i] + x[i + 8]);
    let four: [f32; 4] = array::from_fn(|i| eight[i] + eight[i + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

/// Writes the indices of non-zero inputs in order and returns their number. Lanes of the last block past `len` are not inputs.
#[inline(always)]
fn list_nonzero<L: Lanes>(lanes: L, inputs: &[[f32; LANES]], len: usize, places: &mut [u16]) -> usize {
    let mut count = 0;
    for (block, x) in inputs.iter().enumerate() {
        let base = block * LANES;
        let real = (len - base).min(LANES);
        let mask = lanes.nonzero(lanes.load(x)) & (u16::MAX >> (LANES - real));
        for (half, bits) in mask.to_le_bytes().into_iter().enumerate() {
            // Eight at once: the surplus is overwritten by the next.
            let first = (base + 8 * half) as u16;
            let to = &mut places[count..][..8];
            for (to, place) in to.iter_mut().zip(BIT_PLACES[usize::from(bits)]) {
                *to = first + place;
            }
            count += bits.count_ones() as usize;
        }
    }
    count
}

/// For every byte, the indices of its set bits, padded with zeros.
static BIT_PLACES: [[u16; 8]; 256] = {
    let mut table = [[0; 8]; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte][count] = bit;
                count += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};
