//! Reading a model file of any format into an ONNX graph.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
#[cfg(not(target_family = "wasm"))]
use std::io::Read;

use prost::Message;
use sha2::{Digest, Sha256};

use crate::card::{CARD_KEY, ModelCard, StateDict};
use crate::files::{lc0, safetensors, tflite, torch};
use crate::nets::{self, Recognised, WeightsApart};
use crate::onnx::check::{self, GraphInfo};
use crate::onnx::proto::{ModelProto, StringStringEntryProto, data_type};
use crate::onnx::read::{self, MAX_FILE_BYTES};
use crate::tensors::{Tensor, TensorMap};
use crate::{Format, LoadError, LoadErrorKind};

/// A network read from a file, not yet prepared to run.
#[derive(Clone, Debug)]
pub struct Source {
    /// The format of the file.
    pub format: Format,
    /// The ONNX graph; with placeholders for the weights in `apart`.
    graph: ModelProto,
    /// The weights of a network with a specialised runtime.
    apart: Option<WeightsApart>,
    /// Metadata of the file.
    pub facts: Facts,
    /// The `state_dict` of the cards it was read with.
    state_dict: Option<StateDict>,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// Length of the file.
    pub bytes: usize,
}

/// Metadata of a model file.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// A card in the file's metadata, as JSON.
    pub card: Option<String>,
    /// The architecture detected from a state dict.
    pub architecture: Option<String>,
    /// The encoding of that architecture.
    pub encoding: Option<&'static str>,
    /// The vocabulary of its move head.
    pub vocabulary: Option<&'static str>,
    /// The licence text in the file.
    pub licence: Option<String>,
    /// Other descriptions in the file.
    pub notes: Option<String>,
}

impl Source {
    /// Reads a model file from disk.
    ///
    /// # Errors
    /// As [`Source::read`], or when the file cannot be read.
    #[cfg(not(target_family = "wasm"))]
    pub fn open(path: &std::path::Path) -> Result<Source, LoadError> {
        Source::open_with(path, None)
    }

    /// Reads a model file from disk with a (partial) card, whose `state_dict` describes the tensors. Pass the same card to
    /// [`Model::new`](crate::Model::new).
    ///
    /// # Errors
    /// As [`Source::read_with`], or when the file cannot be read.
    #[cfg(not(target_family = "wasm"))]
    pub fn open_with(path: &std::path::Path, overlay: Option<&str>) -> Result<Source, LoadError> {
        let io =
            |e: std::io::Error| LoadError::unformatted(LoadErrorKind::Io, format!("{}: {e}", path.display()));
        let file = std::fs::File::open(path).map_err(io)?;
        // Devices and pipes have no length, so the limit is on what is read.
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(io)?;
        Source::read_with(&bytes, overlay)
    }

    /// Reads a model file of any known format.
    ///
    /// # Errors
    /// If the file is invalid. No input makes it panic, hang or use more than 1 GiB.
    pub fn read(bytes: &[u8]) -> Result<Source, LoadError> {
        Source::read_with(bytes, None)
    }

    /// Reads a model file with a (partial) card, see [`Source::open_with`].
    ///
    /// # Errors
    /// As [`Source::read`], or if the card is invalid or does not fit the tensors.
    pub fn read_with(bytes: &[u8], overlay: Option<&str>) -> Result<Source, LoadError> {
        if bytes.len() > MAX_FILE_BYTES {
            return Err(too_large());
        }
        let format = sniff(bytes).ok_or_else(|| unknown_format(bytes))?;
        let (mut apart, mut state_dict) = (None, None);
        let mut known = |tensors, card: Option<String>| {
            let cards: Vec<&str> = card.as_deref().into_iter().chain(overlay).collect();
            state_dict = ModelCard::declared_state_dict(&cards)
                .map_err(|e| LoadError::new(LoadErrorKind::UnknownNetwork, format, e.to_string()))?;
            known_network(tensors, state_dict.as_ref().unwrap_or(&StateDict::default()), card, &mut apart)
        };
        let (graph, facts) = match format {
            Format::Onnx => read_onnx(bytes)?,
            Format::Safetensors => {
                let mut file = safetensors::read(bytes)?;
                known(file.tensors, file.metadata.remove(CARD_KEY))?
            }
            Format::Torch => known(torch::read(bytes)?, None)?,
            Format::Lc0 => read_lc0(bytes)?,
            Format::Tflite => read_tflite(bytes)?,
        };
        let mut hash = Sha256::new();
        // In chunks: browsers optimise code between calls, not during a long one.
        bytes.chunks(HASHED_AT_ONCE).for_each(|piece| hash.update(piece));
        let sha256 = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
        Ok(Source { format, graph, apart, facts, state_dict, sha256, bytes: bytes.len() })
    }

