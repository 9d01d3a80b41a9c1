//! Reading a model file of any format into an ONNX graph.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
#[cfg(not(target_family = "wasm"))]
use std::fs::File;
#[cfg(not(target_family = "wasm"))]
use std::io::{BufReader, BufWriter, Read, Seek, Write};
#[cfg(not(target_family = "wasm"))]
use std::path::Path;

use prost::Message;
use sha2::{Digest, Sha256};
use tabia_nets::NetConfig;
use tabia_onnx::ErrorKind;
use tabia_onnx::check::{self, GraphInfo};
use tabia_onnx::opset;
use tabia_onnx::proto::{ModelProto, StringStringEntryProto, data_type};
use tabia_onnx::quantise::{halve_weights, quantise_weights};
use tabia_onnx::read::{self, MAX_FILE_BYTES};
use tabia_onnx::tensors::{Tensor, TensorMap};

use crate::card::{CARD_KEY, ModelCard, StateDict};
use crate::files::lc0::Lc0Input;
use crate::files::{bullet, lc0, safetensors, stockfish, tflite, torch};
#[cfg(not(target_family = "wasm"))]
use crate::memory;
use crate::nets::{self, Recognised, WeightsApart};
use crate::vocabulary::HeadMoves;
use crate::{Format, LoadError, LoadErrorKind};

