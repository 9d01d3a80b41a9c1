//! Decoding the weights of a TFLite file: FLOAT32, FLOAT16, and quantised INT8, UINT8 and INT32.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use half::f16;

use super::flatbuffer::Scalar;
use super::schema::{ElementType, Quantization, Tensor, unsupported};
use crate::{Format, LoadError, LoadErrorKind};

/// Maximum elements of all weights of a file: 256 MiB as `f32`.
pub(super) const MAX_ELEMENTS: usize = 1 << 26;

/// The dimensions of a constant, all positive, with a product of at most [`MAX_ELEMENTS`].
pub(super) fn shape(tensor: &Tensor<'_>) -> Result<Vec<usize>, LoadError> {
    let mut elements = 1usize;
    let mut shape = Vec::with_capacity(tensor.shape.len());
    for &stored in &tensor.shape {
        let dimension = usize::try_from(stored).ok().filter(|&d| d > 0).ok_or_else(|| {
            error(
                LoadErrorKind::Malformed,
                tensor,
                format!("invalid dimension {stored} in shape {:?}", tensor.shape),
            )
        })?;
        elements = elements.checked_mul(dimension).filter(|&n| n <= MAX_ELEMENTS).ok_or_else(|| {
            let message = format!("shape {:?} has more than {MAX_ELEMENTS} elements", tensor.shape);
            error(LoadErrorKind::TooLarge, tensor, message)
        })?;
        shape.push(dimension);
    }
    Ok(shape)
}

/// A constant's elements as finite floats, dequantised where they are integers.
pub(super) fn floats(tensor: &Tensor<'_>, shape: &[usize]) -> Result<Vec<f32>, LoadError> {
    let values: Vec<f32> = match tensor.element {
        ElementType::FLOAT32 => elements::<f32>(tensor, shape)?.collect(),
        ElementType::FLOAT16 => elements::<u16>(tensor, shape)?.map(|b| f16::from_bits(b).to_f32()).collect(),
        ElementType::INT8 => dequantised(tensor, shape, elements::<i8>(tensor, shape)?.map(i16::from))?,
        ElementType::UINT8 => dequantised(tensor, shape, elements::<u8>(tensor, shape)?.map(i16::from))?,
        // Biases of integer layers.
        ElementType::INT32 if tensor.quantization()?.is_some_and(|q| !q.scales.is_empty()) => {
            let (steps, inner) = grids(tensor, shape)?;
            let of_element = |(i, q): (usize, i32)| {
                let step =
                    steps.get((i / inner) % steps.len()).copied().unwrap_or(Step { scale: 0.0, zero: 0 });
                (f64::from(q) * f64::from(step.scale)) as f32
            };
            elements::<i32>(tensor, shape)?.enumerate().map(of_element).collect()
        }
        other => {
            let message =
                format!("weights of type {} (expected FLOAT32, FLOAT16, INT8 or UINT8)", other.name());
            return Err(unsupported(message).at_tensor(tensor.name));
        }
    };
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(values),
        Some(i) => Err(error(LoadErrorKind::NotFinite, tensor, format!("element {i} is not finite"))),
    }
}

/// A constant's elements as integers, such as the shape of a reshape.
pub(super) fn integers(tensor: &Tensor<'_>, shape: &[usize]) -> Result<Vec<i64>, LoadError> {
    match tensor.element {
        ElementType::INT32 => Ok(elements::<i32>(tensor, shape)?.map(i64::from).collect()),
        ElementType::INT64 => Ok(elements::<i64>(tensor, shape)?.collect()),
        other => Err(unsupported(format!("integers of type {} (expected INT32 or INT64)", other.name()))
            .at_tensor(tensor.name)),
    }
}

/// The stored elements, checked against the shape.
fn elements<'a, T: Scalar + 'a>(
    tensor: &Tensor<'a>,
    shape: &[usize],
) -> Result<impl Iterator<Item = T> + use<'a, T>, LoadError> {
    let data = tensor.data.unwrap_or_default();
    let count: usize = shape.iter().product();
    let needed = count.saturating_mul(T::SIZE);
    if data.len() != needed {
        let message = format!("{} bytes of data (expected {needed} for shape {shape:?})", data.len());
        return Err(error(LoadErrorKind::Malformed, tensor, message));
    }
    Ok(data.chunks_exact(T::SIZE).filter_map(T::from_bytes))
}

fn dequantised(
    tensor: &Tensor<'_>,
    shape: &[usize],
    stored: impl Iterator<Item = i16>,
) -> Result<Vec<f32>, LoadError> {
    let (steps, inner) = grids(tensor, shape)?;
    let of_element = |(i, q): (usize, i16)| {
        let step = steps.get((i / inner) % steps.len()).copied().unwrap_or(Step { scale: 0.0, zero: 0 });
        f32::from(q - step.zero) * step.scale
    };
    Ok(stored.enumerate().map(of_element).collect())
}

/// The steps of a quantised constant, and how many consecutive elements share one.
fn grids(tensor: &Tensor<'_>, shape: &[usize]) -> Result<(Vec<Step>, usize), LoadError> {
    let missing = || error(LoadErrorKind::Malformed, tensor, "quantised weights without a scale");
    let quantization = tensor.quantization()?.ok_or_else(missing)?;
    if quantization.scales.is_empty() {
        return Err(missing());
    }
    steps(tensor, shape, &quantization)
}

#[derive(Clone, Copy)]
struct Step {
    scale: f32,
    zero: i16,
}

/// The scale and zero point per tensor or per index of the quantised dimension, and how many consecutive elements share one.
fn steps(
    tensor: &Tensor<'_>,
    shape: &[usize],
    quantization: &Quantization,
) -> Result<(Vec<Step>, usize), LoadError> {
    let malformed = |message: String| error(LoadErrorKind::Malformed, tensor, message);
    let Quantization { scales, zero_points, dimension } = quantization;
    let inner = match scales.len() {
        1 => 1,
        count => {
            let along = usize::try_from(*dimension).ok().filter(|&d| shape.get(d) == Some(&count));
            let along = along.ok_or_else(|| {
                malformed(format!("{count} scales along dimension {dimension} of shape {shape:?}"))
            })?;
            shape.iter().skip(along + 1).product()
        }
    };
    if !matches!(zero_points.len(), 0 | 1) && zero_points.len() != scales.len() {
        return Err(malformed(format!("{} scales but {} zero points", scales.len(), zero_points.len())));
    }
    let step = |(i, &scale): (usize, &f32)| {
        let zero = zero_points.get(i).or(zero_points.first()).copied().unwrap_or(0);
        let zero = i16::try_from(zero).ok().filter(|z| (-128..=255).contains(z));
        let zero = zero.ok_or_else(|| malformed(format!("zero point {i} out of range")))?;
        Ok(Step { scale, zero })
    };
    Ok((scales.iter().enumerate().map(step).collect::<Result<_, LoadError>>()?, inner))
}

fn error(kind: LoadErrorKind, tensor: &Tensor<'_>, message: impl Into<String>) -> LoadError {
    LoadError::new(kind, Format::Tflite, message).at_tensor(tensor.name)
}
