//! Decoding weights: dequantised, shapes checked, batch norm folded in.

use half::{bf16, f16};

use super::format::Numbers;
use super::messages::{ConvBlock, Layer, SqueezeExcite};
use super::refuse;
use crate::{LoadError, LoadErrorKind};

/// lc0's batch-norm epsilon.
const EPSILON: f32 = 1e-5;

/// The expected number of outputs of a layer.
#[derive(Clone, Copy)]
pub(super) enum Outputs {
    /// Any.
    AsStored,
    /// Exactly this many.
    Exactly(usize),
    /// At least this many.
    AtLeast(usize),
}

impl Outputs {
    /// The number of outputs of `row` weights each.
    fn of(self, weights: &[f32], row: usize, name: &str) -> Result<usize, LoadError> {
        let (found, stored) = (weights.len(), weights.len() / row.max(1));
        let wrong = |expected: String| Err(shape(name, format!("{found} weights (expected {expected})")));
        match self {
            _ if row == 0 || stored * row != found => wrong(format!("a multiple of {row}")),
            Outputs::Exactly(n) if n != stored => wrong(format!("{n} x {row}")),
            Outputs::AtLeast(n) if n > stored => wrong(format!("at least {n} x {row}")),
            _ => Ok(stored),
        }
    }
}

/// A same-padded convolution: weights `[outputs, inputs, kernel, kernel]`.
pub(super) struct Conv {
    pub(super) weights: Vec<f32>,
    pub(super) biases: Vec<f32>,
    pub(super) inputs: usize,
    pub(super) kernel: usize,
}

impl Conv {
    pub(super) fn outputs(&self) -> usize {
        self.biases.len()
    }

    /// Decodes the convolution `name`.
    pub(super) fn read(
        block: Option<ConvBlock>,
        name: &str,
        inputs: usize,
        kernel: usize,
        outputs: Outputs,
    ) -> Result<Self, LoadError> {
        let block = block.ok_or_else(|| missing(name))?;
        let weights_name = format!("{name}.weights");
        let mut weights = required(block.weights, &weights_name)?;
        let outputs = outputs.of(&weights, inputs * kernel * kernel, &weights_name)?;

        let vector = |layer, part: &str| optional(layer, &format!("{name}.{part}"), outputs);
        let biases = vector(block.biases, "biases")?;
        let means = vector(block.bn_means, "bn_means")?;
        let variances = vector(block.bn_stddivs, "bn_stddivs")?;
        let gammas = vector(block.bn_gammas, "bn_gammas")?;
        let betas = vector(block.bn_betas, "bn_betas")?;

        let mut biases = biases.unwrap_or_else(|| vec![0.0; outputs]);
        if let Some(means) = means {
            // Despite its name, bn_stddivs holds variances.
            let variances = variances.ok_or_else(|| missing(&format!("{name}.bn_stddivs")))?;
            let gammas = gammas.unwrap_or_else(|| vec![1.0; outputs]);
            let betas = betas.unwrap_or_else(|| vec![0.0; outputs]);
            let filters = weights.chunks_exact_mut(inputs * kernel * kernel);
            let norms = means.iter().zip(&variances).zip(gammas.iter().zip(&betas));
            for ((filter, bias), ((mean, variance), (gamma, beta))) in filters.zip(&mut biases).zip(norms) {
                let scale = gamma / (variance + EPSILON).sqrt();
                filter.iter_mut().for_each(|weight| *weight *= scale);
                *bias = (*bias - mean) * scale + beta;
            }
            check_finite(&weights, &weights_name, "with its batch norm folded in")?;
            check_finite(&biases, &format!("{name}.biases"), "with its batch norm folded in")?;
        }
        Ok(Conv { weights, biases, inputs, kernel })
    }
}

/// A dense layer: weights `[outputs, inputs]`.
pub(super) struct Dense {
    pub(super) weights: Vec<f32>,
    pub(super) biases: Vec<f32>,
    pub(super) inputs: usize,
}

impl Dense {
    pub(super) fn outputs(&self) -> usize {
        self.biases.len()
    }

    /// Decodes a layer from its weights and biases, each with the name it has in the file.
    pub(super) fn read(
        (weights, weights_name): (Option<Layer>, &str),
        (biases, biases_name): (Option<Layer>, &str),
        inputs: usize,
        outputs: Outputs,
    ) -> Result<Self, LoadError> {
        let weights = required(weights, weights_name)?;
        let outputs = outputs.of(&weights, inputs, weights_name)?;
        let biases = optional(biases, biases_name, outputs)?.ok_or_else(|| missing(biases_name))?;
        Ok(Dense { weights, biases, inputs })
    }
}

impl Dense {
    /// Decodes the layer `{name}_w` and `{name}_b`.
    pub(super) fn named(
        name: &str,
        weights: Option<Layer>,
        biases: Option<Layer>,
        inputs: usize,
        outputs: Outputs,
    ) -> Result<Self, LoadError> {
        let (weights_name, biases_name) = (format!("{name}_w"), format!("{name}_b"));
        Dense::read((weights, &weights_name), (biases, &biases_name), inputs, outputs)
    }

    /// The layer with its outputs times a factor.
    pub(super) fn scaled(mut self, factor: f32) -> Self {
        self.weights.iter_mut().chain(&mut self.biases).for_each(|weight| *weight *= factor);
        self
    }
}

/// A dense layer without biases: weights `[outputs, inputs]`.
pub(super) struct Matrix {
    pub(super) weights: Vec<f32>,
    pub(super) inputs: usize,
    pub(super) outputs: usize,
}

