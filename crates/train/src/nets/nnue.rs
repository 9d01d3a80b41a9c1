use candle_core::{Error, Result};
use serde::{Deserialize, Serialize};
use tabia_encoding::encoding;

use super::layers::{Heads, Layers};
use crate::parameters::{Decay, Initial, ParameterTable};

pub(super) const ENCODING: &str = "challenge-768";
const INPUTS: usize = 768;
const MEN: usize = 32;

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
    /// The square of that: it bends, so that fewer neurons say as much.
    SquaredClipped,
}

impl NnueConfig {
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        if self.width == 0 || self.buckets == 0 || self.buckets > MEN {
            return Err(format!("needs a width above zero and 1 to {MEN} buckets"));
        }
        Ok(())
    }

    pub(super) fn table(&self) -> ParameterTable {
        let NnueConfig { width, buckets, .. } = *self;
        let mut table = ParameterTable::new();
        // Around 32 features are set; the bias starts in the middle of the clipped range, where gradients flow.
        table.push("features.weight", &[width, INPUTS], Initial::Normal(0.1), Decay::Decayed);
        table.push("features.bias", &[width], Initial::Zeros, Decay::Exempt);
        let deviation = 1.0 / (2.0 * width as f32).sqrt();
        table.push("output.weight", &[buckets, 2 * width], Initial::Normal(deviation), Decay::Decayed);
        table.push("output.bias", &[buckets], Initial::Zeros, Decay::Exempt);
        table
    }

    pub(super) fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>> {
        let board = net.input(0)?;
        let theirs = net.select(&board, 1, &opponents_view()?)?;
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

    /// What an exported state dict says besides the weights.
    pub(super) fn buffers(&self) -> Vec<(&'static str, Vec<i64>)> {
        match self.activation {
            NnueActivation::Clipped => Vec::new(),
            NnueActivation::SquaredClipped => vec![("activation.power", vec![2])],
        }
    }

    /// For each number of men, from none to 32, a one at its bucket.
    fn bucket_rows(&self) -> Vec<f32> {
        let mut rows = vec![0.0; (MEN + 1) * self.buckets];
        for men in 0..=MEN {
            let bucket = men.saturating_sub(1) * self.buckets / MEN;
            rows[men * self.buckets + bucket] = 1.0;
        }
        rows
    }
}

/// Where each element of the opponent's view is in the mover's.
fn opponents_view() -> Result<Vec<u32>> {
    let view = encoding(ENCODING).and_then(|encoding| encoding.sparse()?.other_view());
    let view = view.ok_or_else(|| Error::Msg(format!("{ENCODING} has no opponent's view")))?;
    Ok(view.into_iter().map(u32::from).collect())
}
