//! The human transformer, as `tabia_nets::human` defines it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use tabia_encoding::TIME_BINS;
use tabia_nets::HumanConfig;
use tabia_nets::human::{EPS, LAST_RANK, OUTCOMES as WDL, PROMOTIONS, SQUARE_INPUTS as CHANNELS, SQUARES};
use tabia_onnx::TensorError;
use tabia_onnx::tensors::TensorMap;

use super::elementwise::{AddBroadcast, Mean, Silu, Softmax};
use super::level::Level;
use super::linear::{Linear, LinearWithBias};
use super::product::{FloatProduct, Store};
use super::rows::Rows;
use super::session::TransformerNet;
use super::trunk::{Plan, Trunk, TrunkBuffers, rows_in_blocks};
use crate::accumulator::block::{Block, LANES};

/// Blocks of a row with one element per square.
const SQUARE_BLOCKS: usize = SQUARES / LANES;

/// The packed weights of a network.
#[derive(Debug)]
pub(super) struct HumanNet {
    squares: Linear,
    position_embedding: Vec<[f32; LANES]>,
    game: Linear,
    /// Inputs per game.
    game_inputs: usize,
    trunk: Trunk,
    /// Origins, then targets.
    pairs: Linear,
    /// The width of an origin or target vector.
    pair: usize,
    promotions: Linear,
    value_heads: Option<ValueHeads>,
}

/// The WDL and think-time heads, as far as the network has them.
#[derive(Debug)]
struct ValueHeads {
    hidden: LinearWithBias,
    wdl: Option<LinearWithBias>,
    time: Option<LinearWithBias>,
}

/// Buffers for one position.
#[derive(Debug)]
pub(super) struct HumanBuffers {
    trunk: TrunkBuffers,
    game: Rows,
    game_sum: Rows,
    pairs: Rows,
    targets: Vec<Block<f32>>,
    moves: Rows,
    promotions: Rows,
    pooled: Rows,
    hidden: Rows,
    chances: Rows,
}

impl HumanNet {
    /// Takes the weights out of `tensors`; `None`, taking nothing, if the kernels do not support its sizes.
    ///
    /// # Errors
    /// If a tensor is missing, has another shape or is not finite.
    pub(super) fn take(
        config: &HumanConfig,
        tensors: &mut TensorMap,
        level: Level,
    ) -> Result<Option<HumanNet>, TensorError> {
        let &HumanConfig { width: d, heads, layers, inner: hidden, pair, .. } = config;
        let plan = Plan {
            tokens: SQUARES,
            width: d,
            head: d / heads,
            hidden,
            layers,
            norm: "norm",
            final_norm: "norm_final.weight",
            eps: EPS,
        };
        if !plan.fills_blocks() {
            return Ok(None);
        }
        let squares = Linear::in_floats(&tensors.take("squares.weight", &[d, CHANNELS])?);
        let position_embedding = rows_in_blocks(tensors.take("position.weight", &[SQUARES, d])?.data(), d);
        let game_inputs = config.game_inputs();
        let game = Linear::in_floats(&tensors.take("game.weight", &[d, game_inputs])?);
        let trunk = Trunk::take(plan, tensors, level)?;
        let from = tensors.take("from_head.weight", &[pair, d])?;
        let to = tensors.take("to_head.weight", &[pair, d])?;
        let pairs = Linear::new(level, &[from, to]);
        let promotions = Linear::in_floats(&tensors.take("promotion_head.weight", &[PROMOTIONS, d])?);
        let value_heads = ValueHeads::take(tensors, d)?;
        Ok(Some(HumanNet {
            squares,
            position_embedding,
            game,
            game_inputs,
            trunk,
            pairs,
            pair,
            promotions,
            value_heads,
        }))
    }

    /// A logit for every pair of squares: the scaled dot product of the origin's and the target's vectors.
    fn moves(&self, level: Level, buffers: &mut HumanBuffers) {
        let TrunkBuffers { normal, quantised, .. } = &mut buffers.trunk;
        self.pairs.run(level, normal, quantised, &mut buffers.pairs, Store::Replace);
        let scale = 1.0 / (self.pair as f32).sqrt();
        let stride = self.pairs.panels * LANES;
        let rows = buffers.pairs.as_flattened();
        for (square, row) in rows.chunks_exact(stride).enumerate() {
            let panel = &mut buffers.targets[square / LANES * self.pair..][..self.pair];
            for (block, value) in panel.iter_mut().zip(&row[stride / 2..]) {
                block.0[square % LANES] = value * scale;
            }
        }
        level.run(FloatProduct {
            rows: SQUARES,
            inputs: rows,
            stride,
            panels: &buffers.targets,
            depth: self.pair,
            to: &mut buffers.moves,
            to_stride: SQUARE_BLOCKS,
            then: Store::Replace,
        });
    }
}

