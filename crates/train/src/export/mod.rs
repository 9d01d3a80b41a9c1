//! Trained weights as model files that any player can open.
//!
//! A file is renamed into place only after it was read back through `tabia-model` and agreed with the trainer.

mod accuracy;
mod calibration;
mod card;
mod compare;
mod from_file;
mod provenance;
mod state_dict;
mod temperature;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use prost::Message;
use tabia_model::{Accuracy, CARD_KEY, HeldOut, LoadError, Model, ModelCard, Rounding};
use tabia_onnx::lower::{LowerError, to_onnx};
use tabia_onnx::quantise;

pub use self::accuracy::{ExportWork, Measurement};
use self::calibration::Calibrated;
pub use self::compare::Agreement;
pub use self::from_file::{FromFileError, from_file};
pub use self::provenance::Provenance;
pub use self::temperature::divide_move_logits;
use crate::{NetConfig, SupplyError};

/// Training positions an export uses for calibration.
pub const CALIBRATION_POSITIONS: u64 = calibration::POSITIONS as u64;

/// The format of an exported file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportFormat {
    /// Named tensors, for networks whose architecture is known by them.
    Safetensors,
    /// A graph that runs anywhere.
    Onnx,
}

impl ExportFormat {
    /// The format of a file name's extension.
    pub fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "safetensors" => Some(ExportFormat::Safetensors),
            "onnx" => Some(ExportFormat::Onnx),
            _ => None,
        }
    }
}

/// The precision of exported weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// As trained.
    F32,
    /// Half precision; safetensors only.
    F16,
    /// Large weights in 8 bits with a scale for each output, the others in a safetensors file in 16. Products take 8-bit
    /// activations, rounded as they come, in an ONNX file and in the human network; other networks of a safetensors file
    /// are computed in floats.
    Int8,
    /// The same weights, and the network is computed in floats whatever the format.
    Int8Weights,
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::F32 => "f32",
            Precision::F16 => "f16",
            Precision::Int8 => "int8",
            Precision::Int8Weights => "int8 weights",
        })
    }
}

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The format does not support this network.
    #[error("{0}")]
    Unsupported(String),
    /// The network could not be computed or written down.
    #[error("the network could not be computed: {0}")]
    Candle(#[from] candle_core::Error),
    /// The network could not be written as a graph.
    #[error(transparent)]
    Lower(#[from] LowerError),
    /// The weights could not be laid out.
    #[error("safetensors: {0}")]
    Safetensors(#[from] safetensors::SafeTensorError),
    /// The exported file cannot be opened.
    #[error("the exported network cannot be opened: {0}")]
    Reload(#[from] LoadError),
    /// The exported file does not run.
    #[error("the exported network cannot be run: {0}")]
    Run(#[from] tabia_runtime::RunError),
    /// The file disagrees with the trained network.
    #[error("the exported network disagrees with the trained one: {0}")]
    Disagrees(Agreement),
    /// There are no positions to measure it on.
    #[error(transparent)]
    Data(#[from] SupplyError),
}

/// An exported network, read back and compared.
#[derive(Debug)]
pub struct Exported {
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// How closely it agrees with the trained network.
    pub agreement: Agreement,
    /// Its accuracy on held-out positions beside the trained network's, if it was measured.
    pub accuracy: Option<Accuracy>,
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
    write(net, arena, format, precision, provenance, None)
}

/// The same, with the file's accuracy on held-out positions beside the trained network's in the card.
///
/// # Errors
/// As [`export`], and if the sets cannot be read or hold nothing out.
pub fn export_measured(
    arena: &[f32],
    format: ExportFormat,
    precision: Precision,
    provenance: &Provenance,
    measurement: &mut Measurement<'_>,
) -> Result<Exported, ExportError> {
    let net = measurement.config.net.clone();
    write(&net, arena, format, precision, provenance, Some(measurement))
}

fn write(
    net: &NetConfig,
    arena: &[f32],
    format: ExportFormat,
    precision: Precision,
    provenance: &Provenance,
    mut measurement: Option<&mut Measurement<'_>>,
) -> Result<Exported, ExportError> {
    let mut card = card::card(net, provenance);
    let calibrated = match &mut measurement {
        Some(Measurement { config, sets, progress, .. })
            if format == ExportFormat::Safetensors
                && matches!(precision, Precision::Int8 | Precision::Int8Weights) =>
        {
            calibration::calibrate(net, arena, calibration::observe(config, arena, sets, progress)?)
        }
        _ => Calibrated { arena: arena.to_vec(), matrices: BTreeMap::new() },
    };
    let encode = |card: &ModelCard| encode(net, &calibrated, format, precision, card);
    let model = Model::from_bytes(&encode(&card)?)?;
    let agreement = compare::compare(net, arena, &model)?;
    if !agreement.within(precision) {
        return Err(ExportError::Disagrees(agreement));
    }
    // The card records the cost of rounding.
    if precision != Precision::F32 || agreement.in_search.is_some() {
        let notes = card.notes.take().unwrap_or_default();
        card.notes = Some(format!("{notes} Rounding: {agreement}.").trim_start().to_owned());
    }
    let accuracy = measurement.map(|measurement| measurement.measure(arena, &model)).transpose()?;
    // Weights that no run evaluated, such as a mean of several, are known by what was measured now.
    if let (Some(accuracy), true) = (&accuracy, card.held_out.is_empty()) {
        let Accuracy { positions, trained, .. } = *accuracy;
        card.held_out.push(HeldOut { group: "all".to_owned(), positions, figures: trained });
    }
    card.rounding = Some(Rounding { weights: precision.to_string(), accuracy });
    let bytes = encode(&card)?;
    let again = Model::from_bytes(&bytes)?;
    Ok(Exported { bytes, agreement, accuracy, parameters: again.parameters() })
}

/// The output of a file for this value head: a probability where the head is a logit.
fn file_value(net: &NetConfig, number: f32) -> f32 {
    if net.outputs().value_is_logit { 1.0 / (1.0 + (-number).exp()) } else { number }
}

fn encode(
    net: &NetConfig,
    Calibrated { arena, matrices }: &Calibrated,
    format: ExportFormat,
    precision: Precision,
    card: &ModelCard,
) -> Result<Vec<u8>, ExportError> {
    let unsupported = |message: &str| Err(ExportError::Unsupported(message.to_owned()));
    match (format, precision) {
        (ExportFormat::Safetensors, _) => {
            if !net.is_detectable() {
                return unsupported(
                    "this network has no state dict that is known by its names; export an .onnx file",
                );
            }
            Ok(state_dict::encode(net, arena, precision, card, matrices)?)
        }
        (ExportFormat::Onnx, _) => {
            let mut model = to_onnx(net, &net.table(), &net.inputs(), |entry| entry.of(arena))?;
            match precision {
                Precision::Int8 => quantise::quantise(&mut model),
                Precision::Int8Weights => quantise::quantise_weights(&mut model),
                Precision::F16 => quantise::halve_weights(&mut model),
                Precision::F32 => {}
            }
            let entry =
                tabia_onnx::proto::StringStringEntryProto { key: CARD_KEY.to_owned(), value: card.to_json() };
            model.metadata_props.push(entry);
            Ok(model.encode_to_vec())
        }
    }
}
