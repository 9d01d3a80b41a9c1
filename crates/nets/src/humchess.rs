//! HumChess: a transformer over the squares, with a move head and a promotion head.
//!
//! Our own networks over the same tokens differ in one thing: instead of reading all 4096 moves off the class token
//! (`move_head`) they score each pair of squares from the vectors of those two squares (`from_head`, `to_head`),
//! which learns much faster.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde::{Deserialize, Serialize};

use crate::attention::{Attention, BlockSizes, check_sizes, square_pairs};
use crate::detect::{DetectError, Detected, Detector, Hints, NamedTensors, contains, dims};
use crate::parameters::{Decay, Initial, ParameterTable};
use crate::{Architecture, Heads, Layers, NetConfig, Output, Outputs};

pub(crate) const DETECTOR: Detector = Detector { name: "the HumChess transformer", fits, detect };

const TOKEN_IDS: usize = 66;
const SQUARES: usize = 64;
/// The tokens before the move history: the class token, the squares, castling, rating, time.
const BOARD_TOKENS: usize = 68;
const HISTORY: usize = 6;
/// From-to pairs, and the padding of short histories.
const HISTORY_MOVES: usize = 64 * 64 + 1;
const MOVES: usize = 64 * 64;
const PROMOTIONS: usize = 4;

/// HumChess's transformer over tokens: the class token, the squares, castling, rating and time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
    /// What the norms add to the mean square, where it is not what the tokens and moves imply. Set from model cards only.
    #[serde(skip)]
    pub norm_epsilon: Option<f32>,
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
            norm_epsilon: None,
        }
    }
}

impl HumChessConfig {
    /// What the norms add to the mean square.
    ///
    /// HumChess added 1e-6 as long as it had a norm of its own. Since its commit b4ea6f9, five days after the move history
    /// came, it uses `nn.RMSNorm`, which adds the epsilon of 32-bit floats. Nothing in a checkpoint tells those of the five
    /// days: their card has to. Our own networks of square pairs add 1e-6.
    fn epsilon(&self) -> f32 {
        self.norm_epsilon.unwrap_or(match (self.tokens, self.moves) {
            (HumChessTokens::History, HumChessMoves::ClassToken) => f32::EPSILON,
            _ => 1e-6,
        })
    }

    fn tokens(&self) -> usize {
        match self.tokens {
            HumChessTokens::Board => BOARD_TOKENS,
            HumChessTokens::History => BOARD_TOKENS + HISTORY,
        }
    }

    fn attention(&self) -> Attention {
        Attention { width: self.width, heads: self.heads, tokens: self.tokens(), eps: self.epsilon() }
    }

    /// The token vectors. Only squares have a position, and only past moves an age.
    fn embed<L: Layers>(&self, net: &mut L) -> Result<L::Value, L::Error> {
        let ids = net.input(0)?;
        let board = match self.tokens {
            HumChessTokens::Board => ids.clone(),
            HumChessTokens::History => net.slice(&ids, 1, 0, BOARD_TOKENS)?,
        };
        let board = net.embed("token_emb.weight", &board)?;
        let board = net.add_to_tokens(&board, "pos_emb.weight", 1, BOARD_TOKENS)?;
        if self.tokens == HumChessTokens::Board {
            return Ok(board);
        }
        let moves = net.slice(&ids, 1, BOARD_TOKENS, BOARD_TOKENS + HISTORY)?;
        let moves = net.embed("move_history_emb.weight", &moves)?;
        let ages = net.parameter("history_pos_emb.weight")?;
        let moves = net.add(&moves, &ages)?;
        net.concat(&[&board, &moves], 1)
    }
}

fn fits(tensors: &dyn NamedTensors) -> bool {
    contains(tensors, "token_emb.weight") && contains(tensors, "blocks.0.attn.qkv.weight")
}

fn detect(tensors: &dyn NamedTensors, hints: &Hints) -> Result<Detected, DetectError> {
    let [_, width] = dims(tensors, "token_emb.weight")?;
    let BlockSizes { heads, layers, inner } = BlockSizes::detect(tensors, width, "rmsnorm")?;
    let history = contains(tensors, "move_history_emb.weight");
    let pairs = contains(tensors, "from_head.weight");
    if let Some(eps) = hints.norm_epsilon.filter(|eps| !(*eps > 0.0 && *eps < 1.0)) {
        let message = format!("the card gives a norm_epsilon of {eps}; expected above 0 and below 1");
        return Err(DetectError::unknown(None, message));
    }
    let config = HumChessConfig {
        width,
        heads,
        layers,
        inner,
        tokens: if history { HumChessTokens::History } else { HumChessTokens::Board },
        moves: if pairs { HumChessMoves::SquarePairs } else { HumChessMoves::ClassToken },
        norm_epsilon: hints.norm_epsilon,
    };
    let table = config.table();
    let table = table.filtered(|entry| !table.is_linear_bias(&entry.name) || contains(tensors, &entry.name));
    Ok(Detected::new(NetConfig::Humchess(config), table))
}

impl Architecture for HumChessConfig {
    fn graph_name(&self) -> &'static str {
        "humchess"
    }

    fn encoding(&self) -> &str {
        match self.tokens {
            HumChessTokens::Board => "humchess-68",
            HumChessTokens::History => "humchess-74",
        }
    }

    fn vocabulary(&self) -> Option<&'static str> {
        Some("from-to-4096")
    }

    fn check(&self) -> Result<(), String> {
        check_sizes(self.width, self.heads, &[self.layers, self.inner])
    }

    fn table(&self) -> ParameterTable {
        let HumChessConfig { width: d, layers, inner, .. } = *self;
        let fan = |inputs: usize| Initial::Normal(1.0 / (inputs as f32).sqrt());
        let residual = |inputs: usize| Initial::Normal(1.0 / (inputs as f32 * 2.0 * layers as f32).sqrt());
        let mut table = ParameterTable::new();
        table.push("token_emb.weight", &[TOKEN_IDS, d], Initial::Normal(0.2), Decay::Exempt);
        table.push("pos_emb.weight", &[SQUARES, d], Initial::Normal(0.1), Decay::Exempt);
        if self.tokens == HumChessTokens::History {
            table.push("move_history_emb.weight", &[HISTORY_MOVES, d], Initial::Normal(0.2), Decay::Exempt);
            table.push("history_pos_emb.weight", &[HISTORY, d], Initial::Normal(0.1), Decay::Exempt);
        }
        for i in 0..layers {
            let name = |part: &str| format!("blocks.{i}.{part}.weight");
            self.attention().push_parameters(&mut table, i, "rmsnorm", residual(d), None);
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

    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
        let d = self.width;
        let mut x = self.embed(net)?;
        let attention = self.attention();
        let eps = attention.eps;
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

    fn outputs(&self) -> Outputs {
        Outputs {
            policy: Some(Output { name: "move_logits", width: MOVES }),
            promotion: Some(Output { name: "promo_logits", width: PROMOTIONS }),
            ..Outputs::default()
        }
    }

    fn describe(&self, _: &ParameterTable) -> String {
        let HumChessConfig { width, heads, layers, inner, moves, .. } = *self;
        let pairs = if moves == HumChessMoves::SquarePairs { ", moves by square pairs" } else { "" };
        format!(
            "HumChess transformer: {layers} layers, width {width}, {heads} heads, inner width {inner}, {} tokens{pairs}",
            self.tokens()
        )
    }
}
