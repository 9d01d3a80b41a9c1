//! Maia-3, as `tabia_nets::maia3` defines it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use tabia_nets::Maia3Config;
use tabia_nets::maia3::{LAYER_NORM_EPS, MAX_RATING, MOVES, OUTCOMES, PIECES, PROMOTIONS, RMS_EPS, SQUARES};
use tabia_onnx::TensorError;
use tabia_onnx::tensors::TensorMap;

use super::attention::{Attention, HeadBuffers, Scaling};
use super::elementwise::{Mean, Norm, Normalise, Softmax};
use super::level::Level;
use super::linear::{Linear, LinearWithBias, take_bias};
use super::product::{FloatProduct, Store};
use super::quantise::QuantisedRows;
use super::rows::Rows;
use super::session::TransformerNet;
use super::trunk::take_row;
use crate::accumulator::block::{Block, LANES};

/// Blocks of a row with one element per square.
const SQUARE_BLOCKS: usize = SQUARES / LANES;
/// The first squares of the ranks that promotions start from and end on.
const RANKS: [usize; 2] = [48, 56];

/// The packed weights of a network.
#[derive(Debug)]
pub(super) struct Maia3Net {
    config: Maia3Config,
    /// The vector of a rating of 5000 minus that of 0, and that of 0.
    rating_slope: Vec<f32>,
    rating_base: Vec<f32>,
    /// The projection of a square's pieces and of both ratings.
    pieces: Linear,
    ratings: Linear,
    projection_bias: Vec<[f32; LANES]>,
    blocks: Vec<Maia3Block>,
    /// The table of attention biases by key and query, which all blocks share.
    bias_table: Linear,
    final_norm: Norm,
    /// Origins, then targets.
    pairs: Linear,
    promotions: Linear,
    value_norm: Norm,
    value_hidden: LinearWithBias,
    outcome: LinearWithBias,
}

#[derive(Debug)]
struct Maia3Block {
    generator: BiasGenerator,
    qkv: Linear,
    qkv_bias: Option<Vec<[f32; LANES]>>,
    attention: Attention,
    out: Linear,
    out_bias: Vec<[f32; LANES]>,
    norm1: Norm,
    up: Linear,
    up_bias: Vec<[f32; LANES]>,
    down: Linear,
    down_bias: Vec<[f32; LANES]>,
    norm2: Norm,
}

/// Makes a row for each head from the squares; the table turns it into the attention bias of all pairs of squares.
#[derive(Debug)]
struct BiasGenerator {
    /// Reduces each square; without it the squares are averaged.
    squares: Option<(Linear, Vec<[f32; LANES]>)>,
    hidden: Linear,
    hidden_bias: Vec<[f32; LANES]>,
    hidden_norm: Norm,
    heads: Linear,
    heads_bias: Vec<[f32; LANES]>,
    heads_norm: Norm,
}

/// Buffers for one position.
#[derive(Debug)]
pub(super) struct Maia3Buffers {
    x: Rows,
    quantised: QuantisedRows,
    pieces: Rows,
    ratings: Rows,
    /// A row of the network's width.
    row: Rows,
    bias_squares: Rows,
    bias_hidden: Rows,
    bias_heads: Rows,
    /// The attention bias of each head, key and query.
    bias: Rows,
    qkv: Rows,
    head: HeadBuffers,
    mixed: Rows,
    inner: Rows,
    pairs: Rows,
    targets: Vec<Block<f32>>,
    moves: Rows,
    promotions: Rows,
    value_hidden: Rows,
    outcome: Rows,
}

