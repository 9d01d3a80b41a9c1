//! Maia-3 (Chessformer): a transformer over the squares with an attention bias that the position generates.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::attention::{check_sizes, split_heads_attention};
use crate::detect::{DetectError, Detected, Detector, Hints, Input, NamedTensors, contains, dims};
use crate::parameters::{Decay, Initial, ParameterTable};
use crate::{Architecture, Heads, Layers, NetConfig, Output, Outputs};
use tabia_encoding::ElementKind;

pub(crate) const DETECTOR: Detector = Detector { name: "Maia-3", fits, detect };

/// Squares, a token each.
pub const SQUARES: usize = 64;
/// Kinds of pieces on a square of one board.
pub const PIECES: usize = 12;
/// Pieces to promote to.
pub const PROMOTIONS: usize = 4;
/// Loss, draw and win.
pub const OUTCOMES: usize = 3;
/// Pairs of squares, then promotions.
pub const MOVES: usize = SQUARES * SQUARES + 8 * 8 * PROMOTIONS;
/// The ratings are parts of this.
pub const MAX_RATING: f32 = 5000.0;
/// What `nn.RMSNorm` adds to the mean square of 32-bit floats.
pub const RMS_EPS: f32 = f32::EPSILON;
/// What `nn.LayerNorm` adds to the variance.
pub const LAYER_NORM_EPS: f32 = 1e-5;

/// The sizes of a Maia-3 network.
///
/// Every square gets its pieces on the last boards and both ratings, projected to `width`. Each block is
/// `x = norm1(x + attention(x)); x = norm2(x + linear2(gelu(linear1(x))))`. The attention bias is generated from the squares
/// (`sm1`, `sm2`, `sm3`) and a table all blocks share. Moves are scored by pairs of squares, promotions with an addend of the
/// square reached, and the outcome (loss, draw, win) is read off the mean of the squares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maia3Config {
    /// Boards of history: 8, or 1.
    pub boards: usize,
    /// Width of a square's vector.
    pub width: usize,
    /// Attention heads.
    pub heads: usize,
    /// Blocks.
    pub layers: usize,
    /// Inner width of the feed-forward layer.
    pub inner: usize,
    /// Width of a rating's vector.
    pub rating: usize,
    /// Width of the vectors of the heads.
    pub head: usize,
    /// Numbers per square that the attention bias is generated from; 0 is the mean of the squares.
    pub bias_square: usize,
    /// Hidden width of the bias.
    pub bias_hidden: usize,
    /// Columns of the shared table of biases.
    pub bias_width: usize,
    /// Whether the blocks have LayerNorm instead of RMSNorm.
    pub layer_norm: bool,
}

fn fits(tensors: &dyn NamedTensors) -> bool {
    contains(tensors, "token_projection.weight") && contains(tensors, "elo_embedding_low.weight")
}

fn detect(tensors: &dyn NamedTensors, _: &Hints) -> Result<Detected, DetectError> {
    const FIRST: &str = "transformer.layers.0";
    let [width, inputs] = dims(tensors, "token_projection.weight")?;
    let [_, rating] = dims(tensors, "elo_embedding_low.weight")?;
    let boards = match inputs.checked_sub(2 * rating) {
        Some(pieces @ (12 | 96)) => pieces / PIECES,
        _ => {
            let message = format!(
                "has {inputs} inputs; with ratings of width {rating} there are {} for one board or {} for eight (networks \
                 that take clocks are not supported)",
                PIECES + 2 * rating,
                8 * PIECES + 2 * rating
            );
            return Err(DetectError::shape("token_projection.weight", message));
        }
    };
    let layers =
        (0..).take_while(|i| contains(tensors, &format!("transformer.layers.{i}.linear1.weight"))).count();
    let [inner, _] = dims(tensors, &format!("{FIRST}.linear1.weight"))?;
    let [head, _] = dims(tensors, "proj_sq_from.weight")?;
    if !contains(tensors, "gab_shared_weight") {
        let message = "has no gab_shared_weight: only networks with a generated attention bias are supported";
        return Err(DetectError::unknown(None, message.to_owned()));
    }
    let [_, bias_width] = dims(tensors, "gab_shared_weight")?;
    let sm3 = format!("{FIRST}.self_attn.sm3.weight");
    let [generated, bias_hidden] = dims(tensors, &sm3)?;
    if !generated.is_multiple_of(bias_width) || !width.is_multiple_of(generated / bias_width) {
        let message = format!(
            "has {generated} rows; expected heads x {bias_width} with heads that divide a width of {width}"
        );
        return Err(DetectError::shape(&sm3, message));
    }
    let sm1 = format!("{FIRST}.self_attn.sm1.weight");
    let bias_square = if contains(tensors, &sm1) { dims::<2>(tensors, &sm1)?[0] } else { 0 };
    let config = Maia3Config {
        boards,
        width,
        heads: generated / bias_width,
        layers,
        inner,
        rating,
        head,
        bias_square,
        bias_hidden,
        bias_width,
        layer_norm: contains(tensors, &format!("{FIRST}.norm1.bias")),
    };
    let table = config.table();
    let optional = |name: &str| name.ends_with("in_proj_bias") || name.ends_with("out_proj.bias");
    let table = table.filtered(|entry| !optional(&entry.name) || contains(tensors, &entry.name));
    Ok(Detected::new(NetConfig::Maia3(config), table))
}

