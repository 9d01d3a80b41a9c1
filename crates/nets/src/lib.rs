//! The network architectures, each defined once.
//!
//! An architecture is a configuration type with an implementation of [`Architecture`]: its parameters, its forward pass in
//! terms of [`Layers`] and, where files are recognised by the names of their tensors, a [`Detector`](detect::Detector). Other
//! crates lower the forward pass: `tabia-train` to candle tensors (the specification) and to GPU work, `tabia-model` to ONNX and
//! to its own runtimes.
//!
//! | to find | look in |
//! |---|---|
//! | the operations networks are written in | [`Layers`] |
//! | parameters and where they lie | [`ParameterTable`] |
//! | which network a file holds | [`detect`] |
//! | all networks | [`NetConfig`] |

pub mod attention;
mod challenge;
pub mod detect;
pub mod human;
mod humchess;
mod layers;
mod maia2;
pub mod maia3;
mod mlp;
mod nnue;
mod pair;
mod parameters;
mod policy_cnn;
mod progress;
pub mod relative_bias;
mod value_attention;
mod value_cnn;
pub mod vocabulary;

use serde::{Deserialize, Serialize};
use tabia_encoding::MoveSubset;

pub use self::challenge::{ChallengeConfig, MOST_PARAMETERS};
use self::detect::{Hints, Input};
pub use self::human::HumanConfig;
pub use self::humchess::{HumChessConfig, HumChessMoves, HumChessTokens};
pub use self::layers::{Heads, Layers};
pub use self::maia2::Maia2Config;
pub use self::maia3::Maia3Config;
pub use self::mlp::{LayerNames, Mlp, PolicyMlpConfig, ValueMlpConfig};
pub use self::nnue::{NnueActivation, NnueConfig};
pub use self::pair::PairConfig;
pub use self::parameters::{ALIGNMENT, Buffer, Decay, Initial, Parameter, ParameterTable};
pub use self::policy_cnn::{PolicyCnnConfig, PolicyCnnHead, PolicyView};
pub use self::value_attention::{AttentionBias, ValueAttentionConfig};
pub use self::value_cnn::ValueCnnConfig;

/// A network of given sizes.
pub trait Architecture {
    /// The name of its graph in an ONNX file.
    fn graph_name(&self) -> &'static str;

    /// The id of the encoding of its inputs.
    fn encoding(&self) -> &str;

    /// The inputs of its graph: those of the encoding.
    fn inputs(&self) -> Vec<Input> {
        let specs = tabia_encoding::encoding(self.encoding()).map_or(&[][..], |encoding| encoding.inputs());
        let input = |spec: &tabia_encoding::InputSpec| Input {
            name: spec.name,
            shape: spec.shape.to_vec(),
            kind: spec.kind,
        };
        specs.iter().map(input).collect()
    }

    /// The id of its move vocabulary, if it has a policy head.
    fn vocabulary(&self) -> Option<&'static str> {
        None
    }

    /// Checks the sizes.
    ///
    /// # Errors
    /// What is wrong with them, as a predicate: "has a size of zero".
    fn check(&self) -> Result<(), String>;

    /// Its parameters and index tables, in the order of the arena. Names and shapes are those of files.
    fn table(&self) -> ParameterTable;

    /// The forward pass.
    ///
    /// # Errors
    /// Those of the backend.
    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error>;

    /// The outputs of its graph.
    fn outputs(&self) -> Outputs;

    /// The architecture and its sizes, for model cards. `table` has the parameters that are there.
    fn describe(&self, table: &ParameterTable) -> String;
}

/// One output of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its name.
    pub name: &'static str,
    /// Numbers per position.
    pub width: usize,
}

/// The outputs of a graph, by the head they come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// One logit per move.
    pub policy: Option<Output>,
    /// Logits of promotion pieces.
    pub promotion: Option<Output>,
    /// Win, draw, loss; probabilities in a file.
    pub outcome: Option<Output>,
    /// Bins of think time; probabilities in a file.
    pub think: Option<Output>,
    /// The evaluation.
    pub value: Option<Output>,
    /// Whether the value head is a logit, of which files give the probability.
    pub value_is_logit: bool,
}

