//! NNUE: an evaluation whose first layer an engine updates incrementally.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde::{Deserialize, Serialize};
use tabia_encoding::encoding;

use crate::detect::{DetectError, Detected, Detector, Hints, NamedTensors, contains, dims};
use crate::parameters::{Decay, Initial, ParameterTable};
use crate::{Architecture, Heads, Layers, NetConfig, Outputs};

pub(crate) const DETECTOR: Detector = Detector { name: "a perspective network", fits, detect };

const ENCODING: &str = "challenge-768";
const INPUTS: usize = 768;
/// The most pieces on a board.
const MEN: usize = 32;
/// The index table that says to which power the clipped sums are raised, where it is not the first.
const POWER: &str = "activation.power";

/// A perspective network: the board as each side sees it goes through one shared layer, both halves side by side through
/// an output layer chosen by how many men are left. `(768 -> width) x 2 -> 1`, a clipped activation between.
///
/// Its input is the mover's view alone, `challenge-768`: the opponent's view is a permutation of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NnueConfig {
    /// Width of each half.
    pub width: usize,
    /// Output layers; men are spread over them evenly.
    pub buckets: usize,
    /// What becomes of the first layer's sums.
    #[serde(default)]
    pub activation: NnueActivation,
}

/// The activation of a perspective network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NnueActivation {
    /// `min(max(x, 0), 1)`.
    #[default]
    Clipped,
    /// The square of that (SCReLU).
    SquaredClipped,
}

fn fits(tensors: &dyn NamedTensors) -> bool {
    contains(tensors, "features.weight") && contains(tensors, "output.weight")
}

fn detect(tensors: &dyn NamedTensors, _: &Hints) -> Result<Detected, DetectError> {
    let [width, inputs] = dims(tensors, "features.weight")?;
    let [buckets, _] = dims(tensors, "output.weight")?;
    let [_] = dims(tensors, "features.bias")?;
    if inputs != INPUTS {
        let message = format!("has {inputs} inputs; perspective networks see the {INPUTS} of {ENCODING}");
        return Err(DetectError::shape("features.weight", message));
    }
    if buckets > MEN {
        let message = format!("has {buckets} outputs; there are at most {MEN} men to choose one by");
        return Err(DetectError::shape("output.weight", message));
    }
    let power = tensors.values(POWER);
    let activation = match power.as_deref() {
        None | Some([1.0]) => NnueActivation::Clipped,
        Some([2.0]) => NnueActivation::SquaredClipped,
        Some(other) => {
            let message = format!("is {other:?}; known are 1 and 2");
            return Err(DetectError::unknown(Some(POWER), message));
        }
    };
    let config = NnueConfig { width, buckets, activation };
    let table = config.table();
    let mut table =
        table.filtered(|entry| !table.is_linear_bias(&entry.name) || contains(tensors, &entry.name));
    if let Some(power) = power {
        table.set_buffer(POWER, power.iter().map(|&power| power as i64).collect());
    }
    Ok(Detected::new(NetConfig::Nnue(config), table))
}

impl Architecture for NnueConfig {
    fn graph_name(&self) -> &'static str {
        "perspective"
    }

    fn encoding(&self) -> &str {
        ENCODING
    }

    fn check(&self) -> Result<(), String> {
        if self.width == 0 || self.buckets == 0 || self.buckets > MEN {
            return Err(format!("needs a width above zero and 1 to {MEN} buckets"));
        }
        Ok(())
    }

    fn table(&self) -> ParameterTable {
        let NnueConfig { width, buckets, .. } = *self;
        let mut table = ParameterTable::new();
        // Around 32 features are set; the bias starts in the middle of the clipped range, where gradients flow.
        table.push("features.weight", &[width, INPUTS], Initial::Normal(0.1), Decay::Decayed);
        table.push("features.bias", &[width], Initial::Zeros, Decay::Exempt);
        let deviation = 1.0 / (2.0 * width as f32).sqrt();
        table.push("output.weight", &[buckets, 2 * width], Initial::Normal(deviation), Decay::Decayed);
        table.push("output.bias", &[buckets], Initial::Zeros, Decay::Exempt);
        if self.activation == NnueActivation::SquaredClipped {
            table.set_buffer(POWER, vec![2]);
        }
        table
    }

    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
        let board = net.input(0)?;
        let theirs = net.select(&board, 1, &opponents_view::<L>()?)?;
        let half = |net: &mut L, view: &L::Value| {
            let sums = net.linear(view, "features")?;
            let clipped = net.clipped_relu(&sums)?;
            match self.activation {
                NnueActivation::Clipped => Ok(clipped),
                NnueActivation::SquaredClipped => net.mul(&clipped, &clipped),
            }
        };
        let (own, their) = (half(net, &board)?, half(net, &theirs)?);
        let both = net.concat(&[&own, &their], 1)?;
        let values = net.linear(&both, "output")?;
        if self.buckets == 1 {
            return Ok(Heads { value: Some(values), ..Heads::default() });
        }
        let men = net.sum(&board, 1)?;
        let chosen = net.look_up(&men, &self.bucket_rows(), self.buckets)?;
        let values = net.mul(&values, &chosen)?;
        Ok(Heads { value: Some(net.sum(&values, 1)?), ..Heads::default() })
    }

    fn outputs(&self) -> Outputs {
        Outputs::value()
    }

    fn describe(&self, _: &ParameterTable) -> String {
        let NnueConfig { width, buckets, activation } = *self;
        let squared = if activation == NnueActivation::SquaredClipped { ", squared" } else { "" };
        format!("perspective network ({INPUTS} -> {width}) x 2 -> 1, {buckets} buckets{squared}")
    }
}

impl NnueConfig {
    /// For each number of men, from none to 32, a one-hot row of its bucket.
    fn bucket_rows(&self) -> Vec<i64> {
        let bucket = |men: usize| men.saturating_sub(1) * self.buckets / MEN;
        (0..=MEN).flat_map(|men| (0..self.buckets).map(move |at| i64::from(at == bucket(men)))).collect()
    }
}

/// Where each element of the opponent's view is in the mover's.
fn opponents_view<L: Layers>() -> Result<Vec<u32>, L::Error> {
    let view = encoding(ENCODING).and_then(|encoding| encoding.sparse()?.other_view());
    let view = view.ok_or_else(|| L::error(format!("{ENCODING} has no opponent's view")))?;
    Ok(view.into_iter().map(u32::from).collect())
}
