//! Entries for the Chess Challenge.

use serde::{Deserialize, Serialize};

use crate::parameters::ParameterTable;
use crate::{Architecture, Heads, Layers, NetConfig, NnueConfig, Outputs, ValueAttentionConfig};
use crate::{ValueCnnConfig, ValueMlpConfig};

/// The most parameters an entry may have.
pub const MOST_PARAMETERS: usize = 1_000_000;
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

impl ChallengeConfig {
    /// The network an entry consists of.
    pub fn body(&self) -> NetConfig {
        let encoding = ENCODING.to_owned();
        match self {
            ChallengeConfig::Dense { hidden } => {
                NetConfig::ValueMlp(ValueMlpConfig { encoding, hidden: hidden.clone() })
            }
            &ChallengeConfig::Conv { channels, blocks, squeeze, hidden } => {
                NetConfig::ValueCnn(ValueCnnConfig { encoding, channels, blocks, squeeze, hidden })
            }
            ChallengeConfig::Attention(config) => NetConfig::ValueAttention(*config),
            ChallengeConfig::Perspective(config) => NetConfig::Nnue(*config),
        }
    }
}

impl Architecture for ChallengeConfig {
    fn graph_name(&self) -> &'static str {
        "challenge"
    }

    fn encoding(&self) -> &str {
        ENCODING
    }

    fn check(&self) -> Result<(), String> {
        self.body().check()?;
        let parameters = self.table().parameters();
        if parameters > MOST_PARAMETERS {
            return Err(format!("has {parameters} parameters; the Chess Challenge takes {MOST_PARAMETERS}"));
        }
        Ok(())
    }

    fn table(&self) -> ParameterTable {
        self.body().table()
    }

    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
        self.body().forward(net)
    }

    fn outputs(&self) -> Outputs {
        self.body().outputs()
    }

    fn describe(&self, table: &ParameterTable) -> String {
        format!("Chess Challenge entry, {}", self.body().describe(table))
    }
}
