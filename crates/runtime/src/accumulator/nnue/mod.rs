//! Quantised NNUEs for searches.
//!
//! An NNUE is `(features -> width) x 2 -> 1`: the features from both perspectives go through the same feature transformer and a
//! clipped activation, and concatenated through one of several output layers, chosen by the number of pieces.
//! [`NnueGraph::recognise`] finds one in an ONNX graph, [`Nnue`] holds the quantised weights for all threads, and
//! [`NnueState`] evaluates a line of play.
//!
//! All arithmetic is on integers, so values are the same to the bit whatever moves led to a position and on every instruction
//! set. They are quantised; for exact values run the graph. `docs/decisions/0015-perspective-networks.md` says how and why.

mod block;
mod kernels;
mod net;
mod recognise;
mod state;

pub use net::Nnue;
pub use recognise::{ActivationPower, NnueGraph};
pub use state::NnueState;

#[cfg(test)]
mod tests;
