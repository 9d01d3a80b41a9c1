//! Leela Chess Zero weight files: a protobuf, usually gzipped, with a residual tower and its heads.
//!
//! The graph has the input `planes` (encoding `lc0-112`) and the outputs `policy` (logits of vocabulary `lc0-1858`), `wdl` or
//! `value`, and `moves_left` where the network has that head, all from the mover's point of view.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod format;
mod layers;
mod messages;
mod policy_planes;
mod tower;

use std::borrow::Cow;
use std::io::Read;

use flate2::read::GzDecoder;
use prost::Message;

pub(crate) use self::format::{Lc0Policy, Lc0Value};
use self::messages::{EngineVersion, Net, TrainingParams};
use crate::onnx::proto::ModelProto;
use crate::onnx::read::MAX_PARAMETERS;
use crate::protobuf::{Fields, Value};
use crate::{Format, LoadError, LoadErrorKind};

/// Maximum decompressed size, about twice the largest residual networks.
const MAX_BYTES: usize = 256 << 20;

/// The largest residual towers have about forty.
const MAX_BLOCKS: usize = 256;

const MAGIC: u32 = 0x1c0;

/// A weight file as a graph, with its metadata.
#[derive(Clone, Debug)]
pub(crate) struct Lc0Network {
    /// Input `planes`; outputs `policy`, `wdl` or `value`, and perhaps `moves_left`.
    pub(crate) graph: ModelProto,
    /// The type of the policy head.
    pub(crate) policy: Lc0Policy,
    /// Which of `wdl` and `value` the graph has.
    pub(crate) value: Lc0Value,
    /// The licence text, if the file has one.
    pub(crate) license: Option<String>,
    /// The oldest lc0 that reads the file, such as `0.21.0`.
    pub(crate) min_version: Option<String>,
    /// The trainer's notes: steps, losses, accuracy, parameters.
    pub(crate) training_info: Option<String>,
}

impl Lc0Network {
    /// The architecture, for the card.
    pub(crate) fn architecture(&self) -> String {
        let policy = match self.policy {
            Lc0Policy::Classical => "classical",
            Lc0Policy::Convolution => "convolution",
        };
        let value = match self.value {
            Lc0Value::Wdl => "WDL",
            Lc0Value::Classical => "classical",
        };
        let since = self.min_version.as_ref().map_or(String::new(), |v| format!(", for lc0 {v} or later"));
        format!("Leela residual tower, {policy} policy, {value} value{since}")
    }
}

/// Reads a weight file, gzipped or plain.
///
/// # Errors
/// If the file is malformed or too large, or not a residual tower over the classical 112 planes.
pub(crate) fn read(bytes: &[u8]) -> Result<Lc0Network, LoadError> {
    let net = parse(bytes)?;
    let architecture = format::Architecture::of(&net)?;
    let weights = net.weights.ok_or_else(|| refuse(LoadErrorKind::Malformed, "no weights"))?;
    // Two bytes per parameter, four in the graph.
    if weights.encoded_len() as u64 > 2 * MAX_PARAMETERS {
        return Err(refuse(LoadErrorKind::TooLarge, format!("more than {MAX_PARAMETERS} parameters")));
    }
    Ok(Lc0Network {
        graph: tower::build(weights, architecture)?,
        policy: architecture.policy,
        value: architecture.value,
        license: net.license.filter(|text| !text.is_empty()),
        min_version: net.min_version.map(version_text),
        training_info: net.training_params.as_ref().map(training_text).filter(|text| !text.is_empty()),
    })
}

fn parse(bytes: &[u8]) -> Result<Net, LoadError> {
    let plain = unpack(bytes, MAX_BYTES)?;
    if plain.starts_with(b"1\n") || plain.starts_with(b"2\n") {
        let message = "text weights are not supported; convert the file to protobuf";
        return Err(refuse(LoadErrorKind::Unsupported, message));
    }
    check_blocks(&plain)?;
    let net = Net::decode(plain.as_ref())
        .map_err(|error| refuse(LoadErrorKind::Malformed, format!("not an lc0 protobuf: {error}")))?;
    match net.magic {
        Some(MAGIC) => Ok(net),
        Some(other) => {
            Err(refuse(LoadErrorKind::Malformed, format!("magic number {other:#x} (expected {MAGIC:#x})")))
        }
        None => Err(refuse(LoadErrorKind::Malformed, format!("missing magic number (expected {MAGIC:#x})"))),
    }
}

/// Checks the number of residual blocks before they are decoded: an empty one takes two bytes on the wire and hundreds in
/// memory, and gzip shrinks the two bytes a thousandfold.
fn check_blocks(net: &[u8]) -> Result<(), LoadError> {
    const WEIGHTS: u64 = 10;
    const RESIDUAL: u64 = 2;
    let mut blocks = 0;
    for field in Fields::new(Format::Lc0, net) {
        let field = field?;
        let (WEIGHTS, Value::Bytes(weights)) = (field.number, field.value) else { continue };
        for inner in weights {
            let inner = inner?;
            blocks += usize::from(inner.number == RESIDUAL);
            if blocks > MAX_BLOCKS {
                let message = format!("more than {MAX_BLOCKS} residual blocks");
                return Err(refuse(LoadErrorKind::TooLarge, message).at_byte(inner.start));
            }
        }
    }
    Ok(())
}

/// The protobuf, decompressed if necessary, of at most `limit` bytes.
fn unpack(bytes: &[u8], limit: usize) -> Result<Cow<'_, [u8]>, LoadError> {
    let plain = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        GzDecoder::new(bytes)
            .take(limit as u64 + 1)
            .read_to_end(&mut plain)
            .map_err(|error| refuse(LoadErrorKind::Malformed, format!("invalid gzip data: {error}")))?;
        Cow::Owned(plain)
    } else {
        Cow::Borrowed(bytes)
    };
    if plain.len() > limit {
        return Err(refuse(LoadErrorKind::TooLarge, format!("decompresses to more than {limit} bytes")));
    }
    Ok(plain)
}

fn version_text(version: EngineVersion) -> String {
    let part = Option::unwrap_or_default;
    format!("{}.{}.{}", part(version.major), part(version.minor), part(version.patch))
}

fn training_text(params: &TrainingParams) -> String {
    let number = |name: &str, value: Option<f32>| value.map(|value| format!("{name} {value}"));
    let parts = [
        params.training_steps.map(|steps| format!("{steps} steps")),
        number("learning rate", params.learning_rate),
        number("value loss", params.mse_loss),
        number("policy loss", params.policy_loss),
        number("accuracy", params.accuracy),
        params.lc0_params.clone().filter(|text| !text.is_empty()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn refuse(kind: LoadErrorKind, message: impl Into<String>) -> LoadError {
    LoadError::new(kind, Format::Lc0, message)
}

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod maia_tests;
#[cfg(test)]
mod tests;
