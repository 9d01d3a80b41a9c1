use super::{
    Activation, Linear,
    block::{Block, LANES, blocks, zeros},
};

/// Maximum features of a position: the capacity of [`FeatureList`](tabia_encoding::FeatureList).
const MAX_FEATURES: usize = 256;

/// Maximum absolute amount of a feature.
const MAX_AMOUNT: f64 = 2.0;

/// Bound of the sums of a legal position, with room for the rounding of every weight.
const RANGE: f64 = (1_u64 << 31) as f64 - 1024.0;

const MIN_SCALE: f64 = 1.0 / MAX_SCALE;
const MAX_SCALE: f64 = (1_u128 << 100) as f64;

/// The first layer in fixed point: weights and bias of each neuron are scaled by a power of two and rounded to `i32`.
///
/// The power is the largest for which no position can overflow: the 256 largest weights twice and the bias fit. Intermediate
/// sums may wrap around; the sum of a position is exact.
#[derive(Debug)]
pub(super) struct FirstLayer {
    /// Per input, the weights to all neurons.
    pub(super) rows: Vec<Block<i32>>,
    pub(super) bias: Vec<Block<i32>>,
    /// Per neuron, the inverse of its scale.
    pub(super) steps: Vec<Block<f32>>,
    pub(super) activation: Activation,
    pub(super) outputs: usize,
}

impl FirstLayer {
    /// `None` if a weight is not finite.
    pub(super) fn new(linear: &Linear) -> Option<Self> {
        let (inputs, outputs) = (linear.inputs, linear.outputs());
        let width = blocks(outputs);
        let mut layer = FirstLayer {
            rows: vec![Block([0; LANES]); inputs * width],
            bias: zeros(outputs),
            steps: vec![Block([0.0; LANES]); width],
            activation: linear.activation,
            outputs,
        };
        let mut heaviest = Vec::with_capacity(inputs);
        for (neuron, &bias) in linear.bias.iter().enumerate() {
            let weights = linear.weights.iter().skip(neuron).step_by(outputs);
            heaviest.clear();
            heaviest.extend(weights.clone().map(|w| f64::from(w.abs())));
            let scale = scale(&mut heaviest, f64::from(bias.abs()))?;
            let (block, lane) = (neuron / LANES, neuron % LANES);
            let fixed = |w: f32| (f64::from(w) * scale).round() as i32;
            layer.bias[block].0[lane] = fixed(bias);
            layer.steps[block].0[lane] = (1.0 / scale) as f32;
            for (input, &weight) in weights.enumerate() {
                layer.rows[input * width + block].0[lane] = fixed(weight);
            }
        }
        Some(layer)
    }

    /// Blocks of one accumulator.
    pub(super) fn blocks(&self) -> usize {
        self.bias.len()
    }
}

/// The largest power-of-two scale for weights of these magnitudes.
fn scale(magnitudes: &mut [f64], bias: f64) -> Option<f64> {
    let kept = magnitudes.len().min(MAX_FEATURES);
    if kept < magnitudes.len() {
        magnitudes.select_nth_unstable_by(kept, |a, b| b.total_cmp(a));
    }
    let bound = MAX_AMOUNT * magnitudes[..kept].iter().sum::<f64>() + bias;
    // The limits keep the scale and its inverse normal `f32` numbers.
    let most = (RANGE / bound).clamp(MIN_SCALE, MAX_SCALE);
    // Rounded down to a power of two by dropping the fraction bits: `log2` may differ between platforms.
    bound.is_finite().then(|| f64::from_bits(most.to_bits() & !((1 << 52) - 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_weights_stay_in_range() {
        let weights: Vec<f32> = (0..800).map(|i| if i % 3 == 0 { 1.7 } else { -0.3 }).collect();
        let linear = Linear { inputs: 800, weights, bias: vec![-5.0], activation: Activation::Relu };
        let layer = FirstLayer::new(&linear).unwrap();
        let row = |input: usize| i64::from(layer.rows[input].0[0]);
        let heaviest: i64 = (0..800).step_by(3).take(256).map(|i| 2 * row(i)).sum();
        let reached = heaviest + i64::from(layer.bias[0].0[0].abs());
        assert!(reached <= i64::from(i32::MAX), "{reached}");
        assert!(reached > i64::from(i32::MAX / 2), "half the range would be wasted: {reached}");
    }

    #[test]
    fn non_finite_weights_are_rejected() {
        let linear = |w| Linear {
            inputs: 2,
            weights: vec![1.0, w],
            bias: vec![0.0],
            activation: Activation::Identity,
        };
        assert!(FirstLayer::new(&linear(f32::NAN)).is_none());
        assert!(FirstLayer::new(&linear(f32::INFINITY)).is_none());
        assert!(FirstLayer::new(&linear(0.0)).is_some());
    }
}
