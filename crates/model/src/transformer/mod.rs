//! The runtime for our transformers, for one position at a time.
//!
//! A network whose weights are stored in 8 bits runs in 8 bits: each span of a row of a
//! product's inputs is quantised to whole numbers from 0 to 127 over its own range, the products and their sums are whole numbers, and everything else (norms, attention,
//! activations, the residual sums) is `f32`. Networks in floats run in `f32` throughout.
//!
//! **The same bits everywhere.** Sums of whole numbers are exact; every `f32` sum has one order of operations, with
//! multiplication and addition quantised separately, and `exp` is our own. So the answer depends neither on the
//! [instruction set](Level) nor on the target. `docs/decisions/0018-transformer-runtime.md` says why and what it costs.

mod attention;
mod elementwise;
mod exponential;
mod human;
mod kernels;
mod level;
mod linear;
mod product;
mod quantise;
mod session;
mod trial;
mod trunk;

pub use level::Level;

/// Inputs of a product in 8 bits that are quantised over one range, one after another in a row.
pub const QUANT_GROUP: usize = quantise::SPAN * crate::accumulator::block::LANES;
/// The steps of such a range.
pub const QUANT_STEPS: f32 = kernels::QUANT_MAX;

pub(crate) use session::TransformerSession;
