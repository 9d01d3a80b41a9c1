//! CPU kernels: candle custom operations with their own gradients.
//!
//! Only operations whose own kernel makes a training on a CPU at least about a fifth faster have one; the rest is candle's.
//! They compute what the plain layers of [`Tensors`](crate::tensors::Tensors) compute, up to rounding: those are the
//! specification, and tests compare gradients of both for every kind of network. Results do not depend on the number of
//! threads: sums have a fixed order.

mod activation;
mod conv;
mod norm;
mod policy;
pub(crate) mod product;
pub(crate) mod rows;
mod softmax;
mod sparse;

pub(crate) use self::activation::clipped_relu;
pub(crate) use self::conv::conv;
pub(crate) use self::norm::rms_norm;
pub(crate) use self::policy::policy_loss;
pub(crate) use self::softmax::softmax;
pub(crate) use self::sparse::{SparseRows, sparse_linear};
