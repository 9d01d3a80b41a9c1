//! Maia-2: a residual tower whose last channels are the tokens of a transformer that both players' ratings query.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::attention::{check_sizes, scaled_attention};
use crate::detect::{DetectError, Detected, Detector, Hints, NamedTensors, contains, dims};
use crate::maia3::project_biased;
use crate::parameters::{Decay, Initial, ParameterTable};
use crate::{Architecture, Heads, Layers, NetConfig, Output, Outputs};

pub(crate) const DETECTOR: Detector = Detector { name: "Maia-2", fits, detect };

const SQUARES: usize = 64;
const PLANES: usize = 18;
const MOVES: usize = 1880;
const RATING_GROUPS: usize = 11;
/// Numbers per attention head, in every Maia-2 network.
const HEAD: usize = 64;
const EPS: f32 = 1e-5;

/// The sizes of a Maia-2 network. Its batch norms are folded into the convolutions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maia2Config {
    /// Channels of the residual tower.
    pub channels: usize,
    /// Residual blocks.
    pub blocks: usize,
    /// Tokens of the transformer: the channels of the last convolution.
    pub tokens: usize,
    /// Numbers per token.
    pub width: usize,
    /// Attention heads.
    pub heads: usize,
    /// Transformer blocks.
    pub layers: usize,
    /// Inner width of the feed-forward layer.
    pub inner: usize,
    /// Width of a rating's vector.
    pub rating: usize,
    /// Hidden width of the value head.
    pub hidden: usize,
}

fn fits(tensors: &dyn NamedTensors) -> bool {
    contains(tensors, "chess_cnn.conv1.weight") && contains(tensors, "elo_embedding.weight")
}

fn detect(tensors: &dyn NamedTensors, _: &Hints) -> Result<Detected, DetectError> {
    const FIRST: &str = "transformer.elo_layers.0";
    let count = |name: &dyn Fn(usize) -> String| (0..).take_while(|&i| contains(tensors, &name(i))).count();
    let [channels, ..] = dims::<4>(tensors, "chess_cnn.conv1.weight")?;
    let [tokens, ..] = dims::<4>(tensors, "chess_cnn.conv_last.weight")?;
    let [width, _] = dims(tensors, "to_patch_embedding.0.weight")?;
    let to_qkv = format!("{FIRST}.0.to_qkv.weight");
    let [qkv, _] = dims(tensors, &to_qkv)?;
    if !qkv.is_multiple_of(3 * HEAD) {
        return Err(DetectError::shape(&to_qkv, format!("has {qkv} rows; expected 3 x heads x {HEAD}")));
    }
    let [inner, _] = dims(tensors, &format!("{FIRST}.1.net.1.weight"))?;
    let [_, rating] = dims(tensors, "elo_embedding.weight")?;
    let [hidden, _] = dims(tensors, "fc_3_1.weight")?;
    let config = Maia2Config {
        channels,
        blocks: count(&|i| format!("chess_cnn.layers.{i}.conv1.weight")),
        tokens,
        width,
        heads: qkv / (3 * HEAD),
        layers: count(&|i| format!("transformer.elo_layers.{i}.0.to_qkv.weight")),
        inner,
        rating,
        hidden,
    };
    Ok(Detected::new(NetConfig::Maia2(config), config.table()))
}

impl Maia2Config {
    /// The tokens: each channel of the tower's last convolution, projected.
    fn tokens<L: Layers>(&self, net: &mut L) -> Result<L::Value, L::Error> {
        let boards = net.input(0)?;
        let x = net.conv(&boards, "chess_cnn.conv1")?;
        let mut x = net.relu(&x)?;
        for i in 0..self.blocks {
            let y = net.conv(&x, &format!("chess_cnn.layers.{i}.conv1"))?;
            let y = net.relu(&y)?;
            let y = net.conv(&y, &format!("chess_cnn.layers.{i}.conv2"))?;
            let sum = net.add(&y, &x)?;
            x = net.relu(&sum)?;
        }
        let x = net.conv(&x, "chess_cnn.conv_last")?;
        let x = net.reshape(&x, &[self.tokens, SQUARES])?;
        let x = project_biased(net, &x, "to_patch_embedding.0")?;
        let x = net.layer_norm(&x, "to_patch_embedding.1", EPS)?;
        let places = net.parameter("pos_embedding")?;
        net.add(&x, &places)
    }

    fn attention<L: Layers>(
        &self,
        net: &mut L,
        layer: &str,
        x: &L::Value,
        ratings: &L::Value,
    ) -> Result<L::Value, L::Error> {
        let &Maia2Config { tokens, heads, .. } = self;
        let x = net.layer_norm(x, &format!("{layer}.norm"), EPS)?;
        let qkv = net.project(&x, &format!("{layer}.to_qkv.weight"))?;
        let part = |net: &mut L, index: usize| {
            let part = net.slice(&qkv, 2, index * heads * HEAD, (index + 1) * heads * HEAD)?;
            net.reshape(&part, &[tokens, heads, HEAD])
        };
        let (q, k, v) = (part(net, 0)?, part(net, 1)?, part(net, 2)?);
        let q = net.permute(&q, &[0, 2, 1, 3])?;
        let asked = net.project(ratings, &format!("{layer}.elo_query.weight"))?;
        let asked = net.reshape(&asked, &[heads, 1, HEAD])?;
        let q = net.add(&q, &asked)?;
        let mixed = scaled_attention(net, &q, &k, &v, [tokens, heads, HEAD], None)?;
        project_biased(net, &mixed, &format!("{layer}.to_out.0"))
    }
}

