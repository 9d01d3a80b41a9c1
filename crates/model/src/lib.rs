//! Model files in, numbers out.
//!
//! Every reader produces an ONNX graph ([`tabia_onnx`]), which [`Model`] runs on the fastest runtime of [`tabia_runtime`] that
//! takes it.
#![forbid(unsafe_code)]

mod action_values;
mod card;
mod detect;
mod evaluation;
mod files;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod inputs_used;
mod load_error;
mod memory;
mod model;
mod nets;
mod readings;
mod source;
mod vocabulary;

pub use card::{
    Accuracy, CARD_KEY, CARD_VERSION, CardError, Figures, HeldOut, LinearLayer, ModelCard, OutcomeOrder,
    Perspective, PolicyHead, Rounding, ShownRating, Side, StateDict, Strength, StrengthKnot, ThinkTimeHead,
    Training, Unit, ValueHead, WdlHead, WdlScale,
};
pub use evaluation::{Candidate, Evaluation, Policy, Wdl};
pub use load_error::{Format, LoadError, LoadErrorKind};
pub use memory::{parse_size, set_memory_limit};
pub use model::{Accelerator, Model, Runtime};
pub use readings::{Reading, Readings};
#[cfg(not(target_family = "wasm"))]
pub use source::vocabulary_beside;
pub use source::{Facts, Source, WeightPrecision};
pub use tabia_onnx::{Place, tensors::Tensor};
