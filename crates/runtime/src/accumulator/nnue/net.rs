use tabia_encoding::SparseEncoding;

use super::{
    ActivationPower, NnueGraph,
    block::{Block, LANES, ZERO, blocks},
};
use crate::accumulator::Linear;

/// Maximum pieces on a board, and so features of a perspective.
const MAX_PIECES: usize = 32;

/// Bound of the accumulators, with room for the rounding of every weight and the bias.
const RANGE: f64 = i16::MAX as f64 - (MAX_PIECES / 2 + 1) as f64;

/// Maximum quantisation of 1. [`SQUARE_SHIFT`] more bits still fit 16.
const MAX_STEPS: f64 = ((1 << (15 - SQUARE_SHIFT)) - 1) as f64;

/// Minimum quantisation of 1.
const MIN_STEPS: f64 = 128.0;

/// Sums are shifted left by this before squaring, and the upper 16 bits are kept.
pub(super) const SQUARE_SHIFT: u32 = 4;

/// Bound of the sum of an output layer.
const OUTPUT_RANGE: f64 = (i32::MAX - 1) as f64;

/// Maximum scale of an output layer.
const MAX_OUTPUT_STEPS: f64 = (1 << 24) as f64;

/// The 16-bit weights of an NNUE, shared between [`NnueState`](super::NnueState)s.
///
/// Scales are chosen from the weights: the finest per neuron of the feature transformer with which no position overflows 16
/// bits, and the finest per output with which no sum overflows 32. Nothing saturates, so updated accumulators equal refreshed
/// ones.
pub struct Nnue {
    pub(super) encoding: &'static dyn SparseEncoding,
    /// Per feature, the weights to all neurons.
    pub(super) rows: Vec<Block>,
    pub(super) bias: Vec<Block>,
    /// Per neuron, the quantised 1.
    pub(super) ceilings: Vec<Block>,
    pub(super) power: ActivationPower,
    outputs: Vec<Output>,
    /// The bucket for each number of pieces.
    buckets: [u8; MAX_PIECES + 1],
    width: usize,
}

/// One output layer.
pub(super) struct Output {
    /// The mover's half, then the opponent's.
    pub(super) weights: Vec<Block>,
    pub(super) bias: i32,
    /// The inverse of its scale.
    pub(super) step: f32,
}

impl Nnue {
    /// Quantises `graph` for the features of `encoding`. `None` if the encoding has another width, a weight is not finite, or a
    /// neuron's weights are too large for 16 bits.
    pub fn new(graph: &NnueGraph, encoding: &'static dyn SparseEncoding) -> Option<Self> {
        let NnueGraph { first, power, output, buckets } = graph;
        let width = first.outputs();
        let finite = |linear: &Linear| linear.weights.iter().chain(&linear.bias).all(|w| w.is_finite());
        if first.inputs != encoding.width() || output.inputs != 2 * width || !finite(first) || !finite(output)
        {
            return None;
        }
        let steps = (0..width).map(|neuron| steps(first, neuron)).collect::<Option<Vec<_>>>()?;
        let bucket = |pieces: usize| {
            let bucket = *buckets.get(pieces).or(buckets.last())?;
            u8::try_from(bucket).ok().filter(|_| bucket < output.outputs())
        };
        let mut of_pieces = [0; MAX_PIECES + 1];
        for (pieces, of_pieces) in of_pieces.iter_mut().enumerate() {
            *of_pieces = bucket(pieces)?;
        }
        Some(Nnue {
            encoding,
            rows: (0..first.inputs)
                .flat_map(|input| {
                    let weights = &first.weights[input * width..][..width];
                    fixed(weights.iter().zip(&steps))
                })
                .collect(),
            bias: fixed(first.bias.iter().zip(&steps)),
            ceilings: fixed([1.0].iter().cycle().zip(&steps)),
            power: *power,
            outputs: (0..output.outputs())
                .map(|bucket| Output::new(output, bucket, &steps, *power))
                .collect(),
            buckets: of_pieces,
            width,
        })
    }

