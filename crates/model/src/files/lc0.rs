//! Leela Chess Zero weight files: a protobuf, usually gzipped, with a residual tower or an attention body and its heads.
//!
//! The graph has the input `planes` (encoding `lc0-112` or `lc0-112-castling`) and the outputs `policy` (logits of vocabulary `lc0-1858`), `wdl` or
//! `value`, and `moves_left` where the network has that head, all from the mover's point of view.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod attention_policy;
mod build;
mod encoder;
mod format;
mod layers;
mod messages;
mod policy_planes;

use std::borrow::Cow;
use std::io::Read;

use flate2::read::GzDecoder;
use prost::Message;
use tabia_onnx::proto::ModelProto;
use tabia_onnx::protobuf::{Fields, Value, WireError};
use tabia_onnx::read::MAX_PARAMETERS;

use self::format::Architecture;
pub(crate) use self::format::{Lc0Body, Lc0Embedding, Lc0Input, Lc0Policy, Lc0Value};
use self::messages::{EngineVersion, Net, TrainingParams, Weights};
use crate::{Format, LoadError, LoadErrorKind};

/// Maximum decompressed size: the parameters of the largest graph in two bytes each, and something for the rest.
const MAX_BYTES: usize = 2 * MAX_PARAMETERS as usize + (16 << 20);

/// Maximum residual blocks and encoder layers. The largest networks have about forty.
const MAX_BLOCKS: usize = 256;

const MAGIC: u32 = 0x1c0;

/// A weight file as a graph, with its metadata.
#[derive(Clone, Debug)]
pub(crate) struct Lc0Network {
    /// Input `planes`; outputs `policy`, `wdl` or `value`, and perhaps `moves_left`.
    pub(crate) graph: ModelProto,
    /// The planes that it reads.
    pub(crate) input: Lc0Input,
    /// The type of the policy head.
    pub(crate) policy: Lc0Policy,
    /// Which of `wdl` and `value` the graph has.
    pub(crate) value: Lc0Value,
    body: String,
    has_moves_left: bool,
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
            Lc0Policy::Attention => "attention",
        };
        let value = match self.value {
            Lc0Value::Wdl => "WDL",
            Lc0Value::Classical => "classical",
        };
        let moves_left = if self.has_moves_left { ", moves left" } else { "" };
        let since = self.min_version.as_ref().map_or(String::new(), |v| format!(", for lc0 {v} or later"));
        format!("{}, {policy} policy, {value} value{moves_left}{since}", self.body)
    }
}

/// What the body of a network is called.
fn body_text(architecture: &Architecture, weights: &Weights) -> String {
    match architecture.body {
        Lc0Body::Residual => "Leela residual tower".to_owned(),
        Lc0Body::Attention(embedding) => {
            let embedding = match embedding {
                Lc0Embedding::Map => "map",
                Lc0Embedding::Dense => "dense",
            };
            let smolgen = if weights.smolgen_w.is_some() { ", smolgen" } else { "" };
            format!(
                "Leela attention body, {} layers of {} heads, {embedding} embedding{smolgen}",
                weights.encoder.len(),
                weights.headcount.unwrap_or(0)
            )
        }
    }
}

/// Reads a weight file, gzipped or plain.
///
/// # Errors
/// If the file is malformed or too large, or its architecture is not supported.
pub(crate) fn read(bytes: &[u8]) -> Result<Lc0Network, LoadError> {
    let net = parse(bytes)?;
    let architecture = Architecture::of(&net)?;
    let weights = net.weights.ok_or_else(|| refuse(LoadErrorKind::Malformed, "no weights"))?;
    // Two bytes per parameter, four in the graph.
    if weights.encoded_len() as u64 > 2 * MAX_PARAMETERS {
        return Err(refuse(LoadErrorKind::TooLarge, format!("more than {MAX_PARAMETERS} parameters")));
    }
    Ok(Lc0Network {
        body: body_text(&architecture, &weights),
        graph: build::build(weights, &architecture)?,
        input: architecture.input,
        policy: architecture.policy,
        value: architecture.value,
        has_moves_left: architecture.has_moves_left,
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

/// Checks the number of repeated messages before they are decoded: an empty one takes two bytes on the wire and hundreds in
/// memory, and gzip shrinks the two bytes a thousandfold.
fn check_blocks(net: &[u8]) -> Result<(), LoadError> {
    /// The field numbers on the way to `residual`, `encoder` and the policy head's `pol_encoder`.
    const PATHS: [&[u64]; 4] = [&[10, 2], &[10, 27], &[10, 21], &[10, 45, 3, 8]];
    count_blocks(Fields::new(net), &PATHS, &mut 0)
}

fn count_blocks(fields: Fields<'_>, paths: &[&[u64]], blocks: &mut usize) -> Result<(), LoadError> {
    let malformed = |e: WireError| refuse(LoadErrorKind::Malformed, e.message).at_byte(e.offset);
    for field in fields {
        let field = field.map_err(malformed)?;
        let inner: Vec<&[u64]> = paths
            .iter()
            .filter_map(|path| match path.split_first() {
                Some((&number, rest)) if number == field.number => Some(rest),
                _ => None,
            })
            .collect();
        if inner.iter().any(|path| path.is_empty()) {
            *blocks += 1;
            if *blocks > MAX_BLOCKS {
                let message = format!("more than {MAX_BLOCKS} residual blocks and encoder layers");
                return Err(refuse(LoadErrorKind::TooLarge, message).at_byte(field.start));
            }
        } else if let (false, Value::Bytes(message)) = (inner.is_empty(), field.value) {
            count_blocks(message, &inner, blocks)?;
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