impl Maia3Net {
    /// Takes the weights out of `tensors`; `None`, taking nothing, if the kernels do not support its sizes.
    ///
    /// # Errors
    /// If a tensor is missing, has another shape or is not finite.
    pub(super) fn take(
        config: &Maia3Config,
        tensors: &mut TensorMap,
        level: Level,
    ) -> Result<Option<Maia3Net>, TensorError> {
        let &Maia3Config {
            width: d, heads, inner, rating, head, bias_square, bias_hidden, bias_width, ..
        } = config;
        let sizes = [d, d / heads, inner, head, bias_square, bias_hidden, bias_width];
        if sizes.iter().any(|size| !size.is_multiple_of(LANES)) {
            return Ok(None);
        }
        let low = tensors.take("elo_embedding_low.weight", &[1, rating])?;
        let high = tensors.take("elo_embedding_high.weight", &[1, rating])?;
        let inputs = PIECES * config.boards;
        let projection = tensors.take("token_projection.weight", &[d, inputs + 2 * rating])?;
        let mut blocks = Vec::with_capacity(config.layers);
        for i in 0..config.layers {
            blocks.push(Maia3Block::take(config, tensors, &format!("transformer.layers.{i}"), level)?);
        }
        let table = tensors.take("gab_shared_weight", &[SQUARES * SQUARES, bias_width])?;
        let from = tensors.take("proj_sq_from.weight", &[head, d])?;
        let to = tensors.take("proj_sq_to.weight", &[head, d])?;
        Ok(Some(Maia3Net {
            config: *config,
            rating_slope: low.data().iter().zip(high.data()).map(|(low, high)| low - high).collect(),
            rating_base: high.data().to_vec(),
            pieces: Linear::of_columns(&projection, 0..inputs),
            ratings: Linear::of_columns(&projection, inputs..inputs + 2 * rating),
            projection_bias: take_bias(tensors, "token_projection.bias", d)?,
            blocks,
            bias_table: Linear::new(level, &[table.reordered(|row| row % SQUARES * SQUARES + row / SQUARES)]),
            final_norm: layer_norm(tensors, "transformer.norm", d)?,
            pairs: Linear::new(level, &[from, to]),
            promotions: Linear::in_floats(&tensors.take("promo_bias_proj.weight", &[PROMOTIONS, head])?),
            value_norm: layer_norm(tensors, "last_ln", d)?,
            value_hidden: LinearWithBias::take(tensors, "fc_value_hid", [head, d])?,
            outcome: LinearWithBias::take(tensors, "fc_value", [OUTCOMES, head])?,
        }))
    }

    /// The projection of pieces and ratings into `buffers.x`.
    fn embed(&self, level: Level, pieces: &[f32], ratings: [f32; 2], buffers: &mut Maia3Buffers) {
        let Maia3Buffers { x, quantised, row, .. } = buffers;
        let of_ratings = buffers.ratings.as_flattened_mut().chunks_exact_mut(self.config.rating);
        for (to, rating) in of_ratings.zip(ratings) {
            let part = rating * (1.0 / MAX_RATING);
            for ((to, slope), base) in to.iter_mut().zip(&self.rating_slope).zip(&self.rating_base) {
                *to = part * slope + base;
            }
        }
        row.copy_from_slice(&self.projection_bias);
        self.ratings.run(level, &buffers.ratings, quantised, row, Store::Add);
        x.chunks_exact_mut(row.len()).for_each(|to| to.copy_from_slice(row));
        let padded = buffers.pieces.as_flattened_mut();
        let stride = padded.len() / SQUARES;
        let width = PIECES * self.config.boards;
        for (to, from) in padded.chunks_exact_mut(stride).zip(pieces.chunks_exact(width)) {
            to[..width].copy_from_slice(from);
        }
        self.pieces.run(level, &buffers.pieces, quantised, x, Store::Add);
    }

    /// A logit for every pair of squares, the scaled dot product of the origin's and the target's vectors, and one for every
    /// promotion.
    fn moves(&self, level: Level, buffers: &mut Maia3Buffers) {
        let head = self.config.head;
        let root = (head as f32).sqrt();
        let Maia3Buffers { x, quantised, pairs, targets, moves, promotions, .. } = buffers;
        self.pairs.run(level, x, quantised, pairs, Store::Replace);
        let stride = 2 * head;
        let scale = 1.0 / root;
        for (square, row) in pairs.as_flattened().chunks_exact(stride).enumerate() {
            let panel = &mut targets[square / LANES * head..][..head];
            for (block, value) in panel.iter_mut().zip(&row[head..]) {
                block.0[square % LANES] = value * scale;
            }
        }
        level.run(FloatProduct {
            rows: SQUARES,
            inputs: pairs.as_flattened(),
            stride,
            panels: targets,
            depth: head,
            to: moves,
            to_stride: SQUARE_BLOCKS,
            then: Store::Replace,
        });
        // The targets on the last rank, one after another: origins are no longer needed.
        let blocks = head / LANES;
        for file in 0..8 {
            let from = (RANKS[1] + file) * 2 * blocks + blocks;
            pairs.copy_within(from..from + blocks, file * blocks);
        }
        self.promotions.run(level, &pairs[..8 * blocks], quantised, promotions, Store::Replace);
        let (moves, logits) = moves.as_flattened_mut().split_at_mut(SQUARES * SQUARES);
        for (at, logit) in logits.iter_mut().enumerate() {
            let (from, to, piece) = (at / (8 * PROMOTIONS), at / PROMOTIONS % 8, at % PROMOTIONS);
            *logit = moves[(RANKS[0] + from) * SQUARES + RANKS[1] + to] + promotions[to][piece] * root;
        }
    }
}