impl Maia3Config {
    /// Both ratings as one vector: `r low + (1 - r) high` with `r` the part of the highest rating, for each player.
    fn ratings<L: Layers>(&self, net: &mut L) -> Result<L::Value, L::Error> {
        let low = net.parameter("elo_embedding_low.weight")?;
        let high = net.parameter("elo_embedding_high.weight")?;
        let minus_high = net.scale(&high, -1.0)?;
        let slope = net.add(&low, &minus_high)?;
        let mut vectors = Vec::with_capacity(2);
        for input in [1, 2] {
            let part = net.input(input)?;
            let part = net.reshape(&part, &[1])?;
            let part = net.scale(&part, 1.0 / MAX_RATING)?;
            let vector = net.mul(&part, &slope)?;
            vectors.push(net.add(&vector, &high)?);
        }
        net.concat(&vectors.iter().collect::<Vec<_>>(), 1)
    }

    /// The bias of every head and pair of squares.
    fn bias<L: Layers>(&self, net: &mut L, layer: &str, x: &L::Value) -> Result<L::Value, L::Error> {
        let part = |part: &str| format!("{layer}.{part}");
        let y = if self.bias_square == 0 {
            net.mean(x, 1)?
        } else {
            let y = project_biased(net, x, &part("sm1"))?;
            net.reshape(&y, &[SQUARES * self.bias_square])?
        };
        let y = net.linear(&y, &part("sm2"))?;
        let y = net.gelu(&y)?;
        let y = net.layer_norm(&y, &part("ln1"), LAYER_NORM_EPS)?;
        let y = net.linear(&y, &part("sm3"))?;
        let y = net.gelu(&y)?;
        let y = net.layer_norm(&y, &part("ln2"), LAYER_NORM_EPS)?;
        let y = net.reshape(&y, &[self.heads, self.bias_width])?;
        let y = net.project(&y, "gab_shared_weight")?;
        net.reshape(&y, &[self.heads, SQUARES, SQUARES])
    }

    fn attention<L: Layers>(&self, net: &mut L, layer: &str, x: &L::Value) -> Result<L::Value, L::Error> {
        let bias = self.bias(net, layer, x)?;
        let mut qkv = net.project(x, &format!("{layer}.mha.in_proj_weight"))?;
        let in_bias = format!("{layer}.mha.in_proj_bias");
        if net.has(&in_bias) {
            let in_bias = net.parameter(&in_bias)?;
            qkv = net.add(&qkv, &in_bias)?;
        }
        let mixed = split_heads_attention(net, &qkv, [SQUARES, self.heads, self.width / self.heads], &bias)?;
        project_biased(net, &mixed, &format!("{layer}.mha.out_proj"))
    }

    fn norm<L: Layers>(&self, net: &mut L, x: &L::Value, layer: &str) -> Result<L::Value, L::Error> {
        if self.layer_norm {
            net.layer_norm(x, layer, LAYER_NORM_EPS)
        } else {
            net.rms_norm(x, &format!("{layer}.weight"), RMS_EPS)
        }
    }

