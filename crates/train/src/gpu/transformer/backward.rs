//! The trunk backward: from the last norm to the inputs.

use super::super::attention;
use super::super::batch::Loaded;
use super::super::training::F32;
use super::memory::{EMBED_BLOCKS, NORM_BLOCKS};
use super::{GAME_INPUTS, MOVES, SQUARE_INPUTS, TOKENS, Transformer};
use crate::nets::HumanConfig;
use Argument::{At, Int};
use tabia_gpu::{Address, Argument, Device, DeviceError, Launch, Product};

impl<D: Device> Transformer<D> {
    /// The gradient `d_normed` of `norm(x) * gain`, added to `dx`; `shared` as in the kernel.
    pub(super) fn norm_backward(
        &self,
        x: Address,
        gain: &str,
        shared: Address,
        before: Address,
        rows: usize,
    ) -> Result<(), DeviceError> {
        let m = &self.memory;
        let blocks = self.training.blocks(rows.div_ceil(8), NORM_BLOCKS);
        let arguments = [
            At(x),
            At(self.training.full(self.training.live(), gain)),
            At(m.d_normed),
            At(shared),
            At(before),
            At(m.dx),
            At(m.partial),
            Int(rows as i32),
        ];
        self.training.run("norm_backward", blocks, 256, &arguments)?;
        self.training.column_sums(
            m.partial,
            self.training.gradient_of(gain),
            blocks as usize,
            self.config.width,
        )
    }

    /// The trunk, from `d_normed` back to the inputs.
    pub(super) fn trunk_backward(&self, batch: &Loaded) -> Result<(), DeviceError> {
        let (m, source) = (&self.memory, self.training.live());
        let HumanConfig { width: d, heads, inner, .. } = self.config;
        let (boards, rows) = (batch.rows, batch.rows * TOKENS);
        let head = self.config.head_width();
        let multiply = |product: Product| self.training.device.multiply(&product);

        self.norm_backward(m.last, "norm_final.weight", m.d_pooled, Address::NULL, rows)?;
        for (i, layer) in m.layers.iter().enumerate().rev() {
            let name = |part: &str| format!("blocks.{i}.{part}");
            let weight = |part: &str| self.training.rounded(source, &name(part));
            let gradient = |part: &str| self.training.gradient_of(&name(part));

            multiply(Product::weight_gradient(
                rows,
                inner,
                d,
                layer.product,
                m.dx,
                gradient("ffn.w2.weight"),
            ))?;
            multiply(Product::input_gradient(rows, inner, d, m.dx, weight("ffn.w2.weight"), m.d_product))?;
            let gated = self.training.blocks((rows * inner / 8).div_ceil(256), 16);
            let arguments = [At(layer.both), At(m.d_product), At(m.d_both), Int(rows as i32)];
            self.training.run("gated_backward", gated, 256, &arguments)?;
            multiply(Product::weight_gradient(
                rows,
                d,
                2 * inner,
                layer.normed2,
                m.d_both,
                gradient("ffn.both"),
            ))?;
            multiply(Product::input_gradient(rows, d, 2 * inner, m.d_both, weight("ffn.both"), m.d_normed))?;
            self.norm_backward(layer.middle, &name("norm2.weight"), Address::NULL, m.dx, rows)?;

            multiply(Product::weight_gradient(rows, d, d, layer.context, m.dx, gradient("attn.out.weight")))?;
            multiply(Product::input_gradient(rows, d, d, m.dx, weight("attn.out.weight"), m.d_context))?;
            let (blocks, steps) = self.attention_blocks(boards, attention::backward_blocks(head));
            let gains = self.training.full(source, &name("attn.gains"));
            let arguments = [
                At(layer.qkv),
                At(gains),
                At(gains.after(head, F32)),
                At(self.training.full(source, &name("attn.bias"))),
                At(m.d_context),
                At(m.d_qkv),
                At(m.partial),
                At(m.partial_bias),
                Int(boards as i32),
            ];
            let shared = attention::memory(TOKENS, head);
            let launch =
                Launch { kernel: "attention_backward", blocks, threads: attention::threads(TOKENS), shared };
            self.training.device.launch(launch, &arguments)?;
            self.training.column_sums(m.partial, gradient("attn.gains"), blocks as usize, 2 * head)?;
            self.training.column_sums(m.partial_bias, gradient("attn.bias"), steps, heads * MOVES)?;
            multiply(Product::weight_gradient(
                rows,
                d,
                3 * d,
                layer.normed1,
                m.d_qkv,
                gradient("attn.qkv.weight"),
            ))?;
            multiply(Product::input_gradient(
                rows,
                d,
                3 * d,
                m.d_qkv,
                weight("attn.qkv.weight"),
                m.d_normed,
            ))?;
            self.norm_backward(layer.x, &name("norm1.weight"), Address::NULL, m.dx, rows)?;
        }
        let blocks = self.training.blocks(boards, EMBED_BLOCKS);
        self.training.run(
            "embed_backward",
            blocks,
            256,
            &[At(m.dx), At(m.d_game), At(m.partial), Int(boards as i32)],
        )?;
        self.training.column_sums(
            m.partial,
            self.training.gradient_of("position.weight"),
            blocks as usize,
            TOKENS * d,
        )?;
        let squares = self.training.gradient_of("squares.weight");
        multiply(Product::weight_gradient(rows, SQUARE_INPUTS, d, m.squares, m.dx, squares))?;
        let game = self.training.gradient_of("game.weight");
        multiply(Product::weight_gradient(boards, GAME_INPUTS, d, m.game, m.d_game, game))
    }
}
