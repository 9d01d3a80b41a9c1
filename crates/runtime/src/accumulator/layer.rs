use super::{
    Activation, Linear,
    block::{Block, LANES, blocks, zeros},
};

/// Layers of up to this many outputs compute each as a dot product instead of in a lane.
const MAX_DOTS: usize = 8;

/// Blocks of outputs that are summed together in registers.
pub(super) const TILE: usize = 2;

/// The memory layout of the weights, which also fixes the order of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Outputs in lanes, in tiles of [`TILE`] blocks and possibly a last tile of one: per tile, the weights of every input.
    Tiles,
    /// Inputs in lanes: per output, the weights from all inputs.
    Dots,
}

/// A layer after the first, in `f32`.
#[derive(Debug)]
pub(super) struct Layer {
    pub(super) form: Form,
    pub(super) weights: Vec<Block<f32>>,
    /// Never -0.0, so that leaving out inputs of 0 changes no bit of a sum.
    pub(super) bias: Vec<Block<f32>>,
    pub(super) activation: Activation,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
}

impl Layer {
    /// `None` if a weight is not finite.
    pub(super) fn new(linear: &Linear) -> Option<Self> {
        let (inputs, outputs) = (linear.inputs, linear.outputs());
        if !linear.weights.iter().chain(&linear.bias).all(|w| w.is_finite()) {
            return None;
        }
        let form = if outputs <= MAX_DOTS { Form::Dots } else { Form::Tiles };
        let mut weights = match form {
            Form::Dots => vec![Block([0.0; LANES]); outputs * blocks(inputs)],
            Form::Tiles => vec![Block([0.0; LANES]); inputs * blocks(outputs)],
        };
        for (input, row) in linear.weights.chunks_exact(outputs).enumerate() {
            for (output, &weight) in row.iter().enumerate() {
                let (block, lane) = match form {
                    Form::Dots => (output * blocks(inputs) + input / LANES, input % LANES),
                    Form::Tiles => {
                        let tile = output / LANES / TILE * TILE;
                        let width = TILE.min(blocks(outputs) - tile);
                        (tile * inputs + input * width + output / LANES - tile, output % LANES)
                    }
                };
                weights[block].0[lane] = weight;
            }
        }
        let mut bias = zeros(outputs);
        for (output, &b) in linear.bias.iter().enumerate() {
            bias[output / LANES].0[output % LANES] = b + 0.0;
        }
        Some(Layer { form, weights, bias, activation: linear.activation, inputs, outputs })
    }
}
