//! Maia-3, step by step as the runtime on the processor has it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tabia_nets::Maia3Config;
use tabia_nets::maia3::{LAYER_NORM_EPS, MAX_RATING, MOVES, OUTCOMES, PIECES, PROMOTIONS, RMS_EPS, SQUARES};
use tabia_onnx::TensorError;
use tabia_onnx::tensors::{Tensor, TensorMap};

use crate::LANES;
use crate::human::with_bias;
use crate::plan::{Activation, Builder, Linear, Norm, Plan, Port, Rows, Scaling, Start, Step};

/// The first square of the last rank.
const LAST_RANK: usize = 56;

pub(crate) fn plan(config: &Maia3Config, tensors: &mut TensorMap) -> Result<Option<Plan>, TensorError> {
    let &Maia3Config { width: d, heads, inner, rating, head, bias_square, bias_hidden, bias_width, .. } =
        config;
    let sizes = [d, d / heads, inner, head, bias_square, bias_hidden, bias_width];
    if sizes.iter().any(|size| !size.is_multiple_of(LANES)) {
        return Ok(None);
    }
    let mut plan = Builder::default();
    let tokens = plan.rows(SQUARES, PIECES * config.boards);
    let ratings = [plan.numbers(1), plan.numbers(1)];
    let inputs = vec![
        Port { buffer: tokens.buffer, width: tokens.count * tokens.width },
        Port { buffer: ratings[0], width: 1 },
        Port { buffer: ratings[1], width: 1 },
    ];

    let (x, next) = (plan.rows(SQUARES, d), plan.rows(SQUARES, d));
    let low = tensors.take("elo_embedding_low.weight", &[1, rating])?;
    let high = tensors.take("elo_embedding_high.weight", &[1, rating])?;
    let slope = plan.constant(low.data().iter().zip(high.data()).map(|(low, high)| low - high));
    let base = plan.constant(high.data().iter().copied());
    let vectors = plan.rows(1, 2 * rating);
    plan.step(Step::Ratings { ratings, slope, base, share: 1.0 / MAX_RATING, to: vectors });
    let projection = tensors.take("token_projection.weight", &[d, tokens.width + 2 * rating])?;
    let of_pieces = columns(&mut plan, &projection, 0, tokens.width);
    let of_ratings = columns(&mut plan, &projection, tokens.width, 2 * rating);
    let bias = plan.bias(tensors, "token_projection.bias", d)?;
    let row = plan.rows(1, d);
    plan.product(vectors, of_ratings, Start::Row(bias), row);
    plan.product(tokens, of_pieces, Start::Row(row.buffer), x);

    let table = plan.linear(&[tensors.take("gab_shared_weight", &[SQUARES * SQUARES, bias_width])?]);
    let space = Space {
        x,
        next,
        qkv: plan.rows(SQUARES, 3 * d),
        mixed: plan.rows(SQUARES, d),
        inner: plan.rows(SQUARES, inner),
        active: plan.rows(SQUARES, inner),
        row: plan.rows(1, d),
        // Without squares nothing reads them, but a device has no empty buffers.
        squares: plan.rows(SQUARES, bias_square.max(1)),
        hidden: [plan.rows(1, bias_hidden), plan.rows(1, bias_hidden)],
        heads: [plan.rows(1, heads * bias_width), plan.rows(1, heads * bias_width)],
        bias: plan.rows(heads, SQUARES * SQUARES),
    };
    for i in 0..config.layers {
        space.block(&mut plan, config, tensors, &format!("transformer.layers.{i}"), table)?;
    }
    let norm = layer_norm(&mut plan, tensors, "transformer.norm", d)?;
    plan.step(Step::Normalise { from: x, shift: None, norm, to: next.buffer });

    let ends =
        [tensors.take("proj_sq_from.weight", &[head, d])?, tensors.take("proj_sq_to.weight", &[head, d])?];
    let layer = plan.linear(&ends);
    let pairs = plan.rows(SQUARES, 2 * head);
    plan.product(next, layer, Start::Nothing, pairs);
    let moves = plan.rows(1, MOVES);
    let root = (head as f32).sqrt();
    plan.step(Step::Pairs { from: pairs, scale: 1.0 / root, to: moves.buffer });
    let layer = plan.in_floats(&[tensors.take("promo_bias_proj.weight", &[PROMOTIONS, head])?]);
    let pieces = plan.rows(SQUARES - LAST_RANK, PROMOTIONS);
    plan.product(pairs.from(LAST_RANK).columns(head, head), layer, Start::Nothing, pieces);
    plan.step(Step::Promotions { pieces: pieces.buffer, factor: root, to: moves.buffer });

    let pooled = [plan.rows(1, d), plan.rows(1, d)];
    plan.step(Step::Mean { from: next, to: pooled[0].buffer });
    let norm = layer_norm(&mut plan, tensors, "last_ln", d)?;
    plan.step(Step::Normalise { from: pooled[0], shift: None, norm, to: pooled[1].buffer });
    let hidden = with_bias(&mut plan, tensors, "fc_value_hid", pooled[1], head)?;
    let active = plan.rows(1, head);
    plan.step(Step::Activate { from: hidden, shift: None, activation: Activation::Relu, to: active.buffer });
    let logits = with_bias(&mut plan, tensors, "fc_value", active, OUTCOMES)?;
    let outcome = plan.rows(1, OUTCOMES);
    plan.step(Step::Softmax { from: logits, to: outcome.buffer });
    let outputs = [moves, outcome].map(|rows| Port { buffer: rows.buffer, width: rows.width });
    Ok(Some(plan.finish(inputs, outputs.to_vec())))
}

