//! Model files in, numbers out.
//!
//! Every reader produces an ONNX graph ([`onnx`]). It runs on the general runtime ([`runtime`]) or, where there is one for its
//! architecture, on a specialised one ([`accumulator`], [`transformer`]).
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
mod protobuf;
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
