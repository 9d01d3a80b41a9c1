//! The architecture of a weight file, and whether it is supported.

use super::messages::{Net, NetworkFormat, Weights};
use super::refuse;
use crate::{LoadError, LoadErrorKind};

/// The planes that the network reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lc0Input {
    /// Castling rights fill whole planes.
    Classical,
    /// The rooks that may castle are marked on two planes.
    CastlingPlanes,
}

/// The type of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lc0Body {
    /// A tower of residual blocks, with or without squeeze and excitation.
    Residual,
    /// Encoder layers over the 64 squares.
    Attention(Lc0Embedding),
}

/// What an attention body adds to the planes of a square.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lc0Embedding {
    /// `PE_MAP`: which squares a queen or a knight reaches from there.
    Map,
    /// `PE_DENSE`: a dense layer of the pieces on the board.
    Dense,
}

/// The type of the policy head. The graph has the same 1858 logits for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lc0Policy {
    /// A 1x1 convolution and a dense layer to the 1858 moves.
    Classical,
    /// Two 3x3 convolutions to 80 planes, of which 73 hold a kind of move by its square of origin.
    Convolution,
    /// Products of the vectors of two squares.
    Attention,
}

/// The type of the value head, from the mover's point of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lc0Value {
    /// Output `wdl`: probabilities of win, draw and loss.
    Wdl,
    /// Output `value`: the expected outcome from -1 to 1.
    Classical,
}

/// An activation function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    Relu,
    Mish,
    Identity,
    Tanh,
    Sigmoid,
    Selu,
    Swish,
    SquaredRelu,
}

/// A supported architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Architecture {
    pub(super) input: Lc0Input,
    pub(super) body: Lc0Body,
    pub(super) policy: Lc0Policy,
    pub(super) value: Lc0Value,
    pub(super) has_moves_left: bool,
    /// Where no other is named.
    pub(super) activation: Activation,
    pub(super) smolgen_activation: Activation,
    /// Of the feed-forward layers of the encoders.
    pub(super) ffn_activation: Activation,
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
    supported: &[1, 2, 3, 4],
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
    supported: &[1, 2],
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
    supported: &[1, 2, 3, 4, 6, 7, 134],
};

const POLICY: Enum = Enum {
    what: "policy head",
    names: &["POLICY_UNKNOWN", "POLICY_CLASSICAL", "POLICY_CONVOLUTION", "POLICY_ATTENTION"],
    more: &[],
    supported: &[1, 2, 3],
};

const VALUE: Enum = Enum {
    what: "value head",
    names: &["VALUE_UNKNOWN", "VALUE_CLASSICAL", "VALUE_WDL", "VALUE_PARAM"],
    more: &[],
    supported: &[1, 2],
};

const DEFAULT_ACTIVATION: Enum = Enum {
    what: "activation",
    names: &["DEFAULT_ACTIVATION_RELU", "DEFAULT_ACTIVATION_MISH"],
    more: &[],
    supported: &[0, 1],
};

const ACTIVATION: Enum = Enum {
    what: "activation",
    names: &[
        "ACTIVATION_DEFAULT",
        "ACTIVATION_MISH",
        "ACTIVATION_RELU",
        "ACTIVATION_NONE",
        "ACTIVATION_TANH",
        "ACTIVATION_SIGMOID",
        "ACTIVATION_SELU",
        "ACTIVATION_SWISH",
        "ACTIVATION_RELU_2",
        "ACTIVATION_SOFTMAX",
    ],
    more: &[],
    supported: &[0, 1, 2, 3, 4, 5, 6, 7, 8],
};

const EMBEDDING: Enum = Enum {
    what: "input embedding",
    names: &["INPUT_EMBEDDING_NONE", "INPUT_EMBEDDING_PE_MAP", "INPUT_EMBEDDING_PE_DENSE"],
    more: &[],
    supported: &[1, 2],
};

const SE_WITH_HEADFORMAT: i32 = 4;
const ATTENTIONBODY_WITH_HEADFORMAT: i32 = 6;

/// The encoding of the numbers of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// 16-bit numbers between a minimum and a maximum.
    Linear16,
    Float16,
    Bfloat16,
    Float32,
}

impl Numbers {
    /// The encoding that a layer names; LINEAR16 if it names none.
    pub(super) fn of(encoding: Option<i32>) -> Result<Self, LoadError> {
        match encoding {
            None | Some(0) => Ok(Numbers::Linear16),
            encoding => Ok(match WEIGHTS_ENCODING.check(encoding)? {
                2 => Numbers::Float16,
                3 => Numbers::Bfloat16,
                4 => Numbers::Float32,
                _ => Numbers::Linear16,
            }),
        }
    }
}

/// Before this version all layers had one encoding, which the format message names.
const FIRST_VERSION_OF_LAYER_ENCODINGS: (u32, u32) = (0, 33);

