//! Trained weights as model files that any player can open.
//!
//! No file gets its name before it was read back through `tabia-model` and gave the same answers as the trainer.

mod card;
mod compare;
mod int8;
mod state_dict;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use prost::Message;
use tabia_encoding::encoding;
use tabia_model::{CARD_KEY, LoadError, Model, ModelCard};

pub use self::card::Provenance;
pub use self::compare::Agreement;
use crate::NetConfig;
use crate::nets::graph;

/// The format of an exported file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Named tensors, for networks whose architecture is known by them.
    Safetensors,
    /// A graph that runs anywhere.
    Onnx,
}

impl ExportFormat {
    /// The format a file name asks for.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "safetensors" => Some(ExportFormat::Safetensors),
            "onnx" => Some(ExportFormat::Onnx),
            _ => None,
        }
    }
}

/// How exact the weights of an exported file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// As trained.
    F32,
    /// Half precision; safetensors only.
    F16,
    /// Weights of products in 8 bits with a scale for each output, activations in 8 bits as they come; ONNX only.
    Int8,
}

/// Why there is no exported file.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// This network cannot be written so.
    #[error("{0}")]
    Unsupported(String),
    /// The network could not be computed or written down.
    #[error("the network could not be computed: {0}")]
    Candle(#[from] candle_core::Error),
    /// The weights could not be laid out.
    #[error("safetensors: {0}")]
    Safetensors(#[from] safetensors::SafeTensorError),
    /// The file that was made cannot be opened.
    #[error("the exported network cannot be opened: {0}")]
    Reload(#[from] LoadError),
    /// The file that was made does not run.
    #[error("the exported network cannot be run: {0}")]
    Run(#[from] tabia_model::runtime::RunError),
    /// The file that was made gives other answers.
    #[error("the exported network disagrees with the trained one: {0}")]
    Disagrees(Agreement),
    /// The file could not be written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

/// An exported network, read back and compared.
#[derive(Debug)]
pub struct Exported {
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// How closely it agrees with the trained network.
    pub agreement: Agreement,
    /// Its parameters, as `tabia-model` counts them.
    pub parameters: u64,
}

/// Writes the weights of `arena` in the given format, reads them back and compares the answers.
///
/// # Errors
/// If the format cannot hold such a network, or the answers differ by more than the precision explains.
pub fn export(
    net: &NetConfig,
    arena: &[f32],
    format: ExportFormat,
    precision: Precision,
    provenance: &Provenance,
) -> Result<Exported, ExportError> {
    let card = card::card(net, provenance);
    let bytes = encode(net, arena, format, precision, &card)?;
    let agreement = compare::compare(net, arena, &Model::from_bytes(&bytes)?)?;
    if !agreement.within(precision) {
        return Err(ExportError::Disagrees(agreement));
    }
    // What rounding cost is part of what the network is.
    let bytes = if precision == Precision::F32 && agreement.in_search.is_none() {
        bytes
    } else {
        let mut card = card;
        let notes = card.notes.take().unwrap_or_default();
        card.notes = Some(format!("{notes} Rounding: {agreement}.").trim_start().to_owned());
        encode(net, arena, format, precision, &card)?
    };
    let parameters = Model::from_bytes(&bytes)?.parameters();
    Ok(Exported { bytes, agreement, parameters })
}

fn encode(
    net: &NetConfig,
    arena: &[f32],
    format: ExportFormat,
    precision: Precision,
    card: &ModelCard,
) -> Result<Vec<u8>, ExportError> {
    let unsupported = |message: &str| Err(ExportError::Unsupported(message.to_owned()));
    match (format, precision) {
        (ExportFormat::Safetensors, Precision::Int8) => unsupported("8-bit weights need an .onnx file"),
        (ExportFormat::Onnx, Precision::F16) => unsupported("half precision needs a .safetensors file"),
        (ExportFormat::Safetensors, _) => {
            if !state_dict::is_known(net) {
                return unsupported(
                    "this network has no state dict that is known by its names; export an .onnx file",
                );
            }
            Ok(state_dict::encode(net, arena, precision, card)?)
        }
        (ExportFormat::Onnx, _) => {
            let encoding = encoding(net.encoding()).ok_or_else(|| {
                ExportError::Unsupported(format!("the encoding {} is not known", net.encoding()))
            })?;
            let mut model = graph::graph(net, encoding, arena)?;
            if precision == Precision::Int8 {
                int8::quantise(&mut model);
            }
            let entry = tabia_model::onnx::proto::StringStringEntryProto {
                key: CARD_KEY.to_owned(),
                value: card.to_json(),
            };
            model.metadata_props.push(entry);
            Ok(model.encode_to_vec())
        }
    }
}

/// Writes `bytes` to `path` so that the file is whole or not there.
///
/// # Errors
/// If the file system refuses.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), ExportError> {
    let at = |error| ExportError::Io { path: path.to_owned(), error };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".unfinished");
    let work = path.with_file_name(name);
    let mut file = File::create(&work).map_err(at)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(at)?;
    fs::rename(&work, path).map_err(at)
}
