use candle_core::Result;
use serde::{Deserialize, Serialize};

use super::layers::{Heads, Layers};
use super::{NnueConfig, ValueAttentionConfig, ValueCnnConfig, ValueMlpConfig};
use crate::ParameterTable;

/// The most parameters an entry may have.
pub(crate) const MOST_PARAMETERS: usize = 1_000_000;
const ENCODING: &str = "challenge-768";

/// An entry for the Chess Challenge: any network over its 768 inputs with at most a million parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "body")]
pub enum ChallengeConfig {
    /// Dense layers.
    Dense {
        /// Widths of the hidden layers.
        hidden: Vec<usize>,
    },
    /// Convolutions.
    Conv {
        /// Channels of the blocks.
        channels: usize,
        /// Residual blocks.
        blocks: usize,
        /// Channels that reach the dense layers.
        squeeze: usize,
        /// Width of the hidden dense layer.
        hidden: usize,
    },
    /// Attention over the squares.
    Attention(ValueAttentionConfig),
    /// Both sides' views through one layer.
    Perspective(NnueConfig),
}

/// The network an entry consists of.
enum Body {
    Dense(ValueMlpConfig),
    Conv(ValueCnnConfig),
    Attention(ValueAttentionConfig),
    Perspective(NnueConfig),
}

impl ChallengeConfig {
    fn body(&self) -> Body {
        let encoding = ENCODING.to_owned();
        match self {
            ChallengeConfig::Dense { hidden } => {
                Body::Dense(ValueMlpConfig { encoding, hidden: hidden.clone() })
            }
            &ChallengeConfig::Conv { channels, blocks, squeeze, hidden } => {
                Body::Conv(ValueCnnConfig { encoding, channels, blocks, squeeze, hidden })
            }
            ChallengeConfig::Attention(config) => Body::Attention(*config),
            ChallengeConfig::Perspective(config) => Body::Perspective(*config),
        }
    }

    pub(super) fn encoding(&self) -> &'static str {
        ENCODING
    }

    pub(super) fn check(&self) -> std::result::Result<(), String> {
        match self.body() {
            Body::Dense(config) => config.check(),
            Body::Conv(config) => config.check(),
            Body::Attention(config) => config.check(),
            Body::Perspective(config) => config.check(),
        }?;
        let parameters = self.table().parameters();
        if parameters > MOST_PARAMETERS {
            return Err(format!("has {parameters} parameters; the Chess Challenge takes {MOST_PARAMETERS}"));
        }
        Ok(())
    }

    pub(super) fn table(&self) -> ParameterTable {
        match self.body() {
            Body::Dense(config) => config.table(),
            Body::Conv(config) => config.table(),
            Body::Attention(config) => config.table(),
            Body::Perspective(config) => config.table(),
        }
    }

    pub(super) fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>> {
        match self.body() {
            Body::Dense(config) => config.forward(net),
            Body::Conv(config) => config.forward(net),
            Body::Attention(config) => config.forward(net),
            Body::Perspective(config) => config.forward(net),
        }
    }
}
