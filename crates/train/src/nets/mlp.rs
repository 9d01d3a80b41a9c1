use candle_core::Result;
use serde::{Deserialize, Serialize};

use super::layers::{Heads, Layers};
use crate::parameters::{Decay, Initial, ParameterTable};

const CANONICAL_MOVES: usize = 1968;

/// A dense network that gives one number for a flat board, with the layer names of Rusty Chess.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueMlpConfig {
    /// The inputs: `challenge-768`, `rusty-774`, `rusty-902` or `challenge-1540`.
    pub encoding: String,
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
}

/// The dense policy of Learning a Chess Policy: 837 inputs, 1968 moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyMlpConfig {
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
}

fn table(inputs: usize, hidden: &[usize], outputs: usize, name: impl Fn(usize) -> String) -> ParameterTable {
    let mut table = ParameterTable::new();
    let mut width = inputs;
    for (at, &next) in hidden.iter().chain([&outputs]).enumerate() {
        // About 32 of a board's inputs are set, so the first layer's sums are over those alone.
        let active = if at == 0 { width.min(32) } else { width };
        // The output starts near zero: nothing is known yet.
        let gain = if at == hidden.len() { 0.1 } else { 2.0 };
        let deviation = (gain / active as f32).sqrt();
        let (weight, initial) = (format!("{}.weight", name(at)), Initial::Normal(deviation));
        // Between the layer that embeds the board and the head lies the body.
        if at > 0 && at < hidden.len() {
            table.push_body(weight, [next, width], initial, 1);
        } else {
            table.push(weight, &[next, width], initial, Decay::Decayed);
        }
        table.push(format!("{}.bias", name(at)), &[next], Initial::Zeros, Decay::Exempt);
        width = next;
    }
    table
}

fn forward<L: Layers>(net: &mut L, layers: usize, name: impl Fn(usize) -> String) -> Result<L::Value> {
    let mut x = net.input(0)?;
    for at in 0..layers {
        if at > 0 {
            x = net.relu(&x)?;
        }
        x = net.linear(&x, &name(at))?;
    }
    Ok(x)
}

fn numbered(at: usize) -> String {
    format!("seq.linear-{at}")
}

/// Between two linear layers is an activation, which has a number too.
fn sequential(at: usize) -> String {
    format!("net.{}", 2 * at)
}

impl ValueMlpConfig {
    fn inputs(&self) -> Option<usize> {
        match self.encoding.as_str() {
            "challenge-768" => Some(768),
            "rusty-774" => Some(774),
            "rusty-902" => Some(902),
            "challenge-1540" => Some(1540),
            _ => None,
        }
    }

    pub(super) fn check(&self) -> std::result::Result<(), String> {
        if self.inputs().is_none() {
            return Err(format!("has the encoding {:?}, which is not a flat board", self.encoding));
        }
        if self.hidden.contains(&0) { Err("has a layer of width zero".to_owned()) } else { Ok(()) }
    }

    pub(super) fn table(&self) -> ParameterTable {
        table(self.inputs().unwrap_or(0), &self.hidden, 1, numbered)
    }

    pub(super) fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>> {
        let value = forward(net, self.hidden.len() + 1, numbered)?;
        Ok(Heads { value: Some(value), ..Heads::default() })
    }
}

impl PolicyMlpConfig {
    pub(super) fn check(&self) -> std::result::Result<(), String> {
        if self.hidden.contains(&0) { Err("has a layer of width zero".to_owned()) } else { Ok(()) }
    }

    pub(super) fn table(&self) -> ParameterTable {
        table(837, &self.hidden, CANONICAL_MOVES, sequential)
    }

    pub(super) fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>> {
        let policy = forward(net, self.hidden.len() + 1, sequential)?;
        Ok(Heads { policy: Some(policy), ..Heads::default() })
    }
}
