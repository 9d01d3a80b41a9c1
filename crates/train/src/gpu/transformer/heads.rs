//! The heads: losses of every example forward, from the gradients of the logits to that of the last norm backward.

use super::super::batch::{Loaded, Targets};
use super::super::training::{BF16, Source};
use super::{MOVES, OUTPUTS, TOKENS, Transformer};
use crate::nets::HumanConfig;
use Argument::{At, Float, Int};
use tabia_gpu::{Address, Argument, Device, DeviceError, Element, Operand, Order, Product};

impl<D: Device> Transformer<D> {
    /// `pairs` of a product between one half of each board's pair vectors and the other.
    pub(super) fn pair_product(&self, boards: usize) -> Product {
        let pair = self.config.pair;
        let m = &self.memory;
        let half = |at: Address, order| Operand { at, stride: 2 * pair, order };
        Product {
            b: half(m.pairs.after(pair, BF16), Order::Transposed),
            a: half(m.pairs, Order::Stored),
            scale: 1.0 / (pair as f32).sqrt(),
            count: boards,
            steps: [TOKENS * 2 * pair, TOKENS * 2 * pair, MOVES],
            ..Product::layer(TOKENS, pair, TOKENS, Address::NULL, Address::NULL, m.logits).in_f32()
        }
    }

    /// The heads, the losses of every example and the gradients of all logits.
    pub(super) fn heads(&self, batch: &Loaded, source: Source) -> Result<(), DeviceError> {
        let (m, boards) = (&self.memory, batch.rows);
        let HumanConfig { width: d, pair, hidden, .. } = self.config;
        let rows = boards * TOKENS;
        let input = |place: usize| At(self.training.input(batch, place));
        let share = input(self.training.places.share);
        let loss = |head: usize| At(self.training.losses(head));
        let warps = self.training.blocks(boards.div_ceil(8), 16);

        self.training.device.multiply(&Product::layer(
            rows,
            d,
            2 * pair,
            m.y,
            self.training.rounded(source, "pairs"),
            m.pairs,
        ))?;
        self.training.device.multiply(&self.pair_product(boards))?;
        let starts = if batch.targets == Targets::Soft {
            input(self.training.places.starts)
        } else {
            At(Address::NULL)
        };
        let arguments = [
            At(m.logits),
            input(self.training.places.legal),
            input(self.training.places.played),
            starts,
            input(self.training.places.indices),
            input(self.training.places.probabilities),
            share,
            Float(self.training.factors[0]),
            loss(0),
            At(self.training.ranks()),
            At(m.d_logits),
        ];
        self.training.run("move_loss", boards as u32, 256, &arguments)?;
        let arguments = [
            At(m.y),
            At(self.training.rounded(source, "promotion_head.weight")),
            input(self.training.places.promotions),
            input(self.training.places.played),
            share,
            Float(self.training.factors[1]),
            loss(1),
            At(m.promotion_d),
            Int(boards as i32),
        ];
        self.training.run("promotion_loss", warps, 256, &arguments)?;

        self.training.run("pool", warps, 256, &[At(m.y), At(m.pooled), Int(boards as i32)])?;
        let weight = self.training.rounded(source, "value_hidden.weight");
        self.training
            .device
            .multiply(&Product::layer(boards, d, hidden, m.pooled, weight, m.before).in_f32())?;
        let bias = At(self.training.full(source, "value_hidden.bias"));
        let blocks = self.training.blocks((boards * hidden).div_ceil(256), 16);
        self.training.run(
            "hidden_forward",
            blocks,
            256,
            &[At(m.before), bias, At(m.hidden), Int(boards as i32)],
        )?;
        let weight = self.training.rounded(source, "outputs.weight");
        self.training
            .device
            .multiply(&Product::layer(boards, hidden, OUTPUTS, m.hidden, weight, m.outputs).in_f32())?;
        let arguments = [
            At(m.outputs),
            At(self.training.full(source, "outputs.bias")),
            input(self.training.places.outcomes),
            input(self.training.places.think),
            share,
            Float(self.training.factors[2]),
            Float(self.training.factors[3]),
            loss(2),
            loss(3),
            At(m.d_outputs),
            At(m.d_outputs_rounded),
            Int(boards as i32),
        ];
        self.training.run("outcome_loss", warps, 256, &arguments)
    }

