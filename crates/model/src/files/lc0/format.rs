//! The architecture of a weight file, and whether it is supported.

use super::messages::Net;
use super::refuse;
use crate::{LoadError, LoadErrorKind};

/// The type of the policy head. The graph has the same 1858 logits for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lc0Policy {
    /// A 1x1 convolution and a dense layer to the 1858 moves.
    Classical,
    /// Two 3x3 convolutions to 80 planes, of which 73 hold a kind of move by its square of origin.
    Convolution,
}

/// The type of the value head, from the mover's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lc0Value {
    /// Output `wdl`: probabilities of win, draw and loss.
    Wdl,
    /// Output `value`: the expected outcome from -1 to 1.
    Classical,
}

/// The activation function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    Relu,
    Mish,
}

/// A supported architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Architecture {
    pub(super) policy: Lc0Policy,
    pub(super) value: Lc0Value,
    pub(super) has_moves_left: bool,
    pub(super) activation: Activation,
}

/// An enum of the format message, with the values we support.
struct Enum {
    what: &'static str,
    /// Names by value, from 0.
    names: &'static [&'static str],
    /// Names of larger values.
    more: &'static [(i32, &'static str)],
    supported: &'static [i32],
}

impl Enum {
    /// # Errors
    /// If the value is not supported.
    fn check(&self, value: Option<i32>) -> Result<i32, LoadError> {
        let value = value.unwrap_or(0);
        if self.supported.contains(&value) {
            return Ok(value);
        }
        let expected: Vec<_> = self.supported.iter().map(|&value| self.name(value)).collect();
        let (what, name) = (self.what, self.name(value));
        let message = format!("unsupported {what} {name} (expected {})", expected.join(" or "));
        Err(refuse(LoadErrorKind::Unsupported, message))
    }

    fn name(&self, value: i32) -> String {
        let name = usize::try_from(value).ok().and_then(|index| self.names.get(index));
        let name = name.or_else(|| self.more.iter().find(|more| more.0 == value).map(|more| &more.1));
        name.map_or_else(|| format!("number {value}"), |&name| name.to_owned())
    }
}

const WEIGHTS_ENCODING: Enum = Enum {
    what: "weights encoding",
    names: &["UNKNOWN", "LINEAR16", "FLOAT16", "BFLOAT16", "FLOAT32"],
    more: &[],
    supported: &[1],
};

const INPUT: Enum = Enum {
    what: "input format",
    names: &[
        "INPUT_UNKNOWN",
        "INPUT_CLASSICAL_112_PLANE",
        "INPUT_112_WITH_CASTLING_PLANE",
        "INPUT_112_WITH_CANONICALIZATION",
        "INPUT_112_WITH_CANONICALIZATION_HECTOPLIES",
        "INPUT_112_WITH_CANONICALIZATION_V2",
    ],
    more: &[
        (132, "INPUT_112_WITH_CANONICALIZATION_HECTOPLIES_ARMAGEDDON"),
        (133, "INPUT_112_WITH_CANONICALIZATION_V2_ARMAGEDDON"),
    ],
    supported: &[1],
};

const NETWORK: Enum = Enum {
    what: "network",
    names: &[
        "NETWORK_UNKNOWN",
        "NETWORK_CLASSICAL",
        "NETWORK_SE",
        "NETWORK_CLASSICAL_WITH_HEADFORMAT",
        "NETWORK_SE_WITH_HEADFORMAT",
        "NETWORK_ONNX",
        "NETWORK_ATTENTIONBODY_WITH_HEADFORMAT",
        "NETWORK_ATTENTIONBODY_WITH_MULTIHEADFORMAT",
    ],
    more: &[(134, "NETWORK_AB_LEGACY_WITH_MULTIHEADFORMAT")],
    supported: &[1, 2, 3, 4],
};

const POLICY: Enum = Enum {
    what: "policy head",
    names: &["POLICY_UNKNOWN", "POLICY_CLASSICAL", "POLICY_CONVOLUTION", "POLICY_ATTENTION"],
    more: &[],
    supported: &[1, 2],
};

const VALUE: Enum = Enum {
    what: "value head",
    names: &["VALUE_UNKNOWN", "VALUE_CLASSICAL", "VALUE_WDL", "VALUE_PARAM"],
    more: &[],
    supported: &[1, 2],
};

const ACTIVATION: Enum = Enum {
    what: "activation",
    names: &["DEFAULT_ACTIVATION_RELU", "DEFAULT_ACTIVATION_MISH"],
    more: &[],
    supported: &[0, 1],
};

/// Checks that weights are LINEAR16: 16-bit numbers between a minimum and a maximum.
pub(super) fn check_encoding(encoding: Option<i32>) -> Result<(), LoadError> {
    WEIGHTS_ENCODING.check(encoding).map(drop)
}

impl Architecture {
    pub(super) fn of(net: &Net) -> Result<Self, LoadError> {
        refuse_other_bodies(net)?;
        let format = net.format.unwrap_or_default();
        check_encoding(format.weights_encoding)?;
        let mut architecture = Architecture {
            policy: Lc0Policy::Classical,
            value: Lc0Value::Classical,
            has_moves_left: false,
            activation: Activation::Relu,
        };
        // The oldest files have no format message, and older ones do not name the heads: they are classical.
        let Some(format) = format.network_format else { return Ok(architecture) };
        INPUT.check(format.input)?;
        if NETWORK.check(format.network)? > 2 {
            if POLICY.check(format.policy)? == 2 {
                architecture.policy = Lc0Policy::Convolution;
            }
            if VALUE.check(format.value)? == 2 {
                architecture.value = Lc0Value::Wdl;
            }
        }
        if ACTIVATION.check(format.default_activation)? == 1 {
            architecture.activation = Activation::Mish;
        }
        architecture.has_moves_left = format.moves_left == Some(1);
        Ok(architecture)
    }
}

/// Rejects parts of other architectures, whatever the format message says: early attention bodies were labelled as residual
/// towers.
fn refuse_other_bodies(net: &Net) -> Result<(), LoadError> {
    let part = if net.onnx_model.is_some() {
        Some("an embedded ONNX model")
    } else {
        net.weights.as_ref().and_then(|weights| {
            [
                (weights.smolgen_w, "smolgen"),
                (weights.encoder, "an attention body"),
                (weights.pol_encoder, "policy encoders"),
                (weights.policy_heads, "several policy heads"),
                (weights.value_heads, "several value heads"),
            ]
            .into_iter()
            .find_map(|(part, name)| part.map(|_| name))
        })
    };
    match part {
        Some(part) => Err(refuse(
            LoadErrorKind::Unsupported,
            format!(
                "unsupported network with {part} (expected a residual tower, with or without squeeze and excitation)"
            ),
        )),
        None => Ok(()),
    }
}