impl Architecture {
    pub(super) fn of(net: &Net) -> Result<Self, LoadError> {
        if net.onnx_model.is_some() {
            return Err(unsupported("network with an embedded ONNX model (expected weights)"));
        }
        let format = net.format.unwrap_or_default();
        let version = net.min_version.unwrap_or_default();
        if (version.major.unwrap_or(0), version.minor.unwrap_or(0)) < FIRST_VERSION_OF_LAYER_ENCODINGS {
            WEIGHTS_ENCODING.check(format.weights_encoding)?;
        }
        let mut architecture = Architecture {
            input: Lc0Input::Classical,
            body: Lc0Body::Residual,
            policy: Lc0Policy::Classical,
            value: Lc0Value::Classical,
            has_moves_left: false,
            activation: Activation::Relu,
            smolgen_activation: Activation::Relu,
            ffn_activation: Activation::Relu,
        };
        // The oldest files have no format message, and older ones do not name the heads: they are classical.
        let network_format = format.network_format.unwrap_or_default();
        if format.network_format.is_some() {
            if INPUT.check(network_format.input)? == 2 {
                architecture.input = Lc0Input::CastlingPlanes;
            }
            if NETWORK.check(network_format.network)? > 2 {
                architecture.policy = match POLICY.check(network_format.policy)? {
                    1 => Lc0Policy::Classical,
                    2 => Lc0Policy::Convolution,
                    _ => Lc0Policy::Attention,
                };
                if VALUE.check(network_format.value)? == 2 {
                    architecture.value = Lc0Value::Wdl;
                }
            }
            if DEFAULT_ACTIVATION.check(network_format.default_activation)? == 1 {
                architecture.activation = Activation::Mish;
            }
            architecture.has_moves_left = network_format.moves_left == Some(1);
        }
        architecture.read_body(&network_format, &net.weights.as_ref().map(Parts::of).unwrap_or_default())?;
        Ok(architecture)
    }

    fn read_body(&mut self, format: &NetworkFormat, parts: &Parts) -> Result<(), LoadError> {
        let network = format.network.unwrap_or(0);
        // Early attention bodies were labelled as residual towers.
        let early = network == SE_WITH_HEADFORMAT && parts.encoders;
        if !early && network < ATTENTIONBODY_WITH_HEADFORMAT {
            return match parts.encoders {
                true => Err(unsupported(format!("encoder layers in {}", NETWORK.name(network)))),
                false => Ok(()),
            };
        }
        if parts.residual_blocks {
            return Err(unsupported("residual blocks before an attention body"));
        }
        if self.policy != Lc0Policy::Attention {
            let policy = POLICY.name(format.policy.unwrap_or(0));
            return Err(unsupported(format!("{policy} on an attention body (expected POLICY_ATTENTION)")));
        }
        let several_heads = parts.policy_heads && parts.value_heads;
        let embedding = if !early && network != ATTENTIONBODY_WITH_HEADFORMAT {
            EMBEDDING.check(format.input_embedding)?
        } else if several_heads {
            2
        } else {
            EMBEDDING.check(format.input_embedding.or(Some(1)))?
        };
        self.body = Lc0Body::Attention(if embedding == 1 { Lc0Embedding::Map } else { Lc0Embedding::Dense });
        if early && parts.smolgen {
            (self.ffn_activation, self.smolgen_activation) = (Activation::SquaredRelu, Activation::Swish);
        } else {
            self.ffn_activation = self.activation(format.ffn_activation)?;
            self.smolgen_activation = self.activation(format.smolgen_activation)?;
        }
        Ok(())
    }

    fn activation(&self, number: Option<i32>) -> Result<Activation, LoadError> {
        Ok(match ACTIVATION.check(number)? {
            0 => self.activation,
            1 => Activation::Mish,
            2 => Activation::Relu,
            3 => Activation::Identity,
            4 => Activation::Tanh,
            5 => Activation::Sigmoid,
            6 => Activation::Selu,
            7 => Activation::Swish,
            _ => Activation::SquaredRelu,
        })
    }
}

/// The parts of the weights that tell what an ambiguous format means.
#[derive(Clone, Copy, Debug, Default)]
struct Parts {
    residual_blocks: bool,
    encoders: bool,
    smolgen: bool,
    policy_heads: bool,
    value_heads: bool,
}

impl Parts {
    fn of(weights: &Weights) -> Parts {
        Parts {
            residual_blocks: !weights.residual.is_empty(),
            encoders: !weights.encoder.is_empty(),
            smolgen: weights.smolgen_w.is_some(),
            policy_heads: weights.policy_heads.is_some(),
            value_heads: weights.value_heads.is_some(),
        }
    }
}

fn unsupported(what: impl std::fmt::Display) -> LoadError {
    refuse(LoadErrorKind::Unsupported, format!("unsupported {what}"))
}
