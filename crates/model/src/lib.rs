//! Model files in, numbers out.
//!
//! Every reader turns its file into one form, an ONNX graph ([`onnx`]); the graph then runs on the general
//! runtime or, where it is a dense network over sparse board features, on the incremental one.
#![deny(unsafe_code)]

pub mod dense;
mod files;
mod load_error;
mod nets;
pub mod onnx;
pub mod runtime;
mod tensors;

pub use load_error::{Format, LoadError, LoadErrorKind, Place};
