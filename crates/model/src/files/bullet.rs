//! bullet's `quantised.bin`: 16-bit weights of a perspective network without any header. See `docs/formats/bullet.md`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt;
use std::str::FromStr;

use tabia_onnx::tensors::{MAX_ELEMENTS, TensorMap};

use crate::{Format, LoadError, LoadErrorKind};

const FEATURES: usize = 768;

/// Files are padded to a multiple of this.
const ALIGNMENT: usize = 64;

/// What they are padded with, over and over.
const PADDING: &[u8] = b"bullet";

/// The largest layer that is read.
const MAX_HIDDEN: usize = 8192;

/// How to read a file that says nothing of itself: `bullet-768:hidden=256`, and where they differ from bullet's example
/// `activation=crelu`, `scale=400`, `qa=255`, `qb=64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Layout {
    hidden: usize,
    squared: bool,
    scale: f32,
    qa: f32,
    qb: f32,
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const USAGE: &str = "expected bullet-768:hidden=N, and where they differ activation=screlu or crelu, scale=400, \
                             qa=255, qb=64";
        let wrong = |what: String| format!("{what}; {USAGE}");
        let Some(settings) = text.strip_prefix("bullet-768") else {
            return Err(wrong(format!("unknown layout {text:?}")));
        };
        let settings = settings.strip_prefix(':').unwrap_or(settings);
        let mut layout = Layout { hidden: 0, squared: true, scale: 400.0, qa: 255.0, qb: 64.0 };
        for setting in settings.split(',').filter(|setting| !setting.is_empty()) {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            let number = || {
                let number = value.parse::<u32>().ok().filter(|number| (1..=32767).contains(number));
                number.ok_or_else(|| wrong(format!("{name}={value}: not a number from 1 to 32767")))
            };
            match (name, value) {
                ("hidden", _) => layout.hidden = number()? as usize,
                ("activation", "screlu") => layout.squared = true,
                ("activation", "crelu") => layout.squared = false,
                ("scale", _) => layout.scale = number()? as f32,
                ("qa", _) => layout.qa = number()? as f32,
                ("qb", _) => layout.qb = number()? as f32,
                _ => return Err(wrong(format!("unknown setting {setting:?}"))),
            }
        }
        match layout.hidden {
            0 => Err(wrong(format!("{text}: the size of the hidden layer is missing"))),
            1..=MAX_HIDDEN => Ok(layout),
            hidden => Err(format!("hidden={hidden}: at most {MAX_HIDDEN}")),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bullet-768:hidden={}", self.hidden)
    }
}

/// Bytes of a network, without padding.
fn unpadded(hidden: usize) -> usize {
    2 * (FEATURES * hidden + hidden + 2 * hidden + 1)
}

/// The size of the hidden layer of the network that a file of this length may hold.
fn hidden_of(len: usize) -> Option<usize> {
    let hidden = (len / 2).checked_sub(1)? / (FEATURES + 3);
    let size = unpadded(hidden);
    let fits = len == size || len == size.next_multiple_of(ALIGNMENT);
    (fits && (1..=MAX_HIDDEN).contains(&hidden)).then_some(hidden)
}

/// Whether a network of bullet may have this length.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn may_have_length(len: usize) -> bool {
    hidden_of(len).is_some()
}

/// The layout that a file of bullet's example network would need, by its length.
pub(crate) fn suggestion(bytes: &[u8]) -> Option<String> {
    hidden_of(bytes.len()).map(|hidden| format!("bullet-768:hidden={hidden}"))
}

/// Whether a file ends in bullet's padding.
pub(crate) fn is_padded(bytes: &[u8]) -> bool {
    let Some(padding) = hidden_of(bytes.len()).and_then(|hidden| bytes.get(unpadded(hidden)..)) else {
        return false;
    };
    padding.len() >= PADDING.len() && padding.iter().eq(PADDING.iter().cycle().take(padding.len()))
}

/// Reads the weights as the tensors of a perspective network that evaluates in pawns.
///
/// # Errors
/// If the length is not that of the layout.
pub(crate) fn read(bytes: &[u8], layout: &Layout) -> Result<TensorMap, LoadError> {
    let &Layout { hidden, squared, scale, qa, qb } = layout;
    let size = unpadded(hidden);
    if bytes.len() != size && bytes.len() != size.next_multiple_of(ALIGNMENT) {
        let padded = size.next_multiple_of(ALIGNMENT);
        let hint =
            suggestion(bytes).map_or(String::new(), |layout| format!("; its length is that of {layout}"));
        let message =
            format!("{} bytes (expected {size}, or {padded} with padding, for {layout}){hint}", bytes.len());
        return Err(LoadError::new(LoadErrorKind::Shape, Format::Bullet, message));
    }
    debug_assert!(unpadded(MAX_HIDDEN) / 2 <= MAX_ELEMENTS);
    let (numbers, _) = bytes.as_chunks::<2>();
    let mut numbers = numbers.iter().map(|&number| f32::from(i16::from_le_bytes(number)));
    let mut take = |count: usize, unit: f32| -> Vec<f32> {
        numbers.by_ref().take(count).map(|number| number / unit).collect()
    };
    // One column per feature; a state dict has one row per neuron.
    let columns = take(FEATURES * hidden, qa);
    let rows = (0..hidden).flat_map(|row| columns.iter().skip(row).step_by(hidden).copied()).collect();
    let refused = |error| LoadError::of_tensors(Format::Bullet, error);
    let mut tensors = TensorMap::new();
    tensors.insert("features.weight", &[hidden, FEATURES], rows).map_err(refused)?;
    tensors.insert("features.bias", &[hidden], take(hidden, qa)).map_err(refused)?;
    // The scale is in centipawns; evaluations over this encoding are in pawns.
    let pawns = scale / 100.0;
    tensors.insert("output.weight", &[1, 2 * hidden], take(2 * hidden, qb / pawns)).map_err(refused)?;
    tensors.insert("output.bias", &[1], take(1, qa * qb / pawns)).map_err(refused)?;
    if squared {
        tensors.insert("activation.power", &[1], vec![2.0]).map_err(refused)?;
    }
    Ok(tensors)
}
