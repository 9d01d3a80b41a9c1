//! What the file says about its network, and whether we can build it.

use super::messages::{Net, NetworkFormat};
use super::refuse;
use crate::{LoadError, LoadErrorKind};

/// How the policy head is stored. Either way the graph gives the same 1858 logits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lc0Policy {
    /// A 1x1 convolution and a dense layer to the 1858 moves.
    Classical,
    /// Two 3x3 convolutions to 80 planes, of which 73 hold a kind of move by its square of origin.
    Convolution,
}

/// What the value head says, from the mover's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lc0Value {
    /// Output `wdl`: probabilities of win, draw and loss.
    Wdl,
    /// Output `value`: the expected outcome from -1 to 1.
    Classical,
}

/// The nonlinearity between layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    Relu,
    Mish,
}

/// A network we can build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Architecture {
    pub(super) policy: Lc0Policy,
    pub(super) value: Lc0Value,
    pub(super) has_moves_left: bool,
    pub(super) activation: Activation,
}

const LINEAR16: i32 = 1;

/// Refuses an encoding of weights other than 16-bit numbers spread evenly between a minimum and a maximum.
pub(super) fn check_encoding(encoding: Option<i32>) -> Result<(), LoadError> {
    match encoding {
        Some(LINEAR16) => Ok(()),
        other => Err(unsupported(
            "weights encoding",
            other,
            &["UNKNOWN", "LINEAR16", "FLOAT16", "BFLOAT16", "FLOAT32"],
            "LINEAR16",
        )),
    }
}

impl Architecture {
    pub(super) fn of(net: &Net) -> Result<Self, LoadError> {
        refuse_other_bodies(net)?;
        let format = net.format.unwrap_or_default();
        check_encoding(format.weights_encoding)?;
        let Some(format) = format.network_format else {
            // The oldest files have no format message; they are all of this kind.
            return Ok(Architecture {
                policy: Lc0Policy::Classical,
                value: Lc0Value::Classical,
                has_moves_left: false,
                activation: Activation::Relu,
            });
        };
        check_input(&format)?;
        let names_its_heads = names_heads(&format)?;
        Ok(Architecture {
            policy: if names_its_heads { policy(&format)? } else { Lc0Policy::Classical },
            value: if names_its_heads { value(&format)? } else { Lc0Value::Classical },
            has_moves_left: format.moves_left == Some(1),
            activation: activation(&format)?,
        })
    }
}

/// Names parts that only networks of another design have, whatever the format message says: early attention
/// bodies were still labelled as residual towers.
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
                "a network with {part} is not supported; residual towers, with or without squeeze and excitation, are"
            ),
        )),
        None => Ok(()),
    }
}

fn check_input(format: &NetworkFormat) -> Result<(), LoadError> {
    let known = |value| match value {
        132 => "INPUT_112_WITH_CANONICALIZATION_HECTOPLIES_ARMAGEDDON".to_owned(),
        133 => "INPUT_112_WITH_CANONICALIZATION_V2_ARMAGEDDON".to_owned(),
        other => name_of(
            other,
            &[
                "INPUT_UNKNOWN",
                "INPUT_CLASSICAL_112_PLANE",
                "INPUT_112_WITH_CASTLING_PLANE",
                "INPUT_112_WITH_CANONICALIZATION",
                "INPUT_112_WITH_CANONICALIZATION_HECTOPLIES",
                "INPUT_112_WITH_CANONICALIZATION_V2",
            ],
        ),
    };
    match format.input.unwrap_or(0) {
        1 => Ok(()),
        other => Err(unsupported_name("input format", &known(other), "INPUT_CLASSICAL_112_PLANE")),
    }
}

/// Whether the format message names the heads; older residual towers do not and have classical ones.
fn names_heads(format: &NetworkFormat) -> Result<bool, LoadError> {
    match format.network.unwrap_or(0) {
        1 | 2 => Ok(false),
        3 | 4 => Ok(true),
        134 => Err(unsupported_name("network", "NETWORK_AB_LEGACY_WITH_MULTIHEADFORMAT", NETWORKS_SUPPORTED)),
        other => Err(unsupported(
            "network",
            Some(other),
            &[
                "NETWORK_UNKNOWN",
                "NETWORK_CLASSICAL",
                "NETWORK_SE",
                "NETWORK_CLASSICAL_WITH_HEADFORMAT",
                "NETWORK_SE_WITH_HEADFORMAT",
                "NETWORK_ONNX",
                "NETWORK_ATTENTIONBODY_WITH_HEADFORMAT",
                "NETWORK_ATTENTIONBODY_WITH_MULTIHEADFORMAT",
            ],
            NETWORKS_SUPPORTED,
        )),
    }
}

const NETWORKS_SUPPORTED: &str = "NETWORK_CLASSICAL and NETWORK_SE, with or without head formats";

fn policy(format: &NetworkFormat) -> Result<Lc0Policy, LoadError> {
    match format.policy {
        Some(1) => Ok(Lc0Policy::Classical),
        Some(2) => Ok(Lc0Policy::Convolution),
        other => Err(unsupported(
            "policy head",
            other,
            &["POLICY_UNKNOWN", "POLICY_CLASSICAL", "POLICY_CONVOLUTION", "POLICY_ATTENTION"],
            "POLICY_CLASSICAL and POLICY_CONVOLUTION",
        )),
    }
}

fn value(format: &NetworkFormat) -> Result<Lc0Value, LoadError> {
    match format.value {
        Some(1) => Ok(Lc0Value::Classical),
        Some(2) => Ok(Lc0Value::Wdl),
        other => Err(unsupported(
            "value head",
            other,
            &["VALUE_UNKNOWN", "VALUE_CLASSICAL", "VALUE_WDL", "VALUE_PARAM"],
            "VALUE_CLASSICAL and VALUE_WDL",
        )),
    }
}

fn activation(format: &NetworkFormat) -> Result<Activation, LoadError> {
    match format.default_activation {
        None | Some(0) => Ok(Activation::Relu),
        Some(1) => Ok(Activation::Mish),
        other => Err(unsupported(
            "activation",
            other,
            &["DEFAULT_ACTIVATION_RELU", "DEFAULT_ACTIVATION_MISH"],
            "DEFAULT_ACTIVATION_RELU and DEFAULT_ACTIVATION_MISH",
        )),
    }
}

fn unsupported(what: &str, value: Option<i32>, names: &[&str], supported: &str) -> LoadError {
    unsupported_name(what, &name_of(value.unwrap_or(0), names), supported)
}

fn unsupported_name(what: &str, name: &str, supported: &str) -> LoadError {
    refuse(LoadErrorKind::Unsupported, format!("{what} {name} is not supported; supported: {supported}"))
}

fn name_of(value: i32, names: &[&str]) -> String {
    usize::try_from(value)
        .ok()
        .and_then(|index| names.get(index))
        .map_or_else(|| format!("number {value}"), |&name| name.to_owned())
}