    /// The ONNX graph with all weights.
    ///
    /// # Errors
    /// If a weight is not finite.
    pub fn into_graph(self) -> Result<ModelProto, LoadError> {
        match self.apart {
            Some(apart) => apart.into_graph(),
            None => Ok(self.graph),
        }
    }

    /// The `state_dict` of the cards it was read with.
    pub(crate) fn state_dict_card(&self) -> Option<&StateDict> {
        self.state_dict.as_ref()
    }

    /// The ONNX graph, possibly without its weights.
    pub(crate) fn graph(&self) -> &ModelProto {
        &self.graph
    }

    /// Inputs, outputs and cost of the graph.
    ///
    /// # Errors
    /// Those of [`check`](crate::onnx::check::check).
    pub(crate) fn check(&self) -> Result<GraphInfo, LoadError> {
        match self.apart {
            Some(_) => check::check_without_weights(&self.graph),
            None => check::check(&self.graph),
        }
    }

    /// The weights of a network with a specialised runtime.
    pub(crate) fn weights_apart(&mut self) -> Option<&mut TensorMap> {
        self.apart.as_mut().map(|apart| &mut apart.tensors)
    }

    /// Converts a state dict (PyTorch or safetensors) to a safetensors file with `card` inside. Tensors are written in half
    /// precision where that is exact.
    ///
    /// # Errors
    /// If the file is not a state dict.
    pub fn state_dict_to_safetensors(bytes: &[u8], card: &ModelCard) -> Result<Vec<u8>, LoadError> {
        safetensors::write(&state_dict(bytes)?, [(CARD_KEY.to_owned(), card.to_json())].into())
    }

    /// Replaces the card in a safetensors file; the weights stay the same to the bit.
    ///
    /// # Errors
    /// If the file is of another format, or damaged.
    pub fn with_card(bytes: &[u8], card: &ModelCard) -> Result<Vec<u8>, LoadError> {
        match sniff(bytes) {
            Some(Format::Safetensors) => safetensors::with_metadata(bytes, CARD_KEY, card.to_json()),
            Some(other) => {
                let message = "cards can only be replaced in safetensors files".to_owned();
                Err(LoadError::new(LoadErrorKind::Unsupported, other, message))
            }
            None => Err(unknown_format(bytes)),
        }
    }

    /// The tensors of a state dict (PyTorch or safetensors) by name, without wrapper prefixes.
    ///
    /// # Errors
    /// If the file is not a state dict.
    pub fn state_dict(bytes: &[u8]) -> Result<BTreeMap<String, Tensor>, LoadError> {
        Ok(state_dict(bytes)?.into_tensors())
    }

    /// The number of parameters: every initializer and constant of an ONNX file, by the Chess Challenge's rule; otherwise the
    /// weights, without the shapes and indices our graph adds.
    pub fn parameters(&self) -> u64 {
        if self.format == Format::Onnx {
            return read::parameter_count(&self.graph);
        }
        let weights = self.graph.graph.iter().flat_map(|graph| &graph.initializer);
        let floats = weights.filter(|tensor| tensor.data_type == data_type::FLOAT && !tensor.dims.is_empty());
        floats.map(|tensor| tensor.dims.iter().map(|&d| d.unsigned_abs()).product::<u64>()).sum()
    }

    /// The network as an ONNX file with `card` inside.
    ///
    /// # Errors
    /// As [`Source::into_graph`].
    pub fn to_onnx(&self, card: &ModelCard) -> Result<Vec<u8>, LoadError> {
        let mut graph = self.clone().into_graph()?;
        // A graph needs no description of its tensors.
        let card = ModelCard { state_dict: None, ..card.clone() };
        graph.metadata_props.retain(|entry| entry.key != CARD_KEY);
        graph.metadata_props.push(StringStringEntryProto { key: CARD_KEY.to_owned(), value: card.to_json() });
        Ok(graph.encode_to_vec())
    }
}

