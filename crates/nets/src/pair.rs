//! The two-input network.

use serde::{Deserialize, Serialize};

use crate::parameters::{Decay, Initial, ParameterTable};
use crate::{Architecture, Heads, Layers, Outputs};

const INPUTS: usize = 769;

/// The two-input network: a dense layer on the context and one on the position, side by side into dense layers that end
/// in the logit of the chance that the context's side to move wins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PairConfig {
    /// Width of each of the two first layers.
    pub first: usize,
    /// Widths of the layers after.
    pub hidden: Vec<usize>,
}

impl Default for PairConfig {
    /// The sizes of the two-input model.tflite.
    fn default() -> Self {
        PairConfig { first: 200, hidden: vec![400, 100] }
    }
}

impl Architecture for PairConfig {
    fn graph_name(&self) -> &'static str {
        "pair"
    }

    fn encoding(&self) -> &str {
        "pair-769"
    }

    fn check(&self) -> Result<(), String> {
        if self.first == 0 || self.hidden.contains(&0) {
            return Err("has a layer of width zero".to_owned());
        }
        Ok(())
    }

    fn table(&self) -> ParameterTable {
        let mut table = ParameterTable::new();
        let normal = |active: usize| Initial::Normal((2.0 / active as f32).sqrt());
        let bias = |table: &mut ParameterTable, name: &str, outputs: usize| {
            table.push(format!("{name}.bias"), &[outputs], Initial::Zeros, Decay::Exempt);
        };
        for name in ["context", "position"] {
            table.push(format!("{name}.weight"), &[self.first, INPUTS], normal(32), Decay::Decayed);
            bias(&mut table, name, self.first);
        }
        let mut width = 2 * self.first;
        for (at, &next) in self.hidden.iter().enumerate() {
            let name = format!("hidden.{at}");
            table.push_body(format!("{name}.weight"), [next, width], normal(width), 1);
            bias(&mut table, &name, next);
            width = next;
        }
        table.push("output.weight", &[1, width], normal(width), Decay::Decayed);
        bias(&mut table, "output", 1);
        table
    }

    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
        let (context, position) = (net.input(0)?, net.input(1)?);
        let context = net.linear(&context, "context")?;
        let context = net.relu(&context)?;
        let position = net.linear(&position, "position")?;
        let position = net.relu(&position)?;
        let mut x = net.concat(&[&context, &position], 1)?;
        for at in 0..self.hidden.len() {
            x = net.linear(&x, &format!("hidden.{at}"))?;
            x = net.relu(&x)?;
        }
        Ok(Heads { value: Some(net.linear(&x, "output")?), ..Heads::default() })
    }

    fn outputs(&self) -> Outputs {
        Outputs { value_is_logit: true, ..Outputs::value() }
    }

    fn describe(&self, _: &ParameterTable) -> String {
        format!("two inputs of 769, {} each, then {:?}", self.first, self.hidden)
    }
}
