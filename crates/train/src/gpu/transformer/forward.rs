//! The trunk forward: from a batch to the last norm.

use super::super::attention;
use super::super::batch::Loaded;
use super::super::training::{F32, Source};
use super::{GAME, GAME_INPUTS, SQUARE_INPUTS, SQUARES, TOKENS, Transformer};
use Argument::{At, Int};
use tabia_gpu::{Address, Argument, Device, DeviceError, Product};

impl<D: Device> Transformer<D> {
    /// The trunk: from the batch to `y`, keeping what the backward pass reads.
    pub(super) fn trunk(&self, batch: &Loaded, source: Source) -> Result<(), DeviceError> {
        let (m, d) = (&self.memory, self.config.width);
        let (boards, rows) = (batch.rows, batch.rows * TOKENS);
        let row_blocks = self.training.blocks(rows.div_ceil(8), 64);
        let full = |group: &str| At(self.training.full(source, group));
        let rounded = |group: &str| self.training.rounded(source, group);

        self.training.round(
            self.training.input(batch, self.training.places.inputs[SQUARES].at),
            m.squares,
            rows * SQUARE_INPUTS,
        )?;
        self.training.round(
            self.training.input(batch, self.training.places.inputs[GAME].at),
            m.game,
            boards * GAME_INPUTS,
        )?;
        self.training.device.multiply(&Product::layer(
            rows,
            SQUARE_INPUTS,
            d,
            m.squares,
            rounded("squares.weight"),
            m.embedded,
        ))?;
        self.training.device.multiply(
            &Product::layer(boards, GAME_INPUTS, d, m.game, rounded("game.weight"), m.game_vector).in_f32(),
        )?;
        for (i, layer) in m.layers.iter().enumerate() {
            let name = |part: &str| format!("blocks.{i}.{part}");
            let gain = full(&name("norm1.weight"));
            if i == 0 {
                let arguments = [
                    At(m.embedded),
                    full("position.weight"),
                    At(m.game_vector),
                    gain,
                    At(layer.x),
                    At(layer.normed1),
                    Int(rows as i32),
                ];
                self.training.run("embed", row_blocks, 256, &arguments)?;
            } else {
                self.norm(layer.x, gain, layer.normed1, rows)?;
            }
            let weight = rounded(&name("attn.qkv.weight"));
            self.training.device.multiply(&Product::layer(
                rows,
                d,
                3 * d,
                layer.normed1,
                weight,
                layer.qkv,
            ))?;
            let (blocks, _) =
                self.attention_blocks(boards, attention::forward_blocks(self.config.head_width()));
            let gains = self.training.full(source, &name("attn.gains"));
            let arguments = [
                At(layer.qkv),
                At(gains),
                At(gains.after(self.config.head_width(), F32)),
                full(&name("attn.bias")),
                At(layer.context),
                Int(boards as i32),
            ];
            self.training.run("attention_forward", blocks, attention::threads(TOKENS), &arguments)?;
            let weight = rounded(&name("attn.out.weight"));
            self.training
                .device
                .multiply(&Product::layer(rows, d, d, layer.context, weight, layer.middle).plus(layer.x))?;
            self.norm(layer.middle, full(&name("norm2.weight")), layer.normed2, rows)?;
            let inner = self.config.inner;
            let weight = rounded(&name("ffn.both"));
            self.training.device.multiply(&Product::layer(
                rows,
                d,
                2 * inner,
                layer.normed2,
                weight,
                layer.both,
            ))?;
            let gated = self.training.blocks((rows * inner / 8).div_ceil(256), 16);
            self.training.run(
                "gated_forward",
                gated,
                256,
                &[At(layer.both), At(layer.product), Int(rows as i32)],
            )?;
            let next = m.layers.get(i + 1).map_or(m.last, |next| next.x);
            let weight = rounded(&name("ffn.w2.weight"));
            self.training
                .device
                .multiply(&Product::layer(rows, inner, d, layer.product, weight, next).plus(layer.middle))?;
        }
        self.norm(m.last, full("norm_final.weight"), m.y, rows)
    }

    pub(super) fn norm(
        &self,
        x: Address,
        gain: Argument,
        h: Address,
        rows: usize,
    ) -> Result<(), DeviceError> {
        let blocks = self.training.blocks(rows.div_ceil(8), 64);
        self.training.run("norm_forward", blocks, 256, &[At(x), gain, At(h), Int(rows as i32)])
    }
}