    /// Neurons per perspective.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of output buckets.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// The output layer for a number of pieces.
    pub(super) fn output(&self, pieces: usize) -> &Output {
        &self.outputs[usize::from(self.buckets[pieces.min(MAX_PIECES)])]
    }

    /// Blocks of an accumulator.
    pub(super) fn blocks(&self) -> usize {
        self.bias.len()
    }
}

impl Output {
    fn new(layer: &Linear, output: usize, steps: &[f64], power: ActivationPower) -> Self {
        let units: Vec<f64> = steps.iter().chain(steps).map(|&steps| unit(steps, power)).collect();
        let weights: Vec<f64> =
            layer.weights.iter().skip(output).step_by(layer.outputs()).map(|&w| f64::from(w)).collect();
        let bias = f64::from(layer.bias[output]);
        let heaviest = weights.iter().zip(&units).map(|(w, unit)| (w / unit).abs()).fold(0.0, f64::max);
        let largest = weights.iter().map(|w| w.abs()).sum::<f64>() + bias.abs();
        // Rounding adds up to half a unit of every weight, times its neuron's maximum.
        let rounding = 0.5 * units.iter().sum::<f64>() + 1.0;
        let scale =
            (f64::from(i16::MAX) / heaviest).min((OUTPUT_RANGE - rounding) / largest).min(MAX_OUTPUT_STEPS);
        let (own, theirs) = weights.split_at(steps.len());
        let half = |weights: &[f64]| {
            let scales: Vec<f64> = units.iter().map(|unit| scale / unit).collect();
            blocked(weights.iter().zip(scales).map(|(weight, scale)| weight * scale))
        };
        Output {
            weights: [half(own), half(theirs)].concat(),
            bias: (bias * scale).round() as i32,
            step: (1.0 / scale) as f32,
        }
    }
}

/// The quantisation of 1 of a neuron: an integer.
fn steps(layer: &Linear, neuron: usize) -> Option<f64> {
    let weights = layer.weights.iter().skip(neuron).step_by(layer.outputs()).map(|&w| f64::from(w));
    let bias = f64::from(layer.bias[neuron]);
    // The largest sum in either direction.
    let reach = |sign: f64| {
        let mut pushes: Vec<f64> = weights.clone().map(|w| (w * sign).max(0.0)).collect();
        let kept = pushes.len().min(MAX_PIECES);
        if kept < pushes.len() {
            pushes.select_nth_unstable_by(kept, |a, b| b.total_cmp(a));
        }
        let heaviest = &mut pushes[..kept];
        // Sorted, because float sums depend on the order.
        heaviest.sort_unstable_by(f64::total_cmp);
        (bias * sign).max(0.0) + heaviest.iter().sum::<f64>()
    };
    let steps = (RANGE / reach(1.0).max(reach(-1.0))).floor().min(MAX_STEPS);
    (steps >= MIN_STEPS).then_some(steps)
}

/// The activation of a clipped sum of 1.
fn unit(steps: f64, power: ActivationPower) -> f64 {
    match power {
        ActivationPower::One => steps,
        ActivationPower::Two => {
            let shifted = (steps as u32) << SQUARE_SHIFT;
            f64::from((shifted * shifted) >> 16)
        }
    }
}

/// Quantises numbers with their neurons' scales.
fn fixed<'a>(numbers: impl Iterator<Item = (&'a f32, &'a f64)>) -> Vec<Block> {
    blocked(numbers.map(|(&number, steps)| f64::from(number) * steps))
}

/// Rounds numbers into blocks, padded with zeros.
fn blocked(numbers: impl Iterator<Item = f64>) -> Vec<Block> {
    let rounded: Vec<i16> = numbers.map(|number| number.round() as i16).collect();
    let mut filled = vec![ZERO; blocks(rounded.len())];
    for (block, numbers) in filled.iter_mut().zip(rounded.chunks(LANES)) {
        block.0[..numbers.len()].copy_from_slice(numbers);
    }
    filled
}