    /// From the gradients of the logits to that of `y`, in `d_normed`, less what every square shares, in `d_pooled`.
    pub(super) fn heads_backward(&self, batch: &Loaded) -> Result<(), DeviceError> {
        let (m, boards, source) = (&self.memory, batch.rows, self.training.live());
        let HumanConfig { width: d, pair, hidden, .. } = self.config;
        let rows = boards * TOKENS;
        let input = |place: usize| At(self.training.input(batch, place));

        let steps = [MOVES, TOKENS * 2 * pair, TOKENS * 2 * pair];
        let scores = |order| Operand { at: m.d_logits, stride: TOKENS, order };
        let half = |at: Address| Operand { at, stride: 2 * pair, order: Order::Stored };
        let of_from = Product {
            m: TOKENS,
            n: pair,
            k: TOKENS,
            a: scores(Order::Stored),
            b: half(m.pairs.after(pair, BF16)),
            out: m.d_pairs,
            out_stride: 2 * pair,
            out_element: Element::Bf16,
            steps,
            ..self.pair_product(boards)
        };
        let of_to = Product {
            a: scores(Order::Transposed),
            b: half(m.pairs),
            out: m.d_pairs.after(pair, BF16),
            ..of_from
        };
        self.training.device.multiply(&of_from)?;
        self.training.device.multiply(&of_to)?;
        self.training.device.multiply(&Product::weight_gradient(
            rows,
            d,
            2 * pair,
            m.y,
            m.d_pairs,
            self.training.gradient_of("pairs"),
        ))?;
        let weight = self.training.rounded(source, "pairs");
        self.training.device.multiply(&Product::input_gradient(
            rows,
            d,
            2 * pair,
            m.d_pairs,
            weight,
            m.d_normed,
        ))?;

        let blocks = self.training.blocks(boards, 2);
        let arguments = [
            At(m.y),
            At(self.training.rounded(source, "promotion_head.weight")),
            input(self.training.places.promotions),
            input(self.training.places.played),
            At(m.promotion_d),
            At(m.d_normed),
            At(m.partial),
            Int(boards as i32),
        ];
        self.training.run("promotion_backward", blocks, 256, &arguments)?;
        self.training.column_sums(
            m.partial,
            self.training.gradient_of("promotion_head.weight"),
            blocks as usize,
            4 * d,
        )?;

        self.training.device.multiply(&Product::weight_gradient(
            boards,
            hidden,
            OUTPUTS,
            m.hidden,
            m.d_outputs_rounded,
            self.training.gradient_of("outputs.weight"),
        ))?;
        self.training.column_sums(m.d_outputs, self.training.gradient_of("outputs.bias"), boards, OUTPUTS)?;
        let weight = self.training.rounded(source, "outputs.weight");
        let back = Product::input_gradient(boards, hidden, OUTPUTS, m.d_outputs_rounded, weight, m.d_hidden);
        self.training.device.multiply(&back.in_f32())?;
        let arguments = [
            At(m.before),
            At(self.training.full(source, "value_hidden.bias")),
            At(m.d_hidden),
            At(m.d_before),
            Int(boards as i32),
        ];
        self.training.run(
            "hidden_backward",
            self.training.blocks((boards * hidden).div_ceil(256), 16),
            256,
            &arguments,
        )?;
        self.training.column_sums(
            m.d_hidden,
            self.training.gradient_of("value_hidden.bias"),
            boards,
            hidden,
        )?;
        self.training.device.multiply(&Product::weight_gradient(
            boards,
            d,
            hidden,
            m.pooled,
            m.d_before,
            self.training.gradient_of("value_hidden.weight"),
        ))?;
        let weight = self.training.rounded(source, "value_hidden.weight");
        let back = Product::input_gradient(boards, d, hidden, m.d_before, weight, m.d_pooled);
        self.training.device.multiply(&back.in_f32())
    }
}