/// What the blocks compute in. The squares are in `x` before and after a block.
struct Space {
    x: Rows,
    next: Rows,
    qkv: Rows,
    mixed: Rows,
    inner: Rows,
    active: Rows,
    /// The mean of the squares.
    row: Rows,
    /// From the squares to the row of each head that the bias is made of.
    squares: Rows,
    hidden: [Rows; 2],
    heads: [Rows; 2],
    /// The bias of every head and pair of squares.
    bias: Rows,
}

impl Space {
    fn block(
        &self,
        plan: &mut Builder,
        config: &Maia3Config,
        tensors: &mut TensorMap,
        name: &str,
        table: Linear,
    ) -> Result<(), TensorError> {
        let &Maia3Config { width: d, heads, inner, bias_width, .. } = config;
        self.bias(plan, config, tensors, &format!("{name}.self_attn"))?;
        let of_heads = Rows::all(self.heads[1].buffer, heads, bias_width);
        plan.product(of_heads, table, Start::Nothing, self.bias);
        let part = |part: &str| format!("{name}.{part}");

        let qkv = plan.linear(&[tensors.take(&part("self_attn.mha.in_proj_weight"), &[3 * d, d])?]);
        let qkv_bias = part("self_attn.mha.in_proj_bias");
        let start = match tensors.contains(&qkv_bias) {
            true => Start::Row(plan.row(tensors, &qkv_bias, 3 * d)?),
            false => Start::Nothing,
        };
        plan.product(self.x, qkv, start, self.qkv);
        let scaling = Scaling::Factor(1.0 / ((d / heads) as f32).sqrt());
        plan.step(Step::Attend {
            qkv: self.qkv,
            heads,
            scaling,
            bias: self.bias.buffer,
            to: self.mixed.buffer,
        });
        let out = plan.linear(&[tensors.take(&part("self_attn.mha.out_proj.weight"), &[d, d])?]);
        plan.product(self.mixed, out, Start::Rows(self.x.buffer), self.next);
        let shift = plan.bias(tensors, &part("self_attn.mha.out_proj.bias"), d)?;
        let norm1 = norm(plan, config, tensors, &part("norm1"))?;
        plan.step(Step::Normalise { from: self.next, shift: Some(shift), norm: norm1, to: self.x.buffer });

        let up = plan.linear(&[tensors.take(&part("linear1.weight"), &[inner, d])?]);
        plan.product(self.x, up, Start::Nothing, self.inner);
        let shift = plan.bias(tensors, &part("linear1.bias"), inner)?;
        plan.step(Step::Activate {
            from: self.inner,
            shift: Some(shift),
            activation: Activation::Gelu,
            to: self.active.buffer,
        });
        let down = plan.linear(&[tensors.take(&part("linear2.weight"), &[d, inner])?]);
        plan.product(self.active, down, Start::Rows(self.x.buffer), self.next);
        let shift = plan.bias(tensors, &part("linear2.bias"), d)?;
        let norm2 = norm(plan, config, tensors, &part("norm2"))?;
        plan.step(Step::Normalise { from: self.next, shift: Some(shift), norm: norm2, to: self.x.buffer });
        Ok(())
    }

