use candle_core::Result;
use serde::{Deserialize, Serialize};

use super::attention::Attention;
use super::human::square_pairs;
use super::layers::{Heads, Layers};
use crate::parameters::{Decay, Initial, ParameterTable};

const VOCABULARY_SIZE: usize = 66;
const SQUARES: usize = 64;
const BOARD_TOKENS: usize = 68;
const HISTORY: usize = 6;
const HISTORY_MOVES: usize = 4097;
const MOVES: usize = 4096;
const PROMOTIONS: usize = 4;

/// HumChess's transformer over tokens: the class token, the squares, castling, rating and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HumChessConfig {
    /// Numbers a token is represented by.
    pub width: usize,
    /// Attention heads; they divide the width.
    pub heads: usize,
    /// Blocks.
    pub layers: usize,
    /// Inner width of the feed-forward layer.
    pub inner: usize,
    /// Which tokens there are.
    pub tokens: HumChessTokens,
    /// How moves are read.
    pub moves: HumChessMoves,
}

/// Which tokens a HumChess network sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HumChessTokens {
    /// 68: the board and the players.
    Board,
    /// 74: the last six moves as well.
    History,
}

/// How a HumChess network gives its moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HumChessMoves {
    /// All 4096 from the class token, as HumChess itself does.
    ClassToken,
    /// Each from the vectors of its two squares, which learns faster.
    SquarePairs,
}

impl Default for HumChessConfig {
    fn default() -> Self {
        HumChessConfig {
            width: 256,
            heads: 8,
            layers: 6,
            inner: 1024,
            tokens: HumChessTokens::Board,
            moves: HumChessMoves::ClassToken,
        }
    }
}

impl HumChessConfig {
    /// What the norms add to the mean square: what a reader of the weights takes for granted (`nets/humchess.rs` of
    /// tabia-model), which is what HumChess itself does where the network is one of its own.
    fn epsilon(&self) -> f32 {
        match (self.tokens, self.moves) {
            (HumChessTokens::History, HumChessMoves::ClassToken) => f32::EPSILON,
            _ => 1e-6,
        }
    }

