//! Model files in, numbers out.
//!
//! Every reader turns its file into one form, an ONNX graph ([`onnx`]); the graph then runs on the general
//! runtime or, where it is a dense network over sparse board features, on the incremental one.
#![deny(unsafe_code)]

pub mod accumulator;
mod card;
mod detect;
mod evaluation;
mod files;
#[cfg(feature = "fuzzing")]
pub mod fuzz;
mod load_error;
mod model;
mod nets;
pub mod onnx;
pub mod runtime;
mod source;
mod tensors;
pub mod transformer;

pub use card::{
    Accuracy, CARD_KEY, CARD_VERSION, CardError, Figures, HeldOut, LinearLayer, ModelCard, Perspective,
    PolicyHead, Rounding, ShownRating, Side, StateDict, Strength, StrengthKnot, ThinkTimeHead, Training,
    Unit, ValueHead, WdlHead, WdlScale,
};
pub use evaluation::{Candidate, Evaluation, Policy, Wdl};
pub use load_error::{Format, LoadError, LoadErrorKind, Place};
pub use model::{Model, Runtime};
pub use nets::{LowerError, to_onnx};
pub use source::{Facts, Source};
pub use tensors::Tensor;
