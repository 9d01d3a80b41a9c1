//! Our networks of human players: a transformer over the 64 squares that says which move a person would play, how the
//! game would end and how long the person would think.
//!
//! Each square is a vector of what stands and happened there, where it is, and the game as a whole (who plays, at what
//! pace, with how much time). A move is scored from the vectors of its two squares, a promotion piece from that of the
//! square the pawn reaches; the rest is read off the mean of all squares. The promotion logits go by the file of that
//! square, as the mover sees it.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tabia_encoding::TIME_BINS;

use super::Recognised;
use super::attention::{self, Attention, PairBias};
use super::layers::Layers;
use crate::LoadError;
use crate::card::StateDict;
use crate::onnx::build::Node;
use crate::tensors::TensorMap;

pub(super) const NAME: &str = "the transformer of human players";

pub(crate) const SQUARES: usize = 64;
pub(crate) const CHANNELS: usize = 32;
pub(crate) const GAME: usize = 80;
const MOVES: usize = SQUARES * SQUARES;
pub(crate) const LAST_RANK: usize = 56;
pub(crate) const PROMOTIONS: usize = 4;
pub(crate) const WDL: usize = 3;
pub(crate) const EPS: f32 = 1e-6;

/// The sizes of one network, read off its tensors.
pub(crate) struct Config {
    pub(crate) width: usize,
    pub(crate) heads: usize,
    pub(crate) layers: usize,
    pub(crate) hidden: usize,
    /// Width of the vectors whose products score moves.
    pub(crate) pair: usize,
}

impl Config {
    pub(crate) fn of(tensors: &TensorMap) -> Result<Self, LoadError> {
        let [width, _] = tensors.dims("squares.weight")?;
        let heads = attention::heads(tensors, width)?;
        let [hidden, _] = tensors.dims("blocks.0.ffn.w1.weight")?;
        let [pair, _] = tensors.dims("from_head.weight")?;
        let layers = (0..).take_while(|i| tensors.contains(&format!("blocks.{i}.norm1.weight"))).count();
        Ok(Config { width, heads, layers, hidden, pair })
    }
}

pub(super) fn fits(tensors: &TensorMap) -> bool {
    tensors.contains("squares.weight") && tensors.contains("blocks.0.attn.qkv.weight")
}

pub(super) fn build(tensors: &mut TensorMap, _: &StateDict) -> Result<Recognised, LoadError> {
    let config = Config::of(tensors)?;
    let d = config.width;
    let mut net = Layers::new("tabia-human", tensors);

    let mut x = embed(&mut net, d)?;
    let attention =
        Attention { width: d, heads: config.heads, tokens: SQUARES, pairs: PairBias::Learned, eps: EPS };
    for block in (0..config.layers).map(|i| format!("blocks.{i}")) {
        let normal = net.rms_norm(&x, &format!("{block}.norm1.weight"), &[d], EPS)?;
        let attended = attention.on(&mut net, &format!("{block}.attn"), &normal)?;
        x = net.binary("Add", &x, &attended);
        let normal = net.rms_norm(&x, &format!("{block}.norm2.weight"), &[d], EPS)?;
        let inner = gated(&mut net, &config, &format!("{block}.ffn"), &normal)?;
        x = net.binary("Add", &x, &inner);
    }
    let x = net.rms_norm(&x, "norm_final.weight", &[d], EPS)?;

    let moves = square_pairs(&mut net, &config, &x)?;
    net.output(&moves, "move_logits", MOVES);
    let last_rank = net.slice(&x, 1, LAST_RANK, SQUARES);
    let promotions = net.project(&last_rank, "promotion_head.weight", PROMOTIONS, d)?;
    let promotions = net.reshape(&promotions, &[-1, (8 * PROMOTIONS) as i64]);
    net.output(&promotions, "promotion_logits", 8 * PROMOTIONS);
    let heads_of_the_game = heads_of_the_game(&mut net, d, &x)?;

    let Config { width, heads, layers, hidden, pair } = config;
    Ok(Recognised {
        graph: net.finish(),
        apart: None,
        encoding: Some("tabia-human-1"),
        vocabulary: Some("from-to-4096-mirrored"),
        architecture: format!(
            "human transformer: {layers} layers, width {width}, {heads} heads, inner width {hidden}, moves by square \
             pairs of width {pair}{heads_of_the_game}"
        ),
    })
}

/// The squares as vectors, each with its place and the game around the board.
fn embed(net: &mut Layers<'_>, d: usize) -> Result<Node, LoadError> {
    let squares = net.input("squares", &[SQUARES, CHANNELS]);
    let game = net.input("game", &[GAME]);
    let squares = net.project(&squares, "squares.weight", d, CHANNELS)?;
    let places = net.weight("position.weight", &[SQUARES, d])?;
    let x = net.binary("Add", &squares, &places);
    let game = net.project(&game, "game.weight", d, GAME)?;
    let game = net.reshape(&game, &[-1, 1, d as i64]);
    Ok(net.binary("Add", &x, &game))
}

/// `w2(silu(w1 x) * w3 x)`.
fn gated(net: &mut Layers<'_>, config: &Config, layer: &str, x: &Node) -> Result<Node, LoadError> {
    let &Config { width: d, hidden, .. } = config;
    let gate = net.project(x, &format!("{layer}.w1.weight"), hidden, d)?;
    let gate = net.silu(&gate);
    let inner = net.project(x, &format!("{layer}.w3.weight"), hidden, d)?;
    let inner = net.binary("Mul", &gate, &inner);
    net.project(&inner, &format!("{layer}.w2.weight"), d, hidden)
}

/// A logit for every pair of squares: the scaled product of one square's vector as origin, the other's as target.
fn square_pairs(net: &mut Layers<'_>, config: &Config, x: &Node) -> Result<Node, LoadError> {
    let &Config { width: d, pair, .. } = config;
    let from = net.project(x, "from_head.weight", pair, d)?;
    let to = net.project(x, "to_head.weight", pair, d)?;
    let to = net.transpose(&to, &[0, 2, 1]);
    let pairs = net.binary("MatMul", &from, &to);
    let pairs = net.scaled(&pairs, 1.0 / (pair as f32).sqrt());
    Ok(net.reshape(&pairs, &[-1, MOVES as i64]))
}

/// The heads that judge the game as a whole, as far as the network has them; says which those are.
fn heads_of_the_game(net: &mut Layers<'_>, d: usize, x: &Node) -> Result<String, LoadError> {
    let known =
        [("wdl_head", "wdl", WDL, "win/draw/loss"), ("time_head", "think_time", TIME_BINS, "thinking time")];
    let present = known.map(|head| net.tensors.contains(&format!("{}.weight", head.0)).then_some(head));
    let mut said = String::new();
    if present.iter().all(Option::is_none) {
        return Ok(said);
    }
    let pooled = net.mean(x, 1);
    let [hidden, _] = net.tensors.dims("value_hidden.weight")?;
    let inner = net.linear(&pooled, "value_hidden", hidden, d)?;
    let inner = net.silu(&inner);
    for (layer, output, width, words) in present.into_iter().flatten() {
        let logits = net.linear(&inner, layer, width, hidden)?;
        let chances = net.softmax(&logits);
        net.output(&chances, output, width);
        said.push_str(&format!(", {words}"));
    }
    Ok(said)
}
