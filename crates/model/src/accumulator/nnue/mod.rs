//! Perspective networks for searches: both sides' views of the board through one layer, in 16 bits.
//!
//! Such a network is `(features -> width) x 2 -> 1`: the mover's view and the opponent's go through the same first layer,
//! a clipped activation, and side by side through one of several output layers, chosen by how many pieces are left.
//! [`NnueGraph::recognise`] finds one in an ONNX graph, [`Nnue`] is one made ready and shared between
//! threads, and a [`NnueState`] follows one line of play with it.
//!
//! All of it is whole numbers, so that results are the same to the bit whatever moves led to a position and whatever
//! instructions computed it. They are rounded, though: a search may take them, whoever wants the network's own numbers
//! runs its graph. `docs/decisions/0015-perspective-networks.md` says how and why.

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