impl Outputs {
    /// An evaluation alone.
    pub fn value() -> Self {
        Outputs { value: Some(Output { name: "value", width: 1 }), ..Outputs::default() }
    }

    /// A policy alone.
    pub fn policy(moves: usize) -> Self {
        Outputs { policy: Some(Output { name: "policy", width: moves }), ..Outputs::default() }
    }
}

/// Defines [`NetConfig`] from a list of architectures, and forwards the calls.
macro_rules! networks {
    ($($(#[$attribute:meta])* $name:ident($config:ty),)*) => {
        /// Which network, and how large. Variants without a `kind` in configurations are only part of others or read from files.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum NetConfig {
            $($(#[$attribute])* $name($config),)*
        }

        impl NetConfig {
            networks!(forward $($name)* => graph_name() -> &'static str, "The name of its graph in an ONNX file.");
            networks!(forward $($name)* => encoding() -> &str, "The id of the encoding of its inputs.");
            networks!(forward $($name)* => inputs() -> Vec<Input>, "The inputs of its graph.");
            networks!(forward $($name)* => vocabulary() -> Option<&'static str>, "The id of its move vocabulary, if it has a policy head.");
            networks!(forward $($name)* => table() -> ParameterTable, "Its parameters and index tables.");
            networks!(forward $($name)* => outputs() -> Outputs, "The outputs of its graph.");

            /// Checks the sizes.
            ///
            /// # Errors
            /// What is wrong with them, as a predicate.
            pub fn check(&self) -> Result<(), String> {
                match self { $(NetConfig::$name(config) => config.check(),)* }
            }

            /// The forward pass.
            ///
            /// # Errors
            /// Those of the backend.
            pub fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
                match self { $(NetConfig::$name(config) => config.forward(net),)* }
            }

            /// The architecture and its sizes, for model cards.
            pub fn describe(&self, table: &ParameterTable) -> String {
                match self { $(NetConfig::$name(config) => config.describe(table),)* }
            }
        }
    };
    (forward $($name:ident)* => $method:ident() -> $type:ty, $doc:literal) => {
        #[doc = $doc]
        pub fn $method(&self) -> $type {
            match self { $(NetConfig::$name(config) => config.$method(),)* }
        }
    };
}

networks! {
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
    /// NNUE: an evaluation that an engine updates incrementally.
    Nnue(NnueConfig),
    /// A convolutional evaluation.
    ValueCnn(ValueCnnConfig),
    /// The two-input network.
    Pair(PairConfig),
    /// An entry for the Chess Challenge.
    Challenge(ChallengeConfig),
    /// An evaluation by attention over the squares: a body of [`Challenge`](NetConfig::Challenge).
    #[serde(skip)]
    ValueAttention(ValueAttentionConfig),
    /// Maia-3's transformer over squares.
    #[serde(skip)]
    Maia3(Maia3Config),
    /// Maia-2's residual tower and transformer.
    #[serde(skip)]
    Maia2(Maia2Config),
    /// A dense network of a file, its layers named in any way.
    #[serde(skip)]
    Mlp(Mlp),
}

impl NetConfig {
    /// The moves that its policy head has, if it does not have all of its vocabulary.
    pub fn known_moves(&self) -> Option<&MoveSubset> {
        match self {
            NetConfig::PolicyCnn(config) => config.vocabulary.as_ref(),
            NetConfig::PolicyMlp(config) => config.vocabulary.as_ref(),
            _ => None,
        }
    }

    /// Whether files of this network are recognised by the names of their tensors.
    pub fn is_detectable(&self) -> bool {
        let table = self.table();
        let found = detect::detect(&table, &Hints::default());
        found.is_ok_and(|(found, _)| found.table.entries().len() == table.entries().len())
    }
}

/// Compiles the example of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/add-a-network.md")]
struct Guide;

#[cfg(test)]
mod tests;
