//! The networks: for each its sizes, its table of parameters, and its plain forward pass.
//!
//! The plain version is the specification: faster ones are compared with it.

pub(crate) mod attention;
mod challenge;
pub(crate) mod graph;
mod human;
mod humchess;
pub(crate) mod layers;
mod mlp;
mod nnue;
mod pair;
mod policy_cnn;
pub(crate) mod relative_bias;
pub(crate) mod tensors;
mod value_attention;
mod value_cnn;

use serde::{Deserialize, Serialize};

pub use self::challenge::ChallengeConfig;
pub use self::human::HumanConfig;
pub use self::humchess::{HumChessConfig, HumChessMoves, HumChessTokens};
use self::layers::{Heads, Layers};
pub use self::mlp::{PolicyMlpConfig, ValueMlpConfig};
pub use self::nnue::{NnueActivation, NnueConfig};
pub use self::pair::PairConfig;
pub use self::policy_cnn::{PolicyCnnConfig, PolicyCnnHead, PolicyView};
pub use self::value_attention::{AttentionBias, ValueAttentionConfig};
pub use self::value_cnn::ValueCnnConfig;
use crate::ParameterTable;

/// Which network, and how large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum NetConfig {
    /// The transformer over squares that plays like people: encoding `tabia-human-1`.
    Human(HumanConfig),
    /// HumChess's transformer over tokens.
    Humchess(HumChessConfig),
    /// The convolutional policy of Learning a Chess Policy.
    PolicyCnn(PolicyCnnConfig),
    /// The dense policy of Learning a Chess Policy.
    PolicyMlp(PolicyMlpConfig),
    /// A dense evaluation of a flat board, as in Rusty Chess.
    ValueMlp(ValueMlpConfig),
    /// A perspective evaluation that an engine keeps up to date.
    Nnue(NnueConfig),
    /// A convolutional evaluation.
    ValueCnn(ValueCnnConfig),
    /// The two-input network.
    Pair(PairConfig),
    /// An entry for the Chess Challenge.
    Challenge(ChallengeConfig),
}

/// The same call on whichever network it is.
macro_rules! on_each {
    ($net:expr, $config:ident => $call:expr) => {
        match $net {
            NetConfig::Human($config) => $call,
            NetConfig::Humchess($config) => $call,
            NetConfig::PolicyCnn($config) => $call,
            NetConfig::PolicyMlp($config) => $call,
            NetConfig::ValueMlp($config) => $call,
            NetConfig::Nnue($config) => $call,
            NetConfig::ValueCnn($config) => $call,
            NetConfig::Pair($config) => $call,
            NetConfig::Challenge($config) => $call,
        }
    };
}

impl NetConfig {
    /// The parameters of the network and their places.
    pub fn table(&self) -> ParameterTable {
        on_each!(self, config => config.table())
    }

    /// The network, on tensors or as a graph.
    pub(crate) fn forward<L: Layers>(&self, net: &mut L) -> candle_core::Result<Heads<L::Value>> {
        on_each!(self, config => config.forward(net))
    }

    /// What is wrong with the sizes, if anything.
    pub(crate) fn check(&self) -> Result<(), String> {
        on_each!(self, config => config.check())
    }

    /// The id of the encoding of its inputs.
    pub fn encoding(&self) -> &str {
        match self {
            NetConfig::Human(_) => human::ENCODING,
            NetConfig::Humchess(config) => config.encoding(),
            NetConfig::PolicyCnn(config) => config.encoding(),
            NetConfig::PolicyMlp(_) => "policy-837",
            NetConfig::ValueMlp(config) => &config.encoding,
            NetConfig::Nnue(_) => nnue::ENCODING,
            NetConfig::ValueCnn(config) => &config.encoding,
            NetConfig::Pair(_) => "pair-769",
            NetConfig::Challenge(config) => config.encoding(),
        }
    }

    /// The id of the vocabulary of its moves, if it has a policy.
    pub fn vocabulary(&self) -> Option<&'static str> {
        match self {
            NetConfig::Human(_) => Some(human::VOCABULARY),
            NetConfig::Humchess(_) => Some("from-to-4096"),
            NetConfig::PolicyCnn(config) => Some(config.vocabulary()),
            NetConfig::PolicyMlp(_) => Some("canonical-1968"),
            NetConfig::ValueMlp(_)
            | NetConfig::Nnue(_)
            | NetConfig::ValueCnn(_)
            | NetConfig::Pair(_)
            | NetConfig::Challenge(_) => None,
        }
    }

    /// Index tables of an exported state dict that are not learned.
    pub(crate) fn buffers(&self) -> Vec<(&'static str, Vec<i64>)> {
        match self {
            NetConfig::PolicyCnn(config) => config.buffers(),
            NetConfig::Nnue(config) | NetConfig::Challenge(ChallengeConfig::Perspective(config)) => {
                config.buffers()
            }
            _ => Vec::new(),
        }
    }
}
