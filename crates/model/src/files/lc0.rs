//! Leela Chess Zero weight files: a protobuf, usually gzipped, with a residual tower and its heads.
//!
//! The graph takes `planes` (the `lc0-112` encoding) and gives `policy` (logits of the `lc0-1858` vocabulary) and
//! `wdl` or `value`, and `moves_left` where the network has that head. All of it is the mover's view.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod format;
mod layers;
mod messages;
mod policy_planes;
mod tower;
mod wire;

use std::borrow::Cow;
use std::io::Read;

use flate2::read::GzDecoder;
use prost::Message;

pub(crate) use self::format::{Lc0Policy, Lc0Value};
use self::messages::{EngineVersion, Net, TrainingParams};
use crate::onnx::proto::ModelProto;
use crate::onnx::read::MAX_PARAMETERS;
use crate::{Format, LoadError, LoadErrorKind};

/// The most a file may unpack to, about twice the largest residual networks.
const MAX_BYTES: usize = 256 << 20;

const MAGIC: u32 = 0x1c0;

/// A weight file as a graph, with what the file says about itself.
#[derive(Clone, Debug)]
pub(crate) struct Lc0Network {
    /// Input `planes`; outputs `policy`, `wdl` or `value`, and perhaps `moves_left`.
    pub(crate) graph: ModelProto,
    /// How the policy head was stored.
    pub(crate) policy: Lc0Policy,
    /// Which of `wdl` and `value` the graph has.
    pub(crate) value: Lc0Value,
    /// The licence text, if the file has one.
    pub(crate) license: Option<String>,
    /// The oldest lc0 that reads the file, such as `0.21.0`.
    pub(crate) min_version: Option<String>,
    /// What the trainer noted: steps, losses, accuracy, parameters.
    pub(crate) training_info: Option<String>,
}

impl Lc0Network {
    /// The design in words.
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
/// Files that are cut off, contradict themselves or unpack to too much, and networks of another design than a
/// residual tower over the classic 112 planes, which are named.
pub(crate) fn read(bytes: &[u8]) -> Result<Lc0Network, LoadError> {
    let net = parse(bytes)?;
    let architecture = format::Architecture::of(&net)?;
    let weights = net.weights.ok_or_else(|| refuse(LoadErrorKind::Malformed, "the file has no weights"))?;
    // Two bytes a parameter, which will be four in the graph.
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
        let message = "weights as text are not supported; convert the file to the protobuf format";
        return Err(refuse(LoadErrorKind::Unsupported, message));
    }
    wire::check(&plain)?;
    let net = Net::decode(plain.as_ref())
        .map_err(|error| refuse(LoadErrorKind::Malformed, format!("not an lc0 protobuf: {error}")))?;
    match net.magic {
        Some(MAGIC) => Ok(net),
        Some(other) => {
            Err(refuse(LoadErrorKind::Malformed, format!("magic number {other:#x}, expected {MAGIC:#x}")))
        }
        None => Err(refuse(LoadErrorKind::Malformed, format!("no magic number, expected {MAGIC:#x}"))),
    }
}

/// The protobuf, gunzipped if need be, of at most `limit` bytes.
fn unpack(bytes: &[u8], limit: usize) -> Result<Cow<'_, [u8]>, LoadError> {
    let plain = if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        GzDecoder::new(bytes)
            .take(limit as u64 + 1)
            .read_to_end(&mut plain)
            .map_err(|error| refuse(LoadErrorKind::Malformed, format!("broken gzip data: {error}")))?;
        Cow::Owned(plain)
    } else {
        Cow::Borrowed(bytes)
    };
    if plain.len() > limit {
        return Err(refuse(LoadErrorKind::TooLarge, format!("the file unpacks to more than {limit} bytes")));
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
