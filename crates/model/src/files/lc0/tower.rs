//! The network as an ONNX graph: input convolution, residual tower, heads.

use super::format::{Activation, Architecture, Lc0Policy, Lc0Value};
use super::layers::{Conv, Dense, Excitation, Outputs};
use super::messages::{ConvBlock, Layer, Residual, Weights};
use super::policy_planes;
use crate::LoadError;
use crate::onnx::build::{Attribute, GraphBuilder, Node};
use crate::onnx::proto::ModelProto;

const INPUT_PLANES: usize = 112;
const MOVES: usize = 1858;
const SQUARES: usize = 64;

/// Builds the graph, consuming the weights so that at most one layer is in memory twice.
pub(super) fn build(weights: Weights, architecture: Architecture) -> Result<ModelProto, LoadError> {
    let mut tower =
        Tower { graph: GraphBuilder::new("lc0"), activation: architecture.activation, channels: 0 };
    let planes = tower.graph.input("planes", &[INPUT_PLANES, 8, 8]);
    let input = Conv::read(weights.input, "input", INPUT_PLANES, 3, Outputs::AsStored)?;
    tower.channels = input.outputs();
    let mut x = tower.convolve(&planes, "input", &input);
    x = tower.activate(&x);
    for (index, block) in weights.residual.into_iter().enumerate() {
        x = tower.residual_block(&x, &format!("residual.{index}"), block)?;
    }

    let policy = match architecture.policy {
        Lc0Policy::Classical => {
            tower.classical_policy(&x, weights.policy, weights.ip_pol_w, weights.ip_pol_b)?
        }
        Lc0Policy::Convolution => tower.convolution_policy(&x, weights.policy1, weights.policy)?,
    };
    tower.graph.output(&policy, "policy", &[MOVES]);

    let head = BoardHead {
        name: ["value", "ip1_val_w", "ip1_val_b", "ip2_val_w", "ip2_val_b"],
        conv: weights.value,
        first: (weights.ip1_val_w, weights.ip1_val_b),
        second: (weights.ip2_val_w, weights.ip2_val_b),
    };
    match architecture.value {
        Lc0Value::Wdl => {
            let logits = tower.board_head(&x, head, 3)?;
            let wdl = tower.graph.op("Softmax", &[&logits], &[("axis", Attribute::Int(1))]);
            tower.graph.output(&wdl, "wdl", &[3]);
        }
        Lc0Value::Classical => {
            let value = tower.board_head(&x, head, 1)?;
            let value = tower.graph.op("Tanh", &[&value], &[]);
            tower.graph.output(&value, "value", &[1]);
        }
    }

    if architecture.has_moves_left {
        let head = BoardHead {
            name: ["moves_left", "ip1_mov_w", "ip1_mov_b", "ip2_mov_w", "ip2_mov_b"],
            conv: weights.moves_left,
            first: (weights.ip1_mov_w, weights.ip1_mov_b),
            second: (weights.ip2_mov_w, weights.ip2_mov_b),
        };
        let plies = tower.board_head(&x, head, 1)?;
        // A ReLU with every activation function.
        let plies = tower.graph.op("Relu", &[&plies], &[]);
        tower.graph.output(&plies, "moves_left", &[1]);
    }
    Ok(tower.graph.finish())
}

struct Tower {
    graph: GraphBuilder,
    activation: Activation,
    /// Planes between the blocks.
    channels: usize,
}

/// A value or moves-left head: a 1x1 convolution and two dense layers.
struct BoardHead {
    /// Names of the convolution, the first layer's weights and biases, and the second's.
    name: [&'static str; 5],
    conv: Option<ConvBlock>,
    first: (Option<Layer>, Option<Layer>),
    second: (Option<Layer>, Option<Layer>),
}

impl Tower {
    fn residual_block(&mut self, x: &Node, name: &str, block: Residual) -> Result<Node, LoadError> {
        let channels = self.channels;
        let same = Outputs::Exactly(channels);
        let (name1, name2) = (format!("{name}.conv1"), format!("{name}.conv2"));
        let conv1 = Conv::read(block.conv1, &name1, channels, 3, same)?;
        let conv2 = Conv::read(block.conv2, &name2, channels, 3, same)?;
        let y = self.convolve(x, &name1, &conv1);
        let y = self.activate(&y);
        let mut y = self.convolve(&y, &name2, &conv2);
        if let Some(unit) = block.se {
            let name = format!("{name}.se");
            let excitation = Excitation::read(unit, &name, channels)?;
            y = self.excite(&y, &name, &excitation);
        }
        let sum = self.graph.op("Add", &[x, &y], &[]);
        Ok(self.activate(&sum))
    }

    /// Scales and shifts each channel. The dense layers are 1x1 convolutions, which keeps the shape for broadcasting.
    fn excite(&mut self, x: &Node, name: &str, excitation: &Excitation) -> Node {
        let mean = self.graph.op("GlobalAveragePool", &[x], &[]);
        let squeezed = self.pointwise(&mean, &format!("{name}.squeeze"), &excitation.squeeze);
        let squeezed = self.activate(&squeezed);
        let factor = self.pointwise(&squeezed, &format!("{name}.factor"), &excitation.factor);
        let factor = self.graph.op("Sigmoid", &[&factor], &[]);
        let term = self.pointwise(&squeezed, &format!("{name}.term"), &excitation.term);
        let scaled = self.graph.op("Mul", &[x, &factor], &[]);
        self.graph.op("Add", &[&scaled, &term], &[])
    }