    /// From the squares to the row of each head.
    fn bias(
        &self,
        plan: &mut Builder,
        config: &Maia3Config,
        tensors: &mut TensorMap,
        name: &str,
    ) -> Result<(), TensorError> {
        let &Maia3Config { width: d, bias_square: square, bias_hidden: hidden, .. } = config;
        let generated = config.heads * config.bias_width;
        let part = |part: &str| format!("{name}.{part}");
        let from = if square == 0 {
            plan.step(Step::Mean { from: self.x, to: self.row.buffer });
            self.row
        } else {
            let layer = plan.linear(&[tensors.take(&part("sm1.weight"), &[square, d])?]);
            let bias = plan.bias(tensors, &part("sm1.bias"), square)?;
            plan.product(self.x, layer, Start::Row(bias), self.squares);
            Rows::all(self.squares.buffer, 1, SQUARES * square)
        };
        // One row each: too little to gain from 8 bits.
        for ((layer, norm), from, [raw, done], outputs) in [
            (("sm2", "ln1"), from, self.hidden, hidden),
            (("sm3", "ln2"), self.hidden[1], self.heads, generated),
        ] {
            let weight = tensors.take(&part(&format!("{layer}.weight")), &[outputs, from.width])?;
            let weight = plan.in_floats(&[weight]);
            plan.product(from, weight, Start::Nothing, raw);
            let shift = plan.bias(tensors, &part(&format!("{layer}.bias")), outputs)?;
            let active = plan.rows(1, outputs);
            plan.step(Step::Activate {
                from: raw,
                shift: Some(shift),
                activation: Activation::Gelu,
                to: active.buffer,
            });
            let norm = layer_norm(plan, tensors, &part(norm), outputs)?;
            plan.step(Step::Normalise { from: active, shift: None, norm, to: done.buffer });
        }
        Ok(())
    }
}

/// The layer on some of the inputs of `tensor`, in floats.
fn columns(plan: &mut Builder, tensor: &Tensor, first: usize, inputs: usize) -> Linear {
    let outputs = tensor.shape().first().copied().unwrap_or(0);
    let all = tensor.shape().get(1).copied().unwrap_or(0);
    let weight = |input: usize, output: usize| tensor.data().get(output * all + input).copied();
    let weights = (first..first + inputs).flat_map(|input| (0..outputs).map(move |output| (input, output)));
    let weights: Vec<f32> =
        weights.map(|(input, output)| weight(input, output).unwrap_or_default()).collect();
    Linear::Floats(plan.constant(weights), [inputs, outputs])
}

fn norm(
    plan: &mut Builder,
    config: &Maia3Config,
    tensors: &mut TensorMap,
    name: &str,
) -> Result<Norm, TensorError> {
    if config.layer_norm {
        return layer_norm(plan, tensors, name, config.width);
    }
    Ok(Norm::Rms { weight: plan.row(tensors, &format!("{name}.weight"), config.width)?, eps: RMS_EPS })
}

fn layer_norm(
    plan: &mut Builder,
    tensors: &mut TensorMap,
    name: &str,
    len: usize,
) -> Result<Norm, TensorError> {
    Ok(Norm::Layer {
        weight: plan.row(tensors, &format!("{name}.weight"), len)?,
        bias: plan.row(tensors, &format!("{name}.bias"), len)?,
        eps: LAYER_NORM_EPS,
    })
}
