//! HumChess: a transformer over the squares, with a move head and a promotion head.
//!
//! Our own networks over the same tokens differ in one thing: instead of reading all 4096 moves off the class token
//! (`move_head`) they score each pair of squares from the vectors of those two squares (`from_head`, `to_head`),
//! which learns much faster.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::Recognised;
use super::attention::{self, Attention, PairBias};
use super::layers::Layers;
use crate::card::StateDict;
use crate::onnx::build::Node;
use crate::tensors::TensorMap;
use crate::{LoadError, LoadErrorKind};

pub(super) const NAME: &str = "the HumChess transformer";

const VOCABULARY: usize = 66;
const SQUARES: usize = 64;
/// The tokens before the move history: the class token, the squares, castling, rating, time.
const BOARD_TOKENS: usize = 68;
const HISTORY: usize = 6;
/// From-to pairs, and the padding of short histories.
const HISTORY_MOVES: usize = 64 * 64 + 1;
const MOVES: usize = 64 * 64;
const PROMOTIONS: usize = 4;

/// The sizes of one network, read off its tensors.
struct Config {
    width: usize,
    heads: usize,
    layers: usize,
    hidden: usize,
    /// Whether the last six moves are part of the sequence.
    history: bool,
}

impl Config {
    fn of(tensors: &TensorMap) -> Result<Self, LoadError> {
        let [_, width] = tensors.dims("token_emb.weight")?;
        let heads = attention::heads(tensors, width)?;
        let [hidden, _] = tensors.dims("blocks.0.ffn.w1.weight")?;
        let layers = (0..).take_while(|i| tensors.contains(&format!("blocks.{i}.rmsnorm1.weight"))).count();
        let history = tensors.contains("move_history_emb.weight");
        Ok(Config { width, heads, layers, hidden, history })
    }

    fn tokens(&self) -> usize {
        BOARD_TOKENS + if self.history { HISTORY } else { 0 }
    }
}

pub(super) fn fits(tensors: &TensorMap) -> bool {
    tensors.contains("token_emb.weight") && tensors.contains("blocks.0.attn.qkv.weight")
}

/// What the norms add to the mean square.
///
/// HumChess added 1e-6 as long as it had a norm of its own. Since its commit b4ea6f9, five days after the move history
/// came, it uses `nn.RMSNorm`, which adds the epsilon of 32-bit floats. Nothing in a checkpoint tells those of the five
/// days: their card has to. Our own networks of square pairs add 1e-6.
fn epsilon(tensors: &TensorMap, config: &Config, card: &StateDict) -> Result<f32, LoadError> {
    let is_own = tensors.contains("from_head.weight");
    let usual = if config.history && !is_own { f32::EPSILON } else { 1e-6 };
    let eps = card.norm_epsilon.unwrap_or(usual);
    if eps > 0.0 && eps < 1.0 {
        return Ok(eps);
    }
    let message = format!("the card gives a norm_epsilon of {eps}; it is above 0 and below 1");
    Err(tensors.error(LoadErrorKind::UnknownNetwork, message))
}

pub(super) fn build(tensors: &mut TensorMap, card: &StateDict) -> Result<Recognised, LoadError> {
    let config = Config::of(tensors)?;
    let d = config.width;
    let eps = epsilon(tensors, &config, card)?;
    let mut net = Layers::new("humchess", tensors);

    let mut x = embed(&mut net, &config)?;
    let attention =
        Attention { width: d, heads: config.heads, tokens: config.tokens(), pairs: PairBias::None, eps };
    for layer in 0..config.layers {
        let normal = net.rms_norm(&x, &format!("blocks.{layer}.rmsnorm1.weight"), &[d], eps)?;
        let attended = attention.on(&mut net, &format!("blocks.{layer}.attn"), &normal)?;
        x = net.binary("Add", &x, &attended);
        let normal = net.rms_norm(&x, &format!("blocks.{layer}.rmsnorm2.weight"), &[d], eps)?;
        let inner = net.project(&normal, &format!("blocks.{layer}.ffn.w1.weight"), config.hidden, d)?;
        let inner = net.silu(&inner);
        let inner = net.project(&inner, &format!("blocks.{layer}.ffn.w2.weight"), d, config.hidden)?;
        x = net.binary("Add", &x, &inner);
    }
    let x = net.slice(&x, 1, 0, 1 + SQUARES);
    let x = net.rms_norm(&x, "rmsnorm_final.weight", &[d], eps)?;
    let class = net.slice(&x, 1, 0, 1);
    let class = net.reshape(&class, &[-1, d as i64]);
    let pairs = net.tensors.contains("from_head.weight");
    let moves =
        if pairs { square_pairs(&mut net, d, &x)? } else { net.linear(&class, "move_head", MOVES, d)? };
    let promotions = net.linear(&class, "promo_head", PROMOTIONS, d)?;
    net.output(&moves, "move_logits", MOVES);
    net.output(&promotions, "promo_logits", PROMOTIONS);

    let Config { width, heads, layers, hidden, history } = config;
    Ok(Recognised {
        graph: net.finish(),
        apart: None,
        encoding: Some(if history { "humchess-74" } else { "humchess-68" }),
        vocabulary: Some("from-to-4096"),
        architecture: format!(
            "HumChess transformer: {layers} layers, width {width}, {heads} heads, inner width {hidden}, {} tokens{}",
            if history { BOARD_TOKENS + HISTORY } else { BOARD_TOKENS },
            if pairs { ", moves by square pairs" } else { "" }
        ),
    })
}

/// A logit for every pair of squares: the scaled product of one square's vector as origin, the other's as target.
fn square_pairs(net: &mut Layers<'_>, d: usize, x: &Node) -> Result<Node, LoadError> {
    let squares = net.slice(x, 1, 1, 1 + SQUARES);
    let from = net.project(&squares, "from_head.weight", d, d)?;
    let to = net.project(&squares, "to_head.weight", d, d)?;
    let to = net.transpose(&to, &[0, 2, 1]);
    let pairs = net.binary("MatMul", &from, &to);
    let pairs = net.scaled(&pairs, 1.0 / (d as f32).sqrt());
    Ok(net.reshape(&pairs, &[-1, MOVES as i64]))
}

/// The tokens as vectors. Only squares have a position, and only past moves an age.
fn embed(net: &mut Layers<'_>, config: &Config) -> Result<Node, LoadError> {
    let d = config.width;
    let ids = net.id_input("tokens", &[config.tokens()]);
    let table = net.weight("token_emb.weight", &[VOCABULARY, d])?;
    let positions = net.weight("pos_emb.weight", &[SQUARES, d])?;
    let positions = net.pad_rows(&positions, 1, BOARD_TOKENS - SQUARES - 1);

    let board_ids = if config.history { net.slice(&ids, 1, 0, BOARD_TOKENS) } else { ids.clone() };
    let board = net.gather(&table, &board_ids, 0);
    let board = net.binary("Add", &board, &positions);
    if !config.history {
        return Ok(board);
    }
    let move_ids = net.slice(&ids, 1, BOARD_TOKENS, BOARD_TOKENS + HISTORY);
    let table = net.weight("move_history_emb.weight", &[HISTORY_MOVES, d])?;
    let ages = net.weight("history_pos_emb.weight", &[HISTORY, d])?;
    let moves = net.gather(&table, &move_ids, 0);
    let moves = net.binary("Add", &moves, &ages);
    Ok(net.concat(&[&board, &moves], 1))
}
