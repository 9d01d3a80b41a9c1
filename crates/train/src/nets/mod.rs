//! The networks: for each its sizes, its table of parameters, and its plain forward pass on candle.
//!
//! The plain version is the specification: faster ones are compared with it.

mod attention;
mod human;
pub(crate) mod layers;
pub(crate) mod tensors;

use serde::{Deserialize, Serialize};

pub use self::human::HumanConfig;
use self::layers::{Heads, Layers};
use crate::ParameterTable;

/// Which network, and how large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum NetConfig {
    /// The transformer over squares that plays like people: encoding `tabia-human-1`.
    Human(HumanConfig),
}

impl NetConfig {
    /// The parameters of the network and their places.
    pub fn table(&self) -> ParameterTable {
        match self {
            NetConfig::Human(config) => config.table(),
        }
    }

    /// The network, on tensors or as a graph.
    pub(crate) fn forward<L: Layers>(&self, net: &mut L) -> candle_core::Result<Heads<L::Value>> {
        match self {
            NetConfig::Human(config) => config.forward(net),
        }
    }

    /// What is wrong with the sizes, if anything.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            NetConfig::Human(config) => config.check(),
        }
    }

    /// The id of the encoding of its inputs.
    pub fn encoding(&self) -> &str {
        match self {
            NetConfig::Human(_) => human::ENCODING,
        }
    }

    /// The id of the vocabulary of its moves, if it has a policy.
    pub fn vocabulary(&self) -> Option<&str> {
        match self {
            NetConfig::Human(_) => Some(human::VOCABULARY),
        }
    }
}