impl TransformerNet for HumanNet {
    type Buffers = HumanBuffers;

    fn inputs(&self) -> Vec<(&'static str, usize)> {
        vec![("squares", SQUARES * CHANNELS), ("game", self.game_inputs)]
    }

    fn buffers(&self) -> HumanBuffers {
        let blocks = Rows::zeros;
        let width = self.squares.panels;
        HumanBuffers {
            trunk: self.trunk.buffers(),
            game: blocks(self.game_inputs.div_ceil(LANES)),
            game_sum: blocks(width),
            pairs: blocks(SQUARES * self.pairs.panels),
            targets: vec![Block([0.0; LANES]); SQUARE_BLOCKS * self.pair],
            moves: blocks(SQUARES * SQUARE_BLOCKS),
            promotions: blocks(SQUARES - LAST_RANK),
            pooled: blocks(width),
            hidden: blocks(
                self.value_heads.as_ref().map_or(0, |value_heads| value_heads.hidden.linear.panels),
            ),
            chances: blocks(WDL.max(TIME_BINS).div_ceil(LANES)),
        }
    }

    fn outputs(&self) -> Vec<usize> {
        let value_heads = self.value_heads.as_ref();
        let wdl = value_heads.and_then(|value_heads| value_heads.wdl.as_ref()).map(|_| WDL);
        let time = value_heads.and_then(|value_heads| value_heads.time.as_ref()).map(|_| TIME_BINS);
        [SQUARES * SQUARES, (SQUARES - LAST_RANK) * PROMOTIONS].into_iter().chain(wdl).chain(time).collect()
    }

    fn run(&self, level: Level, inputs: &[&[f32]], buffers: &mut HumanBuffers, mut put: impl FnMut(&[f32])) {
        let &[squares, game] = inputs else { return };
        let trunk = &mut buffers.trunk;
        buffers.game.as_flattened_mut()[..self.game_inputs].copy_from_slice(game);
        self.game.run(level, &buffers.game, &mut trunk.quantised, &mut buffers.game_sum, Store::Replace);
        level.run(AddBroadcast {
            first: &self.position_embedding,
            second: &buffers.game_sum,
            to: &mut trunk.x,
        });
        let (squares, _) = squares.as_chunks::<LANES>();
        self.squares.run(level, squares, &mut trunk.quantised, &mut trunk.x, Store::Add);
        self.trunk.run(level, trunk);

        self.moves(level, buffers);
        put(buffers.moves.as_flattened());
        let TrunkBuffers { normal, quantised, .. } = &mut buffers.trunk;
        let last_rank = &normal[LAST_RANK * self.squares.panels..];
        self.promotions.run(level, last_rank, quantised, &mut buffers.promotions, Store::Replace);
        let mut promotions = [0.0; (SQUARES - LAST_RANK) * PROMOTIONS];
        for (to, from) in promotions.chunks_exact_mut(PROMOTIONS).zip(buffers.promotions.iter()) {
            to.copy_from_slice(&from[..PROMOTIONS]);
        }
        put(&promotions);
        let Some(value_heads) = &self.value_heads else { return };
        level.run(Mean { from: normal, to: &mut buffers.pooled });
        value_heads.hidden.run(level, &buffers.pooled, quantised, &mut buffers.hidden);
        level.run(Silu(&mut buffers.hidden));
        for (head, width) in [(&value_heads.wdl, WDL), (&value_heads.time, TIME_BINS)] {
            let Some(head) = head else { continue };
            let blocks = head.linear.panels;
            let chances = &mut buffers.chances[..blocks];
            head.run(level, &buffers.hidden, quantised, chances);
            level.run(Softmax { row: chances, width });
            put(&chances.as_flattened()[..width]);
        }
    }
}

impl ValueHeads {
    fn take(tensors: &mut TensorMap, d: usize) -> Result<Option<ValueHeads>, TensorError> {
        let [wdl, time] = ["wdl_head", "time_head"].map(|head| tensors.contains(&format!("{head}.weight")));
        if !wdl && !time {
            return Ok(None);
        }
        let [hidden, _] = tensors.dims("value_hidden.weight")?;
        let mut layer = |name: &str, outputs: usize, inputs: usize| {
            LinearWithBias::take(tensors, name, [outputs, inputs])
        };
        Ok(Some(ValueHeads {
            hidden: layer("value_hidden", hidden, d)?,
            wdl: wdl.then(|| layer("wdl_head", WDL, hidden)).transpose()?,
            time: time.then(|| layer("time_head", TIME_BINS, hidden)).transpose()?,
        }))
    }
}