impl TransformerNet for Maia3Net {
    type Buffers = Maia3Buffers;

    fn inputs(&self) -> Vec<(&'static str, usize)> {
        vec![("tokens", SQUARES * PIECES * self.config.boards), ("self_elo", 1), ("oppo_elo", 1)]
    }

    fn outputs(&self) -> Vec<usize> {
        vec![MOVES, OUTCOMES]
    }

    fn buffers(&self) -> Maia3Buffers {
        let &Maia3Config {
            boards,
            width,
            heads,
            inner,
            rating,
            head,
            bias_square,
            bias_hidden,
            bias_width,
            ..
        } = &self.config;
        let numbers = |len: usize| Rows::zeros(len.div_ceil(LANES));
        Maia3Buffers {
            x: numbers(SQUARES * width),
            quantised: QuantisedRows::default(),
            pieces: numbers(SQUARES * (PIECES * boards).next_multiple_of(LANES)),
            ratings: numbers(2 * rating),
            row: numbers(width),
            bias_squares: numbers(SQUARES * bias_square),
            bias_hidden: numbers(bias_hidden),
            bias_heads: numbers(heads * bias_width),
            bias: numbers(heads * SQUARES * SQUARES),
            qkv: numbers(SQUARES * 3 * width),
            head: HeadBuffers::new(SQUARES, width / heads),
            mixed: numbers(SQUARES * width),
            inner: numbers(SQUARES * inner),
            pairs: numbers(SQUARES * 2 * head),
            targets: vec![Block([0.0; LANES]); SQUARE_BLOCKS * head],
            moves: numbers(MOVES),
            promotions: numbers(8 * LANES),
            value_hidden: numbers(head),
            outcome: numbers(OUTCOMES),
        }
    }

    fn run(&self, level: Level, inputs: &[&[f32]], buffers: &mut Maia3Buffers, mut put: impl FnMut(&[f32])) {
        let &[pieces, &[own], &[other]] = inputs else { return };
        self.embed(level, pieces, [own, other], buffers);
        for block in &self.blocks {
            block.run(level, &self.bias_table, buffers);
        }
        level.run(Normalise { rows: &mut buffers.x, shift: &[], norm: &self.final_norm });

        self.moves(level, buffers);
        put(buffers.moves.as_flattened());

        let Maia3Buffers { x, quantised, row, value_hidden, outcome, .. } = buffers;
        level.run(Mean { from: x, to: row });
        level.run(Normalise { rows: row, shift: &[], norm: &self.value_norm });
        self.value_hidden.run(level, row, quantised, value_hidden);
        value_hidden.iter_mut().flatten().for_each(|x| *x = if *x > 0.0 { *x } else { 0.0 });
        self.outcome.run(level, value_hidden, quantised, outcome);
        level.run(Softmax { row: outcome, width: OUTCOMES });
        put(&outcome.as_flattened()[..OUTCOMES]);
    }
}

impl Maia3Block {
    fn take(
        config: &Maia3Config,
        tensors: &mut TensorMap,
        name: &str,
        level: Level,
    ) -> Result<Maia3Block, TensorError> {
        let &Maia3Config { width: d, heads, inner, .. } = config;
        let generator = BiasGenerator::take(config, tensors, &format!("{name}.self_attn"), level)?;
        let mut matrix = |part: &str, shape: [usize; 2]| -> Result<Linear, TensorError> {
            Ok(Linear::new(level, &[tensors.take(&format!("{name}.{part}"), &shape)?]))
        };
        let qkv = matrix("self_attn.mha.in_proj_weight", [3 * d, d])?;
        let out = matrix("self_attn.mha.out_proj.weight", [d, d])?;
        let up = matrix("linear1.weight", [inner, d])?;
        let down = matrix("linear2.weight", [d, inner])?;
        let mut bias = |part: &str, len| take_bias(tensors, &format!("{name}.{part}"), len);
        let (out_bias, up_bias, down_bias) =
            (bias("self_attn.mha.out_proj.bias", d)?, bias("linear1.bias", inner)?, bias("linear2.bias", d)?);
        let qkv_bias = format!("{name}.self_attn.mha.in_proj_bias");
        let qkv_bias =
            tensors.contains(&qkv_bias).then(|| take_row(tensors, &qkv_bias, 3 * d)).transpose()?;
        let mut norm = |part: &str| {
            let name = format!("{name}.{part}");
            if config.layer_norm {
                return layer_norm(tensors, &name, d);
            }
            Ok(Norm::Rms { weight: take_row(tensors, &format!("{name}.weight"), d)?, eps: RMS_EPS })
        };
        let (norm1, norm2) = (norm("norm1")?, norm("norm2")?);
        let head = d / heads;
        let scaling = Scaling::Factor(1.0 / (head as f32).sqrt());
        let attention = Attention { tokens: SQUARES, dimensions: head / LANES, scaling };
        Ok(Maia3Block {
            generator,
            qkv,
            qkv_bias,
            attention,
            out,
            out_bias,
            norm1,
            up,
            up_bias,
            down,
            down_bias,
            norm2,
        })
    }

