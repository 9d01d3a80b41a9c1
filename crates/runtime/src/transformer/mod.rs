//! The runtime for the human network and Maia-3, one position at a time.
//!
//! Networks with 8-bit weights run in 8 bits: activations are quantised to 0..=127 with a minimum and a scale per group of
//! [`QUANT_GROUP`], products and their sums are integers, and everything else (norms, attention, activations, residuals) is
//! `f32`. Float networks run in `f32`.
//!
//! **Determinism.** Integer sums are exact; every `f32` sum has one order of operations without fused multiply-add, and `exp` is
//! our own. So the outputs depend neither on the [kernel level](Level) nor on the target. See
//! `docs/decisions/0018-transformer-runtime.md`.

mod attention;
mod elementwise;
mod exponential;
mod human;
mod kernels;
mod level;
mod linear;
mod maia3;
mod product;
mod quantise;
mod rows;
mod session;
mod share;
mod trial;
mod trunk;

pub use level::Level;
pub use session::TransformerSession;

/// Inputs of a product in 8 bits that are quantised over one range, one after another in a row.
pub const QUANT_GROUP: usize = quantise::SPAN * crate::accumulator::block::LANES;
/// The largest quantised input.
pub const QUANT_STEPS: f32 = kernels::QUANT_MAX;