fn state_dict(bytes: &[u8]) -> Result<TensorMap, LoadError> {
    let format = sniff(bytes).ok_or_else(|| unknown_format(bytes))?;
    let mut tensors = match format {
        Format::Safetensors => safetensors::read(bytes)?.tensors,
        Format::Torch => torch::read(bytes)?,
        Format::Onnx | Format::Tflite | Format::Lc0 => {
            let message =
                "not a state dict; only PyTorch and safetensors files are. Convert it to .onnx instead";
            return Err(LoadError::new(LoadErrorKind::Unsupported, format, message));
        }
    };
    tensors.strip_wrappers();
    Ok(tensors)
}

/// Chunk size of hashing.
const HASHED_AT_ONCE: usize = 16 << 10;

/// The first byte of nearly every ONNX file.
const IR_VERSION: u8 = 0x08;

/// Detects the format from the first bytes.
fn sniff(bytes: &[u8]) -> Option<Format> {
    if bytes.starts_with(&[0x1f, 0x8b]) || bytes.starts_with(&[0x0d, 0xc0, 0x01, 0, 0]) {
        return Some(Format::Lc0);
    }
    if bytes.get(4..8) == Some(b"TFL3") {
        return Some(Format::Tflite);
    }
    // A zip, or the pickle that PyTorch wrote before it used zips.
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(&[0x80, 0x02, 0x8a, 0x0a]) {
        return Some(Format::Torch);
    }
    if bytes.get(8) == Some(&b'{') {
        return Some(Format::Safetensors);
    }
    // An ONNX file has no magic: it is a protobuf message whose first field is nearly always ir_version (08),
    // and otherwise one of the other fields of ModelProto.
    let first = *bytes.first()?;
    matches!(first, IR_VERSION | 0x12 | 0x1a | 0x22 | 0x28 | 0x32 | 0x3a | 0x42 | 0x72)
        .then_some(Format::Onnx)
}

fn too_large() -> LoadError {
    let most = MAX_FILE_BYTES >> 20;
    LoadError::unformatted(LoadErrorKind::TooLarge, format!("file larger than {most} MiB"))
}

fn unknown_format(bytes: &[u8]) -> LoadError {
    let found = if bytes.is_empty() {
        "empty file".to_owned()
    } else {
        let start: Vec<_> = bytes.iter().take(8).map(|b| format!("{b:02x}")).collect();
        format!("starts with {}", start.join(" "))
    };
    let known = "ONNX, safetensors, TFLite, lc0 .pb.gz, PyTorch .pt";
    LoadError::unformatted(
        LoadErrorKind::UnknownFormat,
        format!("not a model file: {found} (known: {known})"),
    )
}

fn known_network(
    tensors: TensorMap,
    state_dict: &StateDict,
    card: Option<String>,
    weights_apart: &mut Option<WeightsApart>,
) -> Result<(ModelProto, Facts), LoadError> {
    let Recognised { graph, apart, encoding, vocabulary, architecture } =
        nets::recognise(tensors, state_dict)?;
    *weights_apart = apart;
    let facts = Facts { card, architecture: Some(architecture), encoding, vocabulary, ..Facts::default() };
    Ok((graph, facts))
}

fn read_lc0(bytes: &[u8]) -> Result<(ModelProto, Facts), LoadError> {
    let network = lc0::read(bytes)?;
    let facts = Facts {
        architecture: Some(network.architecture()),
        encoding: Some("lc0-112"),
        vocabulary: Some("lc0-1858"),
        licence: network.license,
        notes: network.training_info,
        ..Facts::default()
    };
    Ok((network.graph, facts))
}

fn read_tflite(bytes: &[u8]) -> Result<(ModelProto, Facts), LoadError> {
    let mut network = tflite::read(bytes)?;
    let card = network.metadata.remove(CARD_KEY);
    // The converter's defaults.
    const NO_DESCRIPTION: [&str; 2] = ["", "MLIR Converted."];
    let notes = network.metadata.remove("description").filter(|t| !NO_DESCRIPTION.contains(&t.as_str()));
    Ok((network.graph, Facts { card, notes, ..Facts::default() }))
}

fn read_onnx(bytes: &[u8]) -> Result<(ModelProto, Facts), LoadError> {
    let graph = read::parse(bytes).map_err(|e| {
        // The rarer first bytes are printable: a malformed file is more likely to be text.
        let rare = bytes.first() != Some(&IR_VERSION) && e.kind() == LoadErrorKind::Malformed;
        if rare { unknown_format(bytes) } else { e }
    })?;
    let card = graph.metadata_props.iter().find(|e| e.key == CARD_KEY).map(|e| e.value.clone());
    Ok((graph, Facts { card, ..Facts::default() }))
}