/// The precision in which weights are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WeightPrecision {
    /// As they are.
    #[default]
    Full,
    /// Half precision.
    F16,
    /// Large matrices in 8 bits with a scale for each output, without calibration.
    Int8,
}

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
    pub fn open(path: &Path) -> Result<Source, LoadError> {
        Source::open_with(path, None)
    }

    /// Reads a model file from disk with a (partial) card, whose `state_dict` describes the tensors. Pass the same card to
    /// [`Model::new`](crate::Model::new).
    ///
    /// # Errors
    /// As [`Source::read_with`], or when the file cannot be read.
    #[cfg(not(target_family = "wasm"))]
    pub fn open_with(path: &Path, overlay: Option<&str>) -> Result<Source, LoadError> {
        let vocabulary = vocabulary_beside(path)?;
        if raw_layout(overlay)?.is_none()
            && let Some(mut file) = StateDictFile::open(path)?
        {
            let (sha256, bytes) = (file.sha256()?, usize::try_from(file.length).unwrap_or(usize::MAX));
            let (tensors, card) = file.tensors()?;
            let network = Network::of_tensors(file.format, tensors, card, overlay, vocabulary.as_deref())?;
            return Ok(network.into_source(file.format, sha256, bytes));
        }
        // Devices and pipes have no length, so the limit is on what is read.
        let mut bytes = Vec::new();
        let read =
            File::open(path).and_then(|file| file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes));
        read.map_err(|e| io_error(path, &e))?;
        Source::read_with_vocabulary(&bytes, overlay, vocabulary.as_deref())
    }

    /// Reads a model file of any known format.
    ///
    /// # Errors
    /// If the file is invalid. No input makes it panic, hang or use more than 2 GiB (1 GiB in a browser); a state dict on disk
    /// may use more, see [`set_memory_limit`](crate::set_memory_limit).
    pub fn read(bytes: &[u8]) -> Result<Source, LoadError> {
        Source::read_with(bytes, None)
    }

    /// Reads a model file with a (partial) card, see [`Source::open_with`].
    ///
    /// # Errors
    /// As [`Source::read`], or if the card is invalid or does not fit the tensors.
    pub fn read_with(bytes: &[u8], overlay: Option<&str>) -> Result<Source, LoadError> {
        Source::read_with_vocabulary(bytes, overlay, None)
    }

    /// The same with the `vocab.npy` of a policy that does not have all 1968 moves. One that does not fit the head is ignored.
    ///
    /// # Errors
    /// As [`Source::read_with`], or if the vocabulary is needed and damaged.
    pub fn read_with_vocabulary(
        bytes: &[u8],
        overlay: Option<&str>,
        vocabulary: Option<&[u8]>,
    ) -> Result<Source, LoadError> {
        if bytes.len() > MAX_FILE_BYTES {
            return Err(too_large());
        }
        if let Some(error) = stockfish::refusal(bytes) {
            return Err(error);
        }
        let raw = raw_layout(overlay)?;
        let format = match raw {
            Some(_) => Format::Bullet,
            None => sniff(bytes).ok_or_else(|| unknown_format(bytes))?,
        };
        let of_tensors = |tensors, card| Network::of_tensors(format, tensors, card, overlay, vocabulary);
        let mut network = match format {
            Format::Onnx => read_onnx(bytes)?.into(),
            Format::Safetensors => {
                let mut file = safetensors::read(bytes)?;
                of_tensors(file.tensors, file.metadata.remove(CARD_KEY))?
            }
            Format::Torch => of_tensors(torch::read(bytes)?, None)?,
            Format::Bullet => match &raw {
                Some(layout) => of_tensors(bullet::read(bytes, layout)?, None)?,
                None => return Err(unknown_format(bytes)),
            },
            Format::Lc0 => read_lc0(bytes)?.into(),
            Format::Tflite => read_tflite(bytes)?.into(),
        };
        if let (Format::Onnx | Format::Tflite, Some(vocabulary)) = (format, vocabulary) {
            // It may belong to another network of the folder.
            if let Ok(moves) = HeadMoves::read(vocabulary) {
                moves.widen(&mut network.graph);
            }
        }
        let mut hash = Sha256::new();
        // In chunks: browsers optimise code between calls, not during a long one.
        bytes.chunks(HASHED_AT_ONCE).for_each(|piece| hash.update(piece));
        Ok(network.into_source(format, hexadecimal(hash), bytes.len()))
    }

    /// The ONNX graph with all weights.
    ///
    /// # Errors
    /// If a weight is not finite.
    pub fn into_graph(self) -> Result<ModelProto, LoadError> {
        match self.apart {
            Some(apart) => apart.into_graph().map_err(|e| LoadError::of_tensors(self.format, e)),
            None => Ok(self.graph),
        }
    }

    /// The network and its weights, if it has a runtime of its own.
    pub fn into_transformer(self) -> Option<(NetConfig, TensorMap)> {
        self.apart.map(|WeightsApart { tensors, detected }| (detected.net, tensors))
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
    /// Those of [`check`](tabia_onnx::check::check).
    pub(crate) fn check(&self) -> Result<GraphInfo, LoadError> {
        Ok(match self.apart {
            Some(_) => check::check_without_weights(&self.graph)?,
            None => check::check(&self.graph)?,
        })
    }

    /// The weights of a network with a specialised runtime.
    pub(crate) fn weights_apart(&mut self) -> Option<&mut WeightsApart> {
        self.apart.as_mut()
    }

    /// Converts a state dict (PyTorch or safetensors) to a safetensors file with `card` inside. Tensors are written in half
    /// precision where that is exact.
    ///
    /// # Errors
    /// If the file is not a state dict.
    pub fn state_dict_to_safetensors(bytes: &[u8], card: &ModelCard) -> Result<Vec<u8>, LoadError> {
        Source::state_dict_as(bytes, card, None, WeightPrecision::Full)
    }

    /// The same in a given precision, with the moves of a `vocab.npy` inside if the policy head has as many logits.
    ///
    /// # Errors
    /// If the file is not a state dict, or the vocabulary is damaged.
    pub fn state_dict_as(
        bytes: &[u8],
        card: &ModelCard,
        vocabulary: Option<&[u8]>,
        precision: WeightPrecision,
    ) -> Result<Vec<u8>, LoadError> {
        let mut tensors = state_dict(bytes)?;
        let format = sniff(bytes).unwrap_or(Format::Safetensors);
        add_vocabulary(&mut tensors, card, vocabulary, format)?;
        safetensors::write(&tensors, precision, [(CARD_KEY.to_owned(), card.to_json())].into())
    }

    /// The same from a file to a file, with the `vocab.npy` beside it. The weights are in memory once.
    ///
    /// # Errors
    /// As [`Source::state_dict_as`], or when a file cannot be read or written.
    #[cfg(not(target_family = "wasm"))]
    pub fn convert_state_dict(
        from: &Path,
        to: &Path,
        card: &ModelCard,
        precision: WeightPrecision,
    ) -> Result<(), LoadError> {
        let Some(mut file) = StateDictFile::open(from)? else {
            return Err(not_a_state_dict(None));
        };
        let (mut tensors, _) = file.tensors()?;
        tensors.strip_wrappers();
        add_vocabulary(&mut tensors, card, vocabulary_beside(from)?.as_deref(), file.format)?;
        let mut out = BufWriter::new(File::create(to).map_err(|e| io_error(to, &e))?);
        let metadata = [(CARD_KEY.to_owned(), card.to_json())].into();
        safetensors::write_to(&tensors, precision, metadata, &mut out)?;
        out.flush().map_err(|e| io_error(to, &e))
    }

    /// Converts a file that is read by the `raw` layout of its card to a safetensors file. Its card no longer has the layout.
    ///
    /// # Errors
    /// If the card has no such layout, or the file does not fit it.
    pub fn raw_to_safetensors(bytes: &[u8], card: &ModelCard) -> Result<(Vec<u8>, ModelCard), LoadError> {
        let Some(layout) = raw_layout(Some(&card.to_json()))? else {
            let message = "the card has no layout of a raw file";
            return Err(LoadError::new(LoadErrorKind::UnknownNetwork, Format::Bullet, message));
        };
        let described = card.state_dict.clone().map(|described| StateDict { raw: None, ..described });
        let described = described.filter(|described| *described != StateDict::default());
        let card = ModelCard { state_dict: described, ..card.clone() };
        let tensors = bullet::read(bytes, &layout)?;
        let metadata = [(CARD_KEY.to_owned(), card.to_json())].into();
        Ok((safetensors::write(&tensors, WeightPrecision::Full, metadata)?, card))
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

    /// The card of a file that ends in bullet's padding, read as bullet's example network: for venues where nobody can say what
    /// the file is.
    pub fn assumed_card(bytes: &[u8]) -> Option<String> {
        let layout = bullet::suggestion(bytes).filter(|_| bullet::is_padded(bytes))?;
        Some(format!(r#"{{"state_dict": {{"raw": "{layout}"}}}}"#))
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
        self.to_onnx_as(card, WeightPrecision::Full, None)
    }

    /// The same with rounded weights, which are computed with in floats, and a lower opset.
    ///
    /// # Errors
    /// As [`Source::into_graph`], or if the graph needs a newer opset.
    pub fn to_onnx_as(
        &self,
        card: &ModelCard,
        precision: WeightPrecision,
        opset: Option<i64>,
    ) -> Result<Vec<u8>, LoadError> {
        self.clone().into_onnx_as(card, precision, opset)
    }

    /// The same without a copy of the weights.
    ///
    /// # Errors
    /// As [`Source::to_onnx_as`].
    pub fn into_onnx_as(
        self,
        card: &ModelCard,
        precision: WeightPrecision,
        opset: Option<i64>,
    ) -> Result<Vec<u8>, LoadError> {
        let mut graph = self.into_graph()?;
        match precision {
            WeightPrecision::Full => {}
            WeightPrecision::Int8 => quantise_weights(&mut graph),
            WeightPrecision::F16 => halve_weights(&mut graph),
        }
        if let Some(opset) = opset {
            opset::lower(&mut graph, opset)?;
        }
        // A graph needs no description of its tensors.
        let card = ModelCard { state_dict: None, ..card.clone() };
        graph.metadata_props.retain(|entry| entry.key != CARD_KEY);
        graph.metadata_props.push(StringStringEntryProto { key: CARD_KEY.to_owned(), value: card.to_json() });
        Ok(graph.encode_to_vec())
    }

    /// The network as a TensorFlow Lite file with `card` inside, if its graph is dense and elementwise.
    ///
    /// # Errors
    /// If an operator cannot be written, or a weight is not finite.
    pub fn to_tflite(&self, card: &ModelCard) -> Result<Vec<u8>, LoadError> {
        let graph = self.clone().into_graph()?;
        let card = ModelCard { state_dict: None, ..card.clone() };
        tflite::write(&graph, &[(CARD_KEY, &card.to_json())])
    }
}

/// The bytes of `FILE.vocab.npy`, or of `vocab.npy` in the folder of a model file.
///
/// # Errors
/// If there is one that cannot be read.
#[cfg(not(target_family = "wasm"))]
pub fn vocabulary_beside(path: &Path) -> Result<Option<Vec<u8>>, LoadError> {
    let mut own = path.file_name().unwrap_or_default().to_owned();
    own.push(".vocab.npy");
    for file in [path.with_file_name(own), path.with_file_name("vocab.npy")] {
        if let Ok(opened) = File::open(&file) {
            let mut bytes = Vec::new();
            opened.take(LARGEST_VOCABULARY).read_to_end(&mut bytes).map_err(|e| io_error(&file, &e))?;
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// More than any `vocab.npy` has.
#[cfg(not(target_family = "wasm"))]
const LARGEST_VOCABULARY: u64 = 1 << 17;

fn state_dict(bytes: &[u8]) -> Result<TensorMap, LoadError> {
    let format = sniff(bytes).ok_or_else(|| unknown_format(bytes))?;
    let mut tensors = match format {
        Format::Safetensors => safetensors::read(bytes)?.tensors,
        Format::Torch => torch::read(bytes)?,
        Format::Onnx | Format::Tflite | Format::Lc0 | Format::Bullet => {
            return Err(not_a_state_dict(Some(format)));
        }
    };
    tensors.strip_wrappers();
    Ok(tensors)
}

fn not_a_state_dict(format: Option<Format>) -> LoadError {
    let message = "not a state dict; only PyTorch and safetensors files are. Convert it to .onnx instead";
    match format {
        Some(format) => LoadError::new(LoadErrorKind::Unsupported, format, message),
        None => LoadError::unformatted(LoadErrorKind::Unsupported, message),
    }
}

fn add_vocabulary(
    tensors: &mut TensorMap,
    card: &ModelCard,
    vocabulary: Option<&[u8]>,
    format: Format,
) -> Result<(), LoadError> {
    if let Some(vocabulary) = vocabulary {
        let state_dict = card.state_dict.clone().unwrap_or_default();
        nets::add_vocabulary(tensors, &state_dict, vocabulary)
            .map_err(|error| LoadError::of_tensors(format, error))?;
    }
    Ok(())
}

/// A state dict on disk, which is read in pieces.
#[cfg(not(target_family = "wasm"))]
struct StateDictFile<'a> {
    path: &'a Path,
    format: Format,
    input: BufReader<File>,
    length: u64,
}

#[cfg(not(target_family = "wasm"))]
impl<'a> StateDictFile<'a> {
    /// Opens a file that begins as a state dict; `None` for any other.
    fn open(path: &'a Path) -> Result<Option<StateDictFile<'a>>, LoadError> {
        let io = |e: std::io::Error| io_error(path, &e);
        let file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        let length = metadata.len();
        // Bullet's weights, which may begin with any bytes, are told by the length and the end.
        if !metadata.is_file() || usize::try_from(length).is_ok_and(bullet::may_have_length) {
            return Ok(None);
        }
        let mut input = BufReader::new(file);
        let mut start = Vec::new();
        input.by_ref().take(16).read_to_end(&mut start).map_err(io)?;
        input.rewind().map_err(io)?;
        let format = match stockfish::refusal(&start) {
            None => sniff(&start).filter(|format| matches!(format, Format::Safetensors | Format::Torch)),
            Some(_) => None,
        };
        Ok(format.map(|format| StateDictFile { path, format, input, length }))
    }

    fn sha256(&mut self) -> Result<String, LoadError> {
        let mut hash = Sha256::new();
        let mut buffer = vec![0; 1 << 20];
        loop {
            match self.input.read(&mut buffer).map_err(|e| io_error(self.path, &e))? {
                0 => break,
                read => hash.update(buffer.get(..read).unwrap_or_default()),
            }
        }
        self.input.rewind().map_err(|e| io_error(self.path, &e))?;
        Ok(hexadecimal(hash))
    }

    /// The tensors and the card.
    fn tensors(&mut self) -> Result<(TensorMap, Option<String>), LoadError> {
        let most = memory::weights_of_file(self.length);
        match self.format {
            Format::Safetensors => {
                let mut file = safetensors::read_from(&mut self.input, most)?;
                Ok((file.tensors, file.metadata.remove(CARD_KEY)))
            }
            _ => Ok((torch::read_from(&mut self.input, most)?, None)),
        }
    }
}

#[cfg(not(target_family = "wasm"))]
fn io_error(path: &Path, cause: &std::io::Error) -> LoadError {
    LoadError::unformatted(LoadErrorKind::Io, format!("{}: {cause}", path.display()))
}

fn hexadecimal(hash: Sha256) -> String {
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

/// Chunk size of hashing.
const HASHED_AT_ONCE: usize = 16 << 10;

/// The first byte of nearly every ONNX file.
const IR_VERSION: u8 = 0x08;

/// Detects the format from the first bytes.
fn sniff(bytes: &[u8]) -> Option<Format> {
    // Weights may begin with any bytes.
    if bullet::is_padded(bytes) {
        return None;
    }
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

/// The layout that a card gives for a file without a header.
fn raw_layout(overlay: Option<&str>) -> Result<Option<bullet::Layout>, LoadError> {
    let wrong = |e: String| LoadError::new(LoadErrorKind::UnknownNetwork, Format::Bullet, e);
    let cards: Vec<&str> = overlay.into_iter().collect();
    let declared = ModelCard::declared_state_dict(&cards).map_err(|e| wrong(e.to_string()))?;
    declared.and_then(|declared| declared.raw).map(|text| text.parse().map_err(wrong)).transpose()
}

fn too_large() -> LoadError {
    let most = MAX_FILE_BYTES >> 20;
    LoadError::unformatted(LoadErrorKind::TooLarge, format!("file larger than {most} MiB"))
}

fn unknown_format(bytes: &[u8]) -> LoadError {
    if let Some(layout) = bullet::suggestion(bytes) {
        let message = format!(
            "not a model file that says what it is, but as long as a network of bullet ({layout}): pass --as {layout} to \
             `tabia model`, or write {{\"state_dict\": {{\"raw\": \"{layout}\"}}}} into FILE.card.json"
        );
        return LoadError::unformatted(LoadErrorKind::UnknownFormat, message);
    }
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

/// The network of a file.
struct Network {
    graph: ModelProto,
    facts: Facts,
    apart: Option<WeightsApart>,
    state_dict: Option<StateDict>,
}

impl From<(ModelProto, Facts)> for Network {
    fn from((graph, facts): (ModelProto, Facts)) -> Network {
        Network { graph, facts, apart: None, state_dict: None }
    }
}

impl Network {
    /// The known network that has these tensors.
    fn of_tensors(
        format: Format,
        tensors: TensorMap,
        card: Option<String>,
        overlay: Option<&str>,
        vocabulary: Option<&[u8]>,
    ) -> Result<Network, LoadError> {
        let cards: Vec<&str> = card.as_deref().into_iter().chain(overlay).collect();
        let state_dict = ModelCard::declared_state_dict(&cards)
            .map_err(|e| LoadError::new(LoadErrorKind::UnknownNetwork, format, e.to_string()))?;
        let described = state_dict.clone().unwrap_or_default();
        let Recognised { graph, apart, encoding, vocabulary, architecture } =
            nets::recognise(tensors, &described, vocabulary).map_err(|e| LoadError::of_tensors(format, e))?;
        let facts =
            Facts { card, architecture: Some(architecture), encoding, vocabulary, ..Facts::default() };
        Ok(Network { graph, facts, apart, state_dict })
    }

    fn into_source(self, format: Format, sha256: String, bytes: usize) -> Source {
        let Network { graph, facts, apart, state_dict } = self;
        Source { format, graph, apart, facts, state_dict, sha256, bytes }
    }
}

fn read_lc0(bytes: &[u8]) -> Result<(ModelProto, Facts), LoadError> {
    let network = lc0::read(bytes)?;
    let facts = Facts {
        architecture: Some(network.architecture()),
        encoding: Some(match network.input {
            Lc0Input::Classical => "lc0-112",
            Lc0Input::CastlingPlanes => "lc0-112-castling",
        }),
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
        let rare = bytes.first() != Some(&IR_VERSION) && e.kind() == ErrorKind::Malformed;
        if rare { unknown_format(bytes) } else { e.into() }
    })?;
    let card = graph.metadata_props.iter().find(|e| e.key == CARD_KEY).map(|e| e.value.clone());
    Ok((graph, Facts { card, ..Facts::default() }))
}
