//! Incremental evaluation of MLPs and NNUEs over sparse features.
//!
//! The first layer over a [`SparseEncoding`](tabia_encoding::SparseEncoding) is kept in accumulators, which a move updates by
//! the few features it changes; only the small rest of the network runs for every position. [`MlpGraph::recognise`] finds such
//! networks in an ONNX graph, [`AccumulatorNet`] holds the weights for all threads, and [`AccumulatorState`] evaluates a line
//! of play.
//!
//! **Determinism.** The outputs for a position are the same to the bit whatever moves led there, on every instruction set and
//! target:
//! - accumulators are integers ([fixed point](AccumulatorNet)), so the order of updates does not matter;
//! - the rest is `f32` in one order of operations, written once over sixteen virtual lanes, without fused multiply-add;
//! - `exp` and `tanh` are portable implementations.
//!
//! Where `f32` sums overflow, NaNs may differ in their bits.
//!
//! `docs/decisions/0005-fixed-point-accumulators.md` says why.

mod activation;
pub(crate) mod block;
mod first_layer;
mod forward;
pub(crate) mod kernels;
mod layer;
mod net;
pub mod nnue;
mod recognise;
mod stack;
mod state;
mod update;

pub use activation::Activation;
pub use kernels::Level;
pub use net::AccumulatorNet;
pub use recognise::{Linear, MlpGraph};
pub use state::AccumulatorState;

#[cfg(test)]
mod tests;