    /// Runs the squares in `buffers.x` through the block.
    fn run(&self, level: Level, bias_table: &Linear, buffers: &mut Maia3Buffers) {
        self.generator.run(level, buffers);
        let Maia3Buffers { x, quantised, bias_heads, bias, qkv, head, mixed, inner, .. } = buffers;
        bias_table.run(level, bias_heads, quantised, bias, Store::Replace);
        match &self.qkv_bias {
            None => self.qkv.run(level, x, quantised, qkv, Store::Replace),
            Some(bias) => {
                qkv.chunks_exact_mut(bias.len()).for_each(|row| row.copy_from_slice(bias));
                self.qkv.run(level, x, quantised, qkv, Store::Add);
            }
        }
        let heads = 0..mixed.len() / SQUARES / self.attention.dimensions;
        self.attention.run(level, heads, qkv, bias, head, mixed);
        self.out.run(level, mixed, quantised, x, Store::Add);
        level.run(Normalise { rows: x, shift: &self.out_bias, norm: &self.norm1 });
        self.up.run(level, x, quantised, inner, Store::Gelu(&self.up_bias));
        self.down.run(level, inner, quantised, x, Store::Add);
        level.run(Normalise { rows: x, shift: &self.down_bias, norm: &self.norm2 });
    }
}

impl BiasGenerator {
    fn take(
        config: &Maia3Config,
        tensors: &mut TensorMap,
        name: &str,
        level: Level,
    ) -> Result<BiasGenerator, TensorError> {
        let &Maia3Config { width: d, bias_square: square, bias_hidden: hidden, .. } = config;
        let generated = config.heads * config.bias_width;
        let mut layer = |part: &str, shape: [usize; 2]| {
            let weight = tensors.take(&format!("{name}.{part}.weight"), &shape)?;
            Ok::<_, TensorError>((weight, take_bias(tensors, &format!("{name}.{part}.bias"), shape[0])?))
        };
        let squares = match square {
            0 => None,
            _ => Some(layer("sm1", [square, d])?).map(|(weight, bias)| (Linear::new(level, &[weight]), bias)),
        };
        let (weight, hidden_bias) = layer("sm2", [hidden, if square > 0 { SQUARES * square } else { d }])?;
        let hidden_layer = Linear::of_row(&weight);
        let (weight, heads_bias) = layer("sm3", [generated, hidden])?;
        Ok(BiasGenerator {
            squares,
            hidden: hidden_layer,
            hidden_bias,
            hidden_norm: layer_norm(tensors, &format!("{name}.ln1"), hidden)?,
            heads: Linear::of_row(&weight),
            heads_bias,
            heads_norm: layer_norm(tensors, &format!("{name}.ln2"), generated)?,
        })
    }

    /// From `buffers.x` to `buffers.bias_heads`.
    fn run(&self, level: Level, buffers: &mut Maia3Buffers) {
        let Maia3Buffers { x, quantised, row, bias_squares, bias_hidden, bias_heads, .. } = buffers;
        let from = match &self.squares {
            None => {
                level.run(Mean { from: x, to: row });
                row
            }
            Some((linear, bias)) => {
                bias_squares.chunks_exact_mut(bias.len()).for_each(|row| row.copy_from_slice(bias));
                linear.run(level, x, quantised, bias_squares, Store::Add);
                bias_squares
            }
        };
        self.hidden.run(level, from, quantised, bias_hidden, Store::Gelu(&self.hidden_bias));
        level.run(Normalise { rows: bias_hidden, shift: &[], norm: &self.hidden_norm });
        self.heads.run(level, bias_hidden, quantised, bias_heads, Store::Gelu(&self.heads_bias));
        level.run(Normalise { rows: bias_heads, shift: &[], norm: &self.heads_norm });
    }
}

fn layer_norm(tensors: &mut TensorMap, name: &str, len: usize) -> Result<Norm, TensorError> {
    Ok(Norm::Layer {
        weight: take_row(tensors, &format!("{name}.weight"), len)?,
        bias: take_row(tensors, &format!("{name}.bias"), len)?,
        eps: LAYER_NORM_EPS,
    })
}
