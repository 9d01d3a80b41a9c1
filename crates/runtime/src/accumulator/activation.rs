use super::{block::LANES, kernels::Lanes};

/// The activation function of a layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// None.
    Identity,
    /// `max(x, 0)`.
    Relu,
    /// Clipped to a range.
    Clamp {
        /// The lower bound.
        low: f32,
        /// The upper bound, not below the lower one.
        high: f32,
    },
    /// `x` if positive, else `slope * x`.
    LeakyRelu {
        /// The slope for negative inputs.
        slope: f32,
    },
    /// The logistic function.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
}

/// The logistic function, with the same bits on every platform.
pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + libm::expf(-x))
}

/// The hyperbolic tangent, with the same bits on every platform.
pub(super) fn tanh(x: f32) -> f32 {
    libm::tanhf(x)
}

impl Activation {
    /// Applies it to sixteen lanes.
    #[inline(always)]
    pub(super) fn apply<L: Lanes>(self, lanes: L, x: L::Floats) -> L::Floats {
        match self {
            Activation::Identity => x,
            Activation::Relu => lanes.at_least(x, lanes.splat(0.0)),
            Activation::Clamp { low, high } => {
                lanes.at_most(lanes.at_least(x, lanes.splat(low)), lanes.splat(high))
            }
            Activation::LeakyRelu { slope } => lanes.positive_or(x, lanes.mul(x, lanes.splat(slope))),
            Activation::Sigmoid => each(lanes, x, sigmoid),
            Activation::Tanh => each(lanes, x, tanh),
        }
    }
}

#[inline(always)]
fn each<L: Lanes>(lanes: L, x: L::Floats, function: fn(f32) -> f32) -> L::Floats {
    let mut values = [0.0; LANES];
    lanes.store(x, &mut values);
    lanes.load(&values.map(function))
}