    fn classical_policy(
        &mut self,
        x: &Node,
        conv: Option<ConvBlock>,
        weights: Option<Layer>,
        biases: Option<Layer>,
    ) -> Result<Node, LoadError> {
        let conv = Conv::read(conv, "policy", self.channels, 1, Outputs::AsStored)?;
        let (inputs, outputs) = (conv.outputs() * SQUARES, Outputs::Exactly(MOVES));
        let dense = Dense::read((weights, "ip_pol_w"), (biases, "ip_pol_b"), inputs, outputs)?;
        let y = self.convolve(x, "policy", &conv);
        let y = self.activate(&y);
        let y = self.flatten(&y);
        Ok(self.dense(&y, "ip_pol", &dense))
    }

    fn convolution_policy(
        &mut self,
        x: &Node,
        first: Option<ConvBlock>,
        second: Option<ConvBlock>,
    ) -> Result<Node, LoadError> {
        let first = Conv::read(first, "policy1", self.channels, 3, Outputs::AsStored)?;
        let planes = Outputs::AtLeast(policy_planes::USED_PLANES);
        let second = Conv::read(second, "policy", first.outputs(), 3, planes)?;
        let y = self.convolve(x, "policy1", &first);
        let y = self.activate(&y);
        let y = self.convolve(&y, "policy", &second);
        let y = self.flatten(&y);
        let elements = self.graph.ints("policy.elements", &[MOVES], &policy_planes::elements()?);
        Ok(self.graph.op("Gather", &[&y, &elements], &[("axis", Attribute::Int(1))]))
    }

    fn board_head(&mut self, x: &Node, head: BoardHead, outputs: usize) -> Result<Node, LoadError> {
        let [name, w1, b1, w2, b2] = head.name;
        let conv = Conv::read(head.conv, name, self.channels, 1, Outputs::AsStored)?;
        let ((w, b), inputs) = (head.first, conv.outputs() * SQUARES);
        let first = Dense::read((w, w1), (b, b1), inputs, Outputs::AsStored)?;
        let ((w, b), inputs) = (head.second, first.outputs());
        let second = Dense::read((w, w2), (b, b2), inputs, Outputs::Exactly(outputs))?;
        let y = self.convolve(x, name, &conv);
        let y = self.activate(&y);
        let y = self.flatten(&y);
        let y = self.dense(&y, &format!("{name}.first"), &first);
        let y = self.activate(&y);
        Ok(self.dense(&y, &format!("{name}.second"), &second))
    }

    fn convolve(&mut self, x: &Node, name: &str, conv: &Conv) -> Node {
        let Conv { inputs, kernel, .. } = *conv;
        let shape = [conv.outputs(), inputs, kernel, kernel];
        let weights = self.graph.weight(&format!("{name}.weights"), &shape, &conv.weights);
        let biases = self.graph.weight(&format!("{name}.biases"), &[conv.outputs()], &conv.biases);
        let (kernel, padding) = (kernel as i64, kernel as i64 / 2);
        let attributes =
            [("kernel_shape", Attribute::Ints(vec![kernel; 2])), ("pads", Attribute::Ints(vec![padding; 4]))];
        self.graph.op("Conv", &[x, &weights, &biases], &attributes)
    }

    /// A dense layer over the channels, at each square.
    fn pointwise(&mut self, x: &Node, name: &str, dense: &Dense) -> Node {
        let shape = [dense.outputs(), dense.inputs, 1, 1];
        let weights = self.graph.weight(&format!("{name}.weights"), &shape, &dense.weights);
        let biases = self.graph.weight(&format!("{name}.biases"), &[dense.outputs()], &dense.biases);
        self.graph.op("Conv", &[x, &weights, &biases], &[("kernel_shape", Attribute::Ints(vec![1, 1]))])
    }

    fn dense(&mut self, x: &Node, name: &str, dense: &Dense) -> Node {
        let shape = [dense.outputs(), dense.inputs];
        let weights = self.graph.weight(&format!("{name}.weights"), &shape, &dense.weights);
        let biases = self.graph.weight(&format!("{name}.biases"), &[dense.outputs()], &dense.biases);
        self.graph.op("Gemm", &[x, &weights, &biases], &[("transB", Attribute::Int(1))])
    }

    fn flatten(&mut self, x: &Node) -> Node {
        self.graph.op("Flatten", &[x], &[("axis", Attribute::Int(1))])
    }

    fn activate(&mut self, x: &Node) -> Node {
        match self.activation {
            Activation::Relu => self.graph.op("Relu", &[x], &[]),
            Activation::Mish => {
                let gate = self.graph.op("Softplus", &[x], &[]);
                let gate = self.graph.op("Tanh", &[&gate], &[]);
                self.graph.op("Mul", &[x, &gate], &[])
            }
        }
    }
}
