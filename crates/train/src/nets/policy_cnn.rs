use candle_core::Result;
use serde::{Deserialize, Serialize};
use tabia_encoding::CANONICAL_1968_ROWS;

use super::layers::{Heads, Layers};
use crate::parameters::{Decay, Initial, ParameterTable};

const SQUARES: usize = 64;
const MOVES: usize = 1968;
const PROMOTION_KINDS: usize = 5;
/// What `nn.RMSNorm` takes when it is given no eps.
const EPS: f32 = f32::EPSILON;

/// The convolutional policy of Learning a Chess Policy: residual blocks over planes, 1968 moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyCnnConfig {
    /// Who looks at the board.
    pub view: PolicyView,
    /// Channels of the blocks.
    pub channels: usize,
    /// Residual blocks.
    pub blocks: usize,
    /// Size of the square kernels; odd.
    pub kernel: usize,
    /// How moves are read off the features.
    pub head: PolicyCnnHead,
}

/// Who looks at the board of a convolutional policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyView {
    /// The side to move: 17 planes, moves flipped for Black.
    Mover,
    /// White: 18 planes, one of them the turn.
    White,
}

/// How a convolutional policy reads its moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyCnnHead {
    /// One dense layer on all features.
    Flatten,
    /// The product of a from-vector and a to-vector of this depth.
    Bilinear(usize),
}

impl PolicyCnnConfig {
    pub(super) fn encoding(&self) -> &'static str {
        match self.view {
            PolicyView::Mover => "policy-planes-17",
            PolicyView::White => "policy-planes-18",
        }
    }

    pub(super) fn vocabulary(&self) -> &'static str {
        match self.view {
            PolicyView::Mover => "canonical-1968-mover",
            PolicyView::White => "canonical-1968",
        }
    }

    fn planes(&self) -> usize {
        match self.view {
            PolicyView::Mover => 17,
            PolicyView::White => 18,
        }
    }

    pub(super) fn check(&self) -> std::result::Result<(), String> {
        if self.channels == 0 || self.head == PolicyCnnHead::Bilinear(0) {
            return Err("has a size of zero".to_owned());
        }
        if self.kernel.is_multiple_of(2) {
            return Err(format!("has a kernel of {}, which is not odd", self.kernel));
        }
        Ok(())
    }

    pub(super) fn table(&self) -> ParameterTable {
        let PolicyCnnConfig { channels: c, blocks, kernel: k, .. } = *self;
        let mut table = ParameterTable::new();
        let conv = |table: &mut ParameterTable, name: &str, outputs, inputs, kernel| {
            let deviation = (2.0 / (inputs * kernel * kernel) as f32).sqrt();
            let shape = [outputs, inputs, kernel, kernel];
            table.push(format!("{name}.weight"), &shape, Initial::Normal(deviation), Decay::Decayed);
            table.push(format!("{name}.bias"), &[outputs], Initial::Zeros, Decay::Exempt);
        };
        conv(&mut table, "layers.0", c, self.planes(), k);
        for i in 2..2 + blocks {
            for half in [1, 2] {
                table.push(format!("layers.{i}.ln{half}.weight"), &[c, 8, 8], Initial::Ones, Decay::Exempt);
                conv(&mut table, &format!("layers.{i}.conv{half}"), c, c, k);
            }
        }
        match self.head {
            PolicyCnnHead::Flatten => {
                let features = c * SQUARES;
                let deviation = 1.0 / (features as f32).sqrt();
                table.push("head.norm.weight", &[features], Initial::Ones, Decay::Exempt);
                table.push("head.out.weight", &[MOVES, features], Initial::Normal(deviation), Decay::Decayed);
                table.push("head.out.bias", &[MOVES], Initial::Zeros, Decay::Exempt);
            }
            PolicyCnnHead::Bilinear(depth) => {
                table.push("head.norm.weight", &[c, 8, 8], Initial::Ones, Decay::Exempt);
                conv(&mut table, "head.from_proj", depth, c, 1);
                conv(&mut table, "head.to_proj", depth, c, 1);
                table.push("head.promo_bias", &[PROMOTION_KINDS], Initial::Zeros, Decay::Exempt);
            }
        }
        table
    }

    /// Index tables that belong to the exported state dict and are not learned.
    pub(super) fn buffers(&self) -> Vec<(&'static str, Vec<i64>)> {
        let column = |at: usize| CANONICAL_1968_ROWS.iter().map(|row| i64::from(row[at])).collect();
        match self.head {
            PolicyCnnHead::Flatten => Vec::new(),
            PolicyCnnHead::Bilinear(_) => {
                vec![("head.from_idx", column(0)), ("head.to_idx", column(1)), ("head.promo_idx", column(2))]
            }
        }
    }

    pub(super) fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>> {
        let c = self.channels;
        let board = net.input(0)?;
        let x = net.conv(&board, "layers.0")?;
        let mut x = net.gelu(&x)?;
        for i in 2..2 + self.blocks {
            let mut y = x.clone();
            for half in [1, 2] {
                let normal = self.norm_planes(net, &y, &format!("layers.{i}.ln{half}.weight"))?;
                let z = net.conv(&normal, &format!("layers.{i}.conv{half}"))?;
                y = net.gelu(&z)?;
            }
            x = net.add(&x, &y)?;
        }
        let policy = match self.head {
            PolicyCnnHead::Flatten => {
                let flat = net.reshape(&x, &[c * SQUARES])?;
                let flat = net.rms_norm(&flat, "head.norm.weight", EPS)?;
                net.linear(&flat, "head.out")?
            }
            PolicyCnnHead::Bilinear(depth) => {
                let y = self.norm_planes(net, &x, "head.norm.weight")?;
                let from = net.conv(&y, "head.from_proj")?;
                let from = net.reshape(&from, &[depth, SQUARES])?;
                let from = net.permute(&from, &[0, 2, 1])?;
                let to = net.conv(&y, "head.to_proj")?;
                let to = net.reshape(&to, &[depth, SQUARES])?;
                let pairs = net.matmul(&from, &to)?;
                let pairs = net.reshape(&pairs, &[SQUARES * SQUARES])?;
                let places: Vec<u32> = CANONICAL_1968_ROWS
                    .iter()
                    .map(|&[from, to, _]| u32::from(from) * SQUARES as u32 + u32::from(to))
                    .collect();
                let plain = net.select(&pairs, 1, &places)?;
                let kinds: Vec<u32> = CANONICAL_1968_ROWS.iter().map(|row| u32::from(row[2])).collect();
                let bias = net.parameter("head.promo_bias")?;
                let bias = net.select(&bias, 0, &kinds)?;
                net.add(&plain, &bias)?
            }
        };
        Ok(Heads { policy: Some(policy), ..Heads::default() })
    }

    /// A norm over all features of a position, on their planes.
    fn norm_planes<L: Layers>(&self, net: &mut L, x: &L::Value, weight: &str) -> Result<L::Value> {
        let flat = net.reshape(x, &[self.channels * SQUARES])?;
        let normal = net.rms_norm(&flat, weight, EPS)?;
        net.reshape(&normal, &[self.channels, 8, 8])
    }
}