impl Matrix {
    pub(super) fn read(
        layer: Option<Layer>,
        name: &str,
        inputs: usize,
        outputs: Outputs,
    ) -> Result<Self, LoadError> {
        let weights = required(layer, name)?;
        let outputs = outputs.of(&weights, inputs, name)?;
        Ok(Matrix { weights, inputs, outputs })
    }
}

/// A layer norm.
pub(super) struct Norm {
    pub(super) gammas: Vec<f32>,
    pub(super) betas: Vec<f32>,
}

impl Norm {
    /// Decodes the norm `{name}_gammas` and `{name}_betas`.
    pub(super) fn read(
        name: &str,
        gammas: Option<Layer>,
        betas: Option<Layer>,
        width: usize,
    ) -> Result<Self, LoadError> {
        let vector = |layer, part: &str| {
            let name = format!("{name}_{part}");
            optional(layer, &name, width)?.ok_or_else(|| missing(&name))
        };
        Ok(Norm { gammas: vector(gammas, "gammas")?, betas: vector(betas, "betas")? })
    }
}

/// The transpose of a matrix `[rows, columns]`.
pub(super) fn transposed(numbers: &[f32], columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| numbers.iter().skip(column).step_by(columns).copied()).collect()
}

/// Squeeze and excitation: a scale and a bias per channel from the means of all channels.
pub(super) struct Excitation {
    pub(super) squeeze: Dense,
    /// The factor of each channel, before the sigmoid.
    pub(super) factor: Dense,
    pub(super) term: Dense,
}

impl Excitation {
    pub(super) fn read(unit: SqueezeExcite, name: &str, channels: usize) -> Result<Self, LoadError> {
        let part = |part: &str| format!("{name}.{part}");
        let squeeze =
            Dense::read((unit.w1, &part("w1")), (unit.b1, &part("b1")), channels, Outputs::AsStored)?;
        let width = squeeze.outputs();
        let outputs = Outputs::Exactly(2 * channels);
        let both = Dense::read((unit.w2, &part("w2")), (unit.b2, &part("b2")), width, outputs)?;
        let (factor_weights, term_weights) = both.weights.split_at(channels * width);
        let (factor_biases, term_biases) = both.biases.split_at(channels);
        let half = |weights: &[f32], biases: &[f32]| Dense {
            weights: weights.to_vec(),
            biases: biases.to_vec(),
            inputs: width,
        };
        Ok(Excitation {
            squeeze,
            factor: half(factor_weights, factor_biases),
            term: half(term_weights, term_biases),
        })
    }
}

fn required(layer: Option<Layer>, name: &str) -> Result<Vec<f32>, LoadError> {
    let numbers = layer.map(|layer| decode(layer, name)).transpose()?.unwrap_or_default();
    if numbers.is_empty() { Err(missing(name)) } else { Ok(numbers) }
}

/// Absent and empty layers are the same; lc0 writes either.
pub(super) fn optional(
    layer: Option<Layer>,
    name: &str,
    length: usize,
) -> Result<Option<Vec<f32>>, LoadError> {
    let numbers = layer.map(|layer| decode(layer, name)).transpose()?.unwrap_or_default();
    match numbers.len() {
        0 => Ok(None),
        n if n == length => Ok(Some(numbers)),
        n => Err(shape(name, format!("{n} weights (expected {length})"))),
    }
}

fn decode(layer: Layer, name: &str) -> Result<Vec<f32>, LoadError> {
    let encoding = Numbers::of(layer.encoding).map_err(|error| error.at_tensor(name))?;
    let params = layer.params.unwrap_or_default();
    let size = if encoding == Numbers::Float32 { 4 } else { 2 };
    if !params.len().is_multiple_of(size) {
        return Err(shape(name, format!("{} bytes (expected {}-bit weights)", params.len(), 8 * size)));
    }
    let pairs = params.as_chunks::<2>().0;
    let numbers: Vec<f32> = match encoding {
        // 0 is the minimum of the layer and 65535 the maximum.
        Numbers::Linear16 => {
            let (least, greatest) = (layer.min_val.unwrap_or(0.0), layer.max_val.unwrap_or(0.0));
            let range = greatest - least;
            if !range.is_finite() {
                return Err(not_finite(name, format!("non-finite range {least} to {greatest}")));
            }
            let number = |pair: &[u8; 2]| f32::from(u16::from_le_bytes(*pair)) / 65535.0 * range + least;
            return Ok(pairs.iter().map(number).collect());
        }
        Numbers::Float16 => pairs.iter().map(|&pair| f16::from_le_bytes(pair).to_f32()).collect(),
        Numbers::Bfloat16 => pairs.iter().map(|&pair| bf16::from_le_bytes(pair).to_f32()).collect(),
        Numbers::Float32 => params.as_chunks::<4>().0.iter().map(|&four| f32::from_le_bytes(four)).collect(),
    };
    check_finite(&numbers, name, "in the file")?;
    Ok(numbers)
}

pub(super) fn check_finite(numbers: &[f32], name: &str, when: &str) -> Result<(), LoadError> {
    match numbers.iter().position(|number| !number.is_finite()) {
        Some(index) => Err(not_finite(name, format!("weight {index} is not finite {when}"))),
        None => Ok(()),
    }
}

pub(super) fn missing(name: &str) -> LoadError {
    shape(name, "missing")
}

pub(super) fn shape(name: &str, message: impl Into<String>) -> LoadError {
    refuse(LoadErrorKind::Shape, message).at_tensor(name)
}

fn not_finite(name: &str, message: impl Into<String>) -> LoadError {
    refuse(LoadErrorKind::NotFinite, message).at_tensor(name)
}