    /// One logit per pair of squares, then one per promotion.
    fn moves<L: Layers>(&self, net: &mut L, x: &L::Value) -> Result<L::Value, L::Error> {
        let root = (self.head as f32).sqrt();
        let from = net.project(x, "proj_sq_from.weight")?;
        let to = net.project(x, "proj_sq_to.weight")?;
        let targets = net.permute(&to, &[0, 2, 1])?;
        let pairs = net.matmul(&from, &targets)?;
        let pairs = net.scale(&pairs, 1.0 / root)?;
        let last_rank = net.slice(&to, 1, 56, 64)?;
        let pieces = net.project(&last_rank, "promo_bias_proj.weight")?;
        let pieces = net.scale(&pieces, root)?;
        let pieces = net.reshape(&pieces, &[1, 8, PROMOTIONS])?;
        let steps = net.slice(&pairs, 1, 48, 56)?;
        let steps = net.slice(&steps, 2, 56, 64)?;
        let steps = net.reshape(&steps, &[8, 8, 1])?;
        let promotions = net.add(&steps, &pieces)?;
        let promotions = net.reshape(&promotions, &[8 * 8 * PROMOTIONS])?;
        let pairs = net.reshape(&pairs, &[SQUARES * SQUARES])?;
        net.concat(&[&pairs, &promotions], 1)
    }
}

/// `x W^T + b` over the last dimension, with a bias where there is one.
pub(crate) fn project_biased<L: Layers>(
    net: &mut L,
    x: &L::Value,
    layer: &str,
) -> Result<L::Value, L::Error> {
    let y = net.project(x, &format!("{layer}.weight"))?;
    let bias = format!("{layer}.bias");
    if !net.has(&bias) {
        return Ok(y);
    }
    let bias = net.parameter(&bias)?;
    net.add(&y, &bias)
}