    pub(super) fn encoding(&self) -> &'static str {
        match self.tokens {
            HumChessTokens::Board => "humchess-68",
            HumChessTokens::History => "humchess-74",
        }
    }

    pub(super) fn check(&self) -> std::result::Result<(), String> {
        super::attention::check_sizes(self.width, self.heads, &[self.layers, self.inner])
    }

    pub(super) fn table(&self) -> ParameterTable {
        let HumChessConfig { width: d, heads, layers, inner, .. } = *self;
        let fan = |inputs: usize| Initial::Normal(1.0 / (inputs as f32).sqrt());
        let residual = |inputs: usize| Initial::Normal(1.0 / ((inputs * 2 * layers) as f32).sqrt());
        let mut table = ParameterTable::new();
        table.push("token_emb.weight", &[VOCABULARY_SIZE, d], Initial::Normal(0.2), Decay::Exempt);
        table.push("pos_emb.weight", &[SQUARES, d], Initial::Normal(0.1), Decay::Exempt);
        if self.tokens == HumChessTokens::History {
            table.push("move_history_emb.weight", &[HISTORY_MOVES, d], Initial::Normal(0.2), Decay::Exempt);
            table.push("history_pos_emb.weight", &[HISTORY, d], Initial::Normal(0.1), Decay::Exempt);
        }
        for i in 0..layers {
            let name = |part: &str| format!("blocks.{i}.{part}.weight");
            table.push(name("rmsnorm1"), &[d], Initial::Ones, Decay::Exempt);
            table.push_body(name("attn.qkv"), [3 * d, d], fan(d), 3);
            table.push(name("attn.q_norm"), &[d / heads], Initial::Ones, Decay::Exempt);
            table.push(name("attn.k_norm"), &[d / heads], Initial::Ones, Decay::Exempt);
            table.push_body(name("attn.out"), [d, d], residual(d), 1);
            table.push(name("rmsnorm2"), &[d], Initial::Ones, Decay::Exempt);
            table.push_body(name("ffn.w1"), [inner, d], fan(d), 1);
            table.push_body(name("ffn.w2"), [d, inner], residual(inner), 1);
        }
        table.push("rmsnorm_final.weight", &[d], Initial::Ones, Decay::Exempt);
        match self.moves {
            HumChessMoves::ClassToken => {
                table.push("move_head.weight", &[MOVES, d], fan(d), Decay::Decayed);
                table.push("move_head.bias", &[MOVES], Initial::Zeros, Decay::Exempt);
            }
            HumChessMoves::SquarePairs => {
                table.push("from_head.weight", &[d, d], fan(d), Decay::Decayed);
                table.push("to_head.weight", &[d, d], fan(d), Decay::Decayed);
            }
        }
        table.push("promo_head.weight", &[PROMOTIONS, d], fan(d), Decay::Decayed);
        table.push("promo_head.bias", &[PROMOTIONS], Initial::Zeros, Decay::Exempt);
        table
    }

    pub(super) fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>> {
        let d = self.width;
        let (mut x, tokens) = self.embed(net)?;
        let eps = self.epsilon();
        let attention = Attention { width: d, heads: self.heads, tokens, eps };
        for i in 0..self.layers {
            let name = |part: &str| format!("blocks.{i}.{part}");
            let h = net.rms_norm(&x, &name("rmsnorm1.weight"), eps)?;
            let h = attention.on(net, &name("attn"), &h, None)?;
            x = net.add(&x, &h)?;
            let h = net.rms_norm(&x, &name("rmsnorm2.weight"), eps)?;
            let inner = net.project(&h, &name("ffn.w1.weight"))?;
            let inner = net.silu(&inner)?;
            let inner = net.project(&inner, &name("ffn.w2.weight"))?;
            x = net.add(&x, &inner)?;
        }
        let y = net.slice(&x, 1, 0, 1 + SQUARES)?;
        let y = net.rms_norm(&y, "rmsnorm_final.weight", eps)?;
        let class = net.slice(&y, 1, 0, 1)?;
        let class = net.reshape(&class, &[d])?;
        let policy = match self.moves {
            HumChessMoves::ClassToken => net.linear(&class, "move_head")?,
            HumChessMoves::SquarePairs => {
                let squares = net.slice(&y, 1, 1, 1 + SQUARES)?;
                square_pairs(net, &squares, d)?
            }
        };
        let promotion = net.linear(&class, "promo_head")?;
        Ok(Heads { policy: Some(policy), promotion: Some(promotion), ..Heads::default() })
    }

    /// The tokens as vectors, and how many there are. Only squares have a position, and only past moves an age.
    fn embed<L: Layers>(&self, net: &mut L) -> Result<(L::Value, usize)> {
        let ids = net.input(0)?;
        let board = match self.tokens {
            HumChessTokens::Board => ids.clone(),
            HumChessTokens::History => net.slice(&ids, 1, 0, BOARD_TOKENS)?,
        };
        let board = net.embed("token_emb.weight", &board)?;
        let class = net.slice(&board, 1, 0, 1)?;
        let squares = net.slice(&board, 1, 1, 1 + SQUARES)?;
        let places = net.parameter("pos_emb.weight")?;
        let squares = net.add(&squares, &places)?;
        let rest = net.slice(&board, 1, 1 + SQUARES, BOARD_TOKENS)?;
        if self.tokens == HumChessTokens::Board {
            return Ok((net.concat(&[&class, &squares, &rest], 1)?, BOARD_TOKENS));
        }
        let moves = net.slice(&ids, 1, BOARD_TOKENS, BOARD_TOKENS + HISTORY)?;
        let moves = net.embed("move_history_emb.weight", &moves)?;
        let ages = net.parameter("history_pos_emb.weight")?;
        let moves = net.add(&moves, &ages)?;
        Ok((net.concat(&[&class, &squares, &rest, &moves], 1)?, BOARD_TOKENS + HISTORY))
    }
}
