//! The human network, step by step as the runtime on the processor has it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tabia_encoding::TIME_BINS;
use tabia_nets::HumanConfig;
use tabia_nets::human::{EPS, LAST_RANK, OUTCOMES, PROMOTIONS, SQUARE_INPUTS, SQUARES};
use tabia_onnx::TensorError;
use tabia_onnx::tensors::TensorMap;

use crate::LANES;
use crate::plan::{Activation, Builder, Norm, Plan, Port, Rows, Scaling, Start, Step};

pub(crate) fn plan(config: &HumanConfig, tensors: &mut TensorMap) -> Result<Option<Plan>, TensorError> {
    let &HumanConfig { width: d, heads, layers, inner, pair, .. } = config;
    let head = config.head_width();
    if [d, head, inner].iter().any(|size| !size.is_multiple_of(LANES)) {
        return Ok(None);
    }
    let game_inputs = config.game_inputs();
    let mut plan = Builder::default();
    let squares = plan.rows(SQUARES, SQUARE_INPUTS);
    let game = plan.rows(1, game_inputs);
    let inputs = [squares, game].map(|input| Port { buffer: input.buffer, width: input.count * input.width });

    // The squares go back and forth between two buffers: a step cannot write what it reads.
    let (mut x, mut next) = (plan.rows(SQUARES, d), plan.rows(SQUARES, d));
    let normal = plan.rows(SQUARES, d);
    let game_sum = plan.rows(1, d);
    let of_game = plan.in_floats(&[tensors.take("game.weight", &[d, game_inputs])?]);
    plan.product(game, of_game, Start::Nothing, game_sum);
    let places = tensors.take("position.weight", &[SQUARES, d])?;
    let first = plan.constant(places.into_data());
    plan.step(Step::AddRow { first, second: game_sum.buffer, to: next });
    let of_squares = plan.in_floats(&[tensors.take("squares.weight", &[d, SQUARE_INPUTS])?]);
    plan.product(squares, of_squares, Start::Rows(next.buffer), x);

    let qkv = plan.rows(SQUARES, 3 * d);
    let both = plan.rows(SQUARES, 2 * inner);
    let gated = plan.rows(SQUARES, inner);
    for block in (0..layers).map(|i| format!("blocks.{i}")) {
        let name = |part: &str| format!("{block}.{part}.weight");
        let weight = plan.row(tensors, &name("norm1"), d)?;
        plan.step(Step::Normalise {
            from: x,
            shift: None,
            norm: Norm::Rms { weight, eps: EPS },
            to: normal.buffer,
        });
        let layer = plan.linear(&[tensors.take(&name("attn.qkv"), &[3 * d, d])?]);
        plan.product(normal, layer, Start::Nothing, qkv);
        let scale = 1.0 / (head as f32).sqrt();
        let queries = tensors.take(&name("attn.q_norm"), &[head])?.into_data();
        let queries = plan.constant(queries.into_iter().map(|weight| weight * scale));
        let keys = plan.row(tensors, &name("attn.k_norm"), head)?;
        let bias = tensors.take(&format!("{block}.attn.bias"), &[heads, SQUARES, SQUARES])?;
        let bias = plan.constant(bias.into_data());
        let scaling = Scaling::Norms { queries, keys, eps: EPS };
        plan.step(Step::Attend { qkv, heads, scaling, bias, to: normal.buffer });
        let layer = plan.linear(&[tensors.take(&name("attn.out"), &[d, d])?]);
        plan.product(normal, layer, Start::Rows(x.buffer), next);
        let weight = plan.row(tensors, &name("norm2"), d)?;
        plan.step(Step::Normalise {
            from: next,
            shift: None,
            norm: Norm::Rms { weight, eps: EPS },
            to: normal.buffer,
        });
        let up = [tensors.take(&name("ffn.w1"), &[inner, d])?, tensors.take(&name("ffn.w3"), &[inner, d])?];
        let layer = plan.linear(&up);
        plan.product(normal, layer, Start::Nothing, both);
        plan.step(Step::Activate {
            from: both,
            shift: None,
            activation: Activation::SwiGlu,
            to: gated.buffer,
        });
        let layer = plan.linear(&[tensors.take(&name("ffn.w2"), &[d, inner])?]);
        plan.product(gated, layer, Start::Rows(next.buffer), x);
    }
    let weight = plan.row(tensors, "norm_final.weight", d)?;
    let norm = Norm::Rms { weight, eps: EPS };
    plan.step(Step::Normalise { from: x, shift: None, norm, to: next.buffer });
    std::mem::swap(&mut x, &mut next);

    let ends = [tensors.take("from_head.weight", &[pair, d])?, tensors.take("to_head.weight", &[pair, d])?];
    let layer = plan.linear(&ends);
    let pairs = plan.rows(SQUARES, 2 * pair);
    plan.product(x, layer, Start::Nothing, pairs);
    let moves = plan.rows(1, SQUARES * SQUARES);
    plan.step(Step::Pairs { from: pairs, scale: 1.0 / (pair as f32).sqrt(), to: moves.buffer });
    let layer = plan.in_floats(&[tensors.take("promotion_head.weight", &[PROMOTIONS, d])?]);
    let promotions = plan.rows(SQUARES - LAST_RANK, PROMOTIONS);
    plan.product(x.from(LAST_RANK), layer, Start::Nothing, promotions);

    let port = |rows: Rows| Port { buffer: rows.buffer, width: rows.count * rows.width };
    let mut outputs = vec![port(moves), port(promotions)];
    let [wdl, time] = ["wdl_head", "time_head"].map(|head| tensors.contains(&format!("{head}.weight")));
    if wdl || time {
        let [width, _] = tensors.dims("value_hidden.weight")?;
        let pooled = plan.rows(1, d);
        plan.step(Step::Mean { from: x, to: pooled.buffer });
        let hidden = with_bias(&mut plan, tensors, "value_hidden", pooled, width)?;
        let active = plan.rows(1, width);
        let activation = Activation::Silu;
        plan.step(Step::Activate { from: hidden, shift: None, activation, to: active.buffer });
        for (there, name, width) in [(wdl, "wdl_head", OUTCOMES), (time, "time_head", TIME_BINS)] {
            if !there {
                continue;
            }
            let logits = with_bias(&mut plan, tensors, name, active, width)?;
            let chances = plan.rows(1, width);
            plan.step(Step::Softmax { from: logits, to: chances.buffer });
            outputs.push(port(chances));
        }
    }
    Ok(Some(plan.finish(inputs.to_vec(), outputs)))
}

/// A small layer with a bias on one row.
pub(crate) fn with_bias(
    plan: &mut Builder,
    tensors: &mut TensorMap,
    name: &str,
    from: Rows,
    outputs: usize,
) -> Result<Rows, TensorError> {
    let layer = plan.in_floats(&[tensors.take(&format!("{name}.weight"), &[outputs, from.width])?]);
    let bias = plan.bias(tensors, &format!("{name}.bias"), outputs)?;
    let to = plan.rows(1, outputs);
    plan.product(from, layer, Start::Row(bias), to);
    Ok(to)
}
