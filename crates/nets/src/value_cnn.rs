//! A convolutional evaluation.

use serde::{Deserialize, Serialize};

use crate::parameters::{Decay, Initial, ParameterTable};
use crate::{Architecture, Heads, Layers, Outputs};

const SQUARES: usize = 64;

/// A convolutional network that gives one number: residual blocks of 3x3 convolutions, then two dense layers on a few
/// planes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ValueCnnConfig {
    /// The inputs: `rusty-planes-15`, or `challenge-768` as 12 planes.
    pub encoding: String,
    /// Channels of the blocks.
    pub channels: usize,
    /// Residual blocks.
    pub blocks: usize,
    /// Channels that reach the dense layers.
    pub squeeze: usize,
    /// Width of the hidden dense layer.
    pub hidden: usize,
}

impl ValueCnnConfig {
    fn planes(&self) -> Option<usize> {
        match self.encoding.as_str() {
            "rusty-planes-15" => Some(15),
            "challenge-768" => Some(12),
            _ => None,
        }
    }
}

impl Architecture for ValueCnnConfig {
    fn graph_name(&self) -> &'static str {
        "value-cnn"
    }

    fn encoding(&self) -> &str {
        &self.encoding
    }

    fn check(&self) -> Result<(), String> {
        if self.planes().is_none() {
            return Err(format!("has the encoding {:?}, which has no planes of squares", self.encoding));
        }
        if [self.channels, self.squeeze, self.hidden].contains(&0) {
            return Err("has a size of zero".to_owned());
        }
        Ok(())
    }

    fn table(&self) -> ParameterTable {
        let &ValueCnnConfig { channels, blocks, squeeze, hidden, .. } = self;
        let planes = self.planes().unwrap_or(0);
        let mut table = ParameterTable::new();
        let mut layer = |name: String, shape: &[usize], shrink: f32| {
            let inputs: usize = shape[1..].iter().product();
            let deviation = shrink * (2.0 / inputs as f32).sqrt();
            table.push(format!("{name}.weight"), shape, Initial::Normal(deviation), Decay::Decayed);
            table.push(format!("{name}.bias"), &shape[..1], Initial::Zeros, Decay::Exempt);
        };
        // Half of the planes are nearly empty.
        layer("stem".to_owned(), &[channels, planes, 3, 3], 2.0);
        for i in 0..blocks {
            layer(format!("blocks.{i}.conv1"), &[channels, channels, 3, 3], 1.0);
            layer(format!("blocks.{i}.conv2"), &[channels, channels, 3, 3], 1.0 / (blocks as f32).sqrt());
        }
        layer("squeeze".to_owned(), &[squeeze, channels, 1, 1], 1.0);
        layer("hidden".to_owned(), &[hidden, squeeze * SQUARES], 1.0);
        layer("output".to_owned(), &[1, hidden], 1.0);
        table
    }

    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
        let board = net.input(0)?;
        let planes = self.planes().unwrap_or(0);
        let board = net.reshape(&board, &[planes, 8, 8])?;
        let x = net.conv(&board, "stem")?;
        let mut x = net.relu(&x)?;
        for i in 0..self.blocks {
            let y = net.conv(&x, &format!("blocks.{i}.conv1"))?;
            let y = net.relu(&y)?;
            let y = net.conv(&y, &format!("blocks.{i}.conv2"))?;
            let sum = net.add(&x, &y)?;
            x = net.relu(&sum)?;
        }
        let x = net.conv(&x, "squeeze")?;
        let x = net.relu(&x)?;
        let x = net.reshape(&x, &[self.squeeze * SQUARES])?;
        let x = net.linear(&x, "hidden")?;
        let x = net.relu(&x)?;
        Ok(Heads { value: Some(net.linear(&x, "output")?), ..Heads::default() })
    }

    fn outputs(&self) -> Outputs {
        Outputs::value()
    }

    fn describe(&self, _: &ParameterTable) -> String {
        format!("value CNN: {} residual blocks, {} channels", self.blocks, self.channels)
    }
}