impl Architecture for Maia3Config {
    fn graph_name(&self) -> &'static str {
        "maia3"
    }

    fn encoding(&self) -> &str {
        if self.boards == 1 { "maia3-12" } else { "maia3-96" }
    }

    /// The graph computes with the ratings.
    fn inputs(&self) -> Vec<Input> {
        let value = |name, shape: &[usize]| Input { name, shape: shape.to_vec(), kind: ElementKind::Value };
        vec![
            value("tokens", &[SQUARES, PIECES * self.boards]),
            value("self_elo", &[]),
            value("oppo_elo", &[]),
        ]
    }

    fn vocabulary(&self) -> Option<&'static str> {
        Some("maia3-4352")
    }

    fn check(&self) -> Result<(), String> {
        if self.boards != 1 && self.boards != 8 {
            return Err(format!("has {} boards of history; expected 1 or 8", self.boards));
        }
        let others = [self.layers, self.inner, self.rating, self.head, self.bias_hidden, self.bias_width];
        check_sizes(self.width, self.heads, &others)
    }

    fn table(&self) -> ParameterTable {
        let &Maia3Config { width: d, heads, inner, rating, head, .. } = self;
        let mut table = ParameterTable::new();
        let fan = |inputs: usize| Initial::Normal(1.0 / (inputs as f32).sqrt());
        let mut push = |name: String, shape: &[usize]| {
            let is_norm = [".norm", ".ln", "last_ln"].iter().any(|norm| name.contains(norm));
            let (initial, decay) = match shape {
                [_] if is_norm && name.ends_with("weight") => (Initial::Ones, Decay::Exempt),
                [_, inputs, ..] => (fan(*inputs), Decay::Decayed),
                _ => (Initial::Zeros, Decay::Exempt),
            };
            table.push(name, shape, initial, decay);
        };
        let mut linear = |name: &str, shape: [usize; 2], biased: bool| {
            push(format!("{name}.weight"), &shape);
            if biased {
                push(format!("{name}.bias"), &shape[..1]);
            }
        };
        linear("elo_embedding_low", [1, rating], false);
        linear("elo_embedding_high", [1, rating], false);
        linear("token_projection", [d, PIECES * self.boards + 2 * rating], true);
        for i in 0..self.layers {
            let name = |part: &str| format!("transformer.layers.{i}.{part}");
            linear(&name("self_attn.mha.out_proj"), [d, d], true);
            let (square, hidden) = (self.bias_square, self.bias_hidden);
            if square > 0 {
                linear(&name("self_attn.sm1"), [square, d], true);
            }
            linear(&name("self_attn.sm2"), [hidden, if square > 0 { SQUARES * square } else { d }], true);
            linear(&name("self_attn.sm3"), [heads * self.bias_width, hidden], true);
            linear(&name("linear1"), [inner, d], true);
            linear(&name("linear2"), [d, inner], true);
        }
        linear("fc_value_hid", [head, d], true);
        linear("fc_value", [OUTCOMES, head], true);
        linear("proj_sq_from", [head, d], false);
        linear("proj_sq_to", [head, d], false);
        linear("promo_bias_proj", [PROMOTIONS, head], false);
        push("gab_shared_weight".to_owned(), &[SQUARES * SQUARES, self.bias_width]);
        let mut norm = |name: &str, len: usize, biased: bool| {
            push(format!("{name}.weight"), &[len]);
            if biased {
                push(format!("{name}.bias"), &[len]);
            }
        };
        for i in 0..self.layers {
            let name = |part: &str| format!("transformer.layers.{i}.{part}");
            norm(&name("self_attn.ln1"), self.bias_hidden, true);
            norm(&name("self_attn.ln2"), heads * self.bias_width, true);
            norm(&name("norm1"), d, self.layer_norm);
            norm(&name("norm2"), d, self.layer_norm);
        }
        norm("transformer.norm", d, true);
        norm("last_ln", d, true);
        for i in 0..self.layers {
            let name = |part: &str| format!("transformer.layers.{i}.self_attn.mha.{part}");
            push(name("in_proj_weight"), &[3 * d, d]);
            push(name("in_proj_bias"), &[3 * d]);
        }
        table
    }

    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
        let tokens = net.input(0)?;
        let ratings = self.ratings(net)?;
        let ratings = net.reshape(&ratings, &[1, 2 * self.rating])?;
        let ratings = net.select(&ratings, 1, &[0; SQUARES])?;
        let tokens = net.concat(&[&tokens, &ratings], 2)?;
        let mut x = project_biased(net, &tokens, "token_projection")?;
        for i in 0..self.layers {
            let name = |part: &str| format!("transformer.layers.{i}.{part}");
            let h = self.attention(net, &name("self_attn"), &x)?;
            let sum = net.add(&x, &h)?;
            x = self.norm(net, &sum, &name("norm1"))?;
            let h = project_biased(net, &x, &name("linear1"))?;
            let h = net.gelu(&h)?;
            let h = project_biased(net, &h, &name("linear2"))?;
            let sum = net.add(&x, &h)?;
            x = self.norm(net, &sum, &name("norm2"))?;
        }
        let x = net.layer_norm(&x, "transformer.norm", LAYER_NORM_EPS)?;
        let policy = self.moves(net, &x)?;
        let pooled = net.mean(&x, 1)?;
        let pooled = net.layer_norm(&pooled, "last_ln", LAYER_NORM_EPS)?;
        let hidden = net.linear(&pooled, "fc_value_hid")?;
        let hidden = net.relu(&hidden)?;
        let outcome = net.linear(&hidden, "fc_value")?;
        Ok(Heads { policy: Some(policy), outcome: Some(outcome), ..Heads::default() })
    }

    fn outputs(&self) -> Outputs {
        Outputs {
            policy: Some(Output { name: "logits_move", width: MOVES }),
            outcome: Some(Output { name: "loss_draw_win", width: OUTCOMES }),
            ..Outputs::default()
        }
    }

    fn describe(&self, table: &ParameterTable) -> String {
        let &Maia3Config { boards, width, heads, layers, inner, .. } = self;
        let parameters = (table.parameters() + 500_000) / 1_000_000;
        let size = match (layers, width) {
            (8, 192) => 3,
            (8, 256) => 5,
            (8, 512) => 23,
            (8, 1024) => 79,
            _ => parameters,
        };
        let boards = if boards == 1 { "1 board".to_owned() } else { format!("{boards} boards") };
        format!(
            "Maia-3 {size}M: {layers} layers, width {width}, {heads} heads, inner width {inner}, generated attention bias of width \
             {}, {boards} of history, both players' ratings",
            self.bias_width
        )
    }
}