impl Architecture for Maia2Config {
    fn graph_name(&self) -> &'static str {
        "maia2"
    }

    fn encoding(&self) -> &str {
        "maia2-18"
    }

    fn vocabulary(&self) -> Option<&'static str> {
        Some("maia2-1880")
    }

    fn check(&self) -> Result<(), String> {
        let &Maia2Config { channels, blocks, tokens, layers, inner, rating, hidden, .. } = self;
        check_sizes(self.heads * HEAD, self.heads, &[channels, blocks, tokens, self.width, layers])?;
        check_sizes(HEAD, 1, &[inner, rating, hidden])
    }

    fn table(&self) -> ParameterTable {
        let &Maia2Config { channels, tokens, width: d, heads, inner, rating, hidden, .. } = self;
        let mut table = ParameterTable::new();
        let mut layer = |name: &str, shape: &[usize], biased: bool| {
            let inputs: usize = shape.iter().skip(1).product();
            let initial = Initial::Normal(1.0 / (inputs as f32).sqrt());
            table.push(format!("{name}.weight"), shape, initial, Decay::Decayed);
            if biased {
                let rows = shape.first().copied().unwrap_or(0);
                table.push(format!("{name}.bias"), &[rows], Initial::Zeros, Decay::Exempt);
            }
        };
        layer("chess_cnn.conv1", &[channels, PLANES, 3, 3], true);
        for i in 0..self.blocks {
            layer(&format!("chess_cnn.layers.{i}.conv1"), &[channels, channels, 3, 3], true);
            layer(&format!("chess_cnn.layers.{i}.conv2"), &[channels, channels, 3, 3], true);
        }
        layer("chess_cnn.conv_last", &[tokens, channels, 3, 3], true);
        layer("to_patch_embedding.0", &[d, SQUARES], true);
        for i in 0..self.layers {
            let name = |part: &str| format!("transformer.elo_layers.{i}.{part}");
            layer(&name("0.to_qkv"), &[3 * heads * HEAD, d], false);
            layer(&name("0.elo_query"), &[heads * HEAD, 2 * rating], false);
            layer(&name("0.to_out.0"), &[d, heads * HEAD], true);
            layer(&name("1.net.1"), &[inner, d], true);
            layer(&name("1.net.4"), &[d, inner], true);
        }
        layer("fc_1", &[MOVES, d], true);
        layer("fc_3_1", &[hidden, d], true);
        layer("fc_3", &[1, hidden], true);
        layer("elo_embedding", &[RATING_GROUPS, rating], false);
        table.push("pos_embedding", &[1, tokens, d], Initial::Normal(1.0), Decay::Exempt);
        let mut norm = |name: &str| {
            table.push(format!("{name}.weight"), &[d], Initial::Ones, Decay::Exempt);
            table.push(format!("{name}.bias"), &[d], Initial::Zeros, Decay::Exempt);
        };
        norm("to_patch_embedding.1");
        for i in 0..self.layers {
            norm(&format!("transformer.elo_layers.{i}.0.norm"));
            norm(&format!("transformer.elo_layers.{i}.1.net.0"));
        }
        norm("transformer.norm");
        norm("last_ln");
        table
    }

    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
        let mut x = self.tokens(net)?;
        let (own, theirs) = (net.input(1)?, net.input(2)?);
        let own = net.embed("elo_embedding.weight", &own)?;
        let theirs = net.embed("elo_embedding.weight", &theirs)?;
        let ratings = net.concat(&[&own, &theirs], 1)?;
        for i in 0..self.layers {
            let name = |part: &str| format!("transformer.elo_layers.{i}.{part}");
            let h = self.attention(net, &name("0"), &x, &ratings)?;
            x = net.add(&h, &x)?;
            let h = net.layer_norm(&x, &name("1.net.0"), EPS)?;
            let h = project_biased(net, &h, &name("1.net.1"))?;
            let h = net.gelu(&h)?;
            let h = project_biased(net, &h, &name("1.net.4"))?;
            x = net.add(&h, &x)?;
        }
        let x = net.layer_norm(&x, "transformer.norm", EPS)?;
        let x = net.mean(&x, 1)?;
        let x = net.layer_norm(&x, "last_ln", EPS)?;
        let policy = net.linear(&x, "fc_1")?;
        let hidden = net.linear(&x, "fc_3_1")?;
        let hidden = net.relu(&hidden)?;
        let value = net.linear(&hidden, "fc_3")?;
        Ok(Heads { policy: Some(policy), value: Some(value), ..Heads::default() })
    }

    fn outputs(&self) -> Outputs {
        Outputs {
            policy: Some(Output { name: "logits_maia", width: MOVES }),
            value: Some(Output { name: "logits_value", width: 1 }),
            ..Outputs::default()
        }
    }

    fn describe(&self, table: &ParameterTable) -> String {
        let &Maia2Config { channels, blocks, tokens, width, heads, layers, .. } = self;
        format!(
            "Maia-2 {}M: {blocks} residual blocks of {channels} channels, {layers} transformer blocks over {tokens} tokens of \
             width {width}, {heads} heads, no history, both players' ratings in 11 groups",
            (table.parameters() + 500_000) / 1_000_000
        )
    }
}
