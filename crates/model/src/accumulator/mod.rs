//! The incremental runtime for dense networks over sparse board features.
//!
//! A network whose first layer is linear in a [`SparseEncoding`](tabia_encoding::SparseEncoding) keeps that
//! layer's sums, and a move updates them by the few features it changes; only the small rest of the network
//! runs for every position. [`MlpGraph::recognise`] finds such networks in an ONNX graph, [`AccumulatorNet`] is one
//! made ready to run and shared between threads, and an [`AccumulatorState`] follows one line of play with it.
//!
//! **The same bits everywhere.** For a given network and position the outputs are identical to the last bit
//! whichever moves led there, on every instruction set and on every target:
//! - first-layer sums are whole numbers ([fixed point](AccumulatorNet)), so their order does not matter;
//! - everything after is `f32` in one order of operations, written once over sixteen virtual lanes, with
//!   multiplication and addition rounded separately;
//! - `exp` and `tanh` come from one portable implementation, not from the platform.
//!
//! Where `f32` sums overflow, a NaN is a NaN everywhere, but not always with the same bits.
//!
//! `docs/decisions/0005-fixed-point-accumulators.md` says why.

mod accumulate;
mod activation;
pub(crate) mod block;
mod first_layer;
mod forward;
pub(crate) mod kernels;
mod layer;
mod net;
pub mod nnue;
mod recognise;
mod state;

pub use activation::Activation;
pub use kernels::Level;
pub use net::AccumulatorNet;
pub use recognise::{Linear, MlpGraph};
pub use state::AccumulatorState;

#[cfg(test)]
mod tests;
