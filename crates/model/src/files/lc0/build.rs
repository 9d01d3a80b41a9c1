//! The network as an ONNX graph: body and heads, and the operations they are made of.

use tabia_onnx::build::{Attribute, GraphBuilder, Node};
use tabia_onnx::proto::ModelProto;

use super::format::{Activation, Architecture, Lc0Body, Lc0Policy, Lc0Value};
use super::layers::{Conv, Dense, Excitation, Matrix, Norm, Outputs, transposed};
use super::messages::{ConvBlock, Layer, PolicyHead, Residual, Weights};
use super::{policy_planes, refuse};
use crate::{LoadError, LoadErrorKind};

pub(super) const INPUT_PLANES: usize = 112;
pub(super) const MOVES: usize = 1858;
pub(super) const SQUARES: usize = 64;

/// The constants of SELU.
const SELU_ALPHA: f32 = 1.673_263_2;
const SELU_SCALE: f32 = 1.050_701;

/// Builds the graph, consuming the weights so that at most one layer is in memory twice.
pub(super) fn build(mut weights: Weights, architecture: &Architecture) -> Result<ModelProto, LoadError> {
    let mut builder = Builder { graph: GraphBuilder::new("lc0"), activation: architecture.activation };
    let planes = builder.graph.input("planes", &[INPUT_PLANES, 8, 8]);
    let x = match architecture.body {
        Lc0Body::Residual => builder.residual_tower(&planes, &mut weights)?,
        Lc0Body::Attention(embedding) => {
            builder.attention_body(&planes, &mut weights, embedding, architecture)?
        }
    };

    let (head, prefix) = weights.take_policy_head();
    let policy = match architecture.policy {
        Lc0Policy::Classical => builder.classical_policy(&x, head, prefix)?,
        Lc0Policy::Convolution => builder.convolution_policy(&x, head, prefix)?,
        Lc0Policy::Attention => {
            let smolgen = weights.smolgen_w.take();
            builder.attention_policy(&x, head, prefix, smolgen, architecture)?
        }
    };
    builder.graph.output(&policy, "policy", &[MOVES]);

    let (head, prefix) = weights.take_value_head();
    let head = BoardHead {
        prefix,
        names: ["value", "ip_val", "ip1_val", "ip2_val"],
        conv: head.value,
        embedding: (head.ip_val_w, head.ip_val_b),
        first: (head.ip1_val_w, head.ip1_val_b),
        second: (head.ip2_val_w, head.ip2_val_b),
    };
    match architecture.value {
        Lc0Value::Wdl => {
            let logits = builder.board_head(&x, head, 3)?;
            let wdl = builder.graph.op("Softmax", &[&logits], &[("axis", Attribute::Int(1))]);
            builder.graph.output(&wdl, "wdl", &[3]);
        }
        Lc0Value::Classical => {
            let value = builder.board_head(&x, head, 1)?;
            let value = builder.op("Tanh", &[&value]);
            builder.graph.output(&value, "value", &[1]);
        }
    }

    if architecture.has_moves_left {
        let head = BoardHead {
            prefix: "",
            names: ["moves_left", "ip_mov", "ip1_mov", "ip2_mov"],
            conv: weights.moves_left,
            embedding: (weights.ip_mov_w, weights.ip_mov_b),
            first: (weights.ip1_mov_w, weights.ip1_mov_b),
            second: (weights.ip2_mov_w, weights.ip2_mov_b),
        };
        let plies = builder.board_head(&x, head, 1)?;
        // A ReLU with every activation function.
        let plies = builder.op("Relu", &[&plies]);
        builder.graph.output(&plies, "moves_left", &[1]);
    }
    Ok(builder.graph.finish())
}

pub(super) struct Builder {
    pub(super) graph: GraphBuilder,
    /// The default activation.
    pub(super) activation: Activation,
}

/// What the body makes of a position.
pub(super) enum Features {
    /// `[batch, channels, 8, 8]`, from a residual tower.
    Planes(Node, usize),
    /// `[batch * 64, channels]`, from an attention body.
    Squares(Node, usize),
}

impl Features {
    /// The planes of a residual tower: only the attention policy reads off an attention body.
    fn planes(&self) -> Result<(&Node, usize), LoadError> {
        match self {
            Features::Planes(x, channels) => Ok((x, *channels)),
            Features::Squares(..) => {
                Err(refuse(LoadErrorKind::Unsupported, "unsupported convolution after an attention body"))
            }
        }
    }
}

/// A value or moves-left head: a vector per square, from a 1x1 convolution or a dense layer, and two dense layers.
struct BoardHead {
    prefix: &'static str,
    /// Names of the convolution, the dense layer per square, and the two layers after it.
    names: [&'static str; 4],
    conv: Option<ConvBlock>,
    embedding: (Option<Layer>, Option<Layer>),
    first: (Option<Layer>, Option<Layer>),
    second: (Option<Layer>, Option<Layer>),
}

impl Builder {
    fn residual_tower(&mut self, planes: &Node, weights: &mut Weights) -> Result<Features, LoadError> {
        let input = Conv::read(weights.input.take(), "input", INPUT_PLANES, 3, Outputs::AsStored)?;
        let channels = input.outputs();
        let mut x = self.convolve(planes, "input", &input);
        x = self.activate(&x);
        for (index, block) in std::mem::take(&mut weights.residual).into_iter().enumerate() {
            x = self.residual_block(&x, channels, &format!("residual.{index}"), block)?;
        }
        Ok(Features::Planes(x, channels))
    }

    fn residual_block(
        &mut self,
        x: &Node,
        channels: usize,
        name: &str,
        block: Residual,
    ) -> Result<Node, LoadError> {
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

    fn classical_policy(&mut self, x: &Features, head: PolicyHead, prefix: &str) -> Result<Node, LoadError> {
        let (x, channels) = x.planes()?;
        let conv_name = format!("{prefix}policy");
        let conv = Conv::read(head.policy, &conv_name, channels, 1, Outputs::AsStored)?;
        let (inputs, outputs) = (conv.outputs() * SQUARES, Outputs::Exactly(MOVES));
        let dense = Dense::named(&format!("{prefix}ip_pol"), head.ip_pol_w, head.ip_pol_b, inputs, outputs)?;
        let y = self.convolve(x, "policy", &conv);
        let y = self.activate(&y);
        let y = self.flatten(&y);
        Ok(self.dense(&y, "ip_pol", &dense))
    }

    fn convolution_policy(
        &mut self,
        x: &Features,
        head: PolicyHead,
        prefix: &str,
    ) -> Result<Node, LoadError> {
        let (x, channels) = x.planes()?;
        let first = Conv::read(head.policy1, &format!("{prefix}policy1"), channels, 3, Outputs::AsStored)?;
        let planes = Outputs::AtLeast(policy_planes::USED_PLANES);
        let second = Conv::read(head.policy, &format!("{prefix}policy"), first.outputs(), 3, planes)?;
        let y = self.convolve(x, "policy1", &first);
        let y = self.activate(&y);
        let y = self.convolve(&y, "policy", &second);
        let y = self.flatten(&y);
        let elements = self.graph.ints("policy.elements", &[MOVES], &policy_planes::elements()?);
        Ok(self.graph.op("Gather", &[&y, &elements], &[("axis", Attribute::Int(1))]))
    }

    fn board_head(&mut self, x: &Features, head: BoardHead, outputs: usize) -> Result<Node, LoadError> {
        let [conv_name, embedding_name, first_name, second_name] =
            head.names.map(|name| format!("{}{name}", head.prefix));
        let (y, inputs) = match x {
            Features::Planes(x, channels) => {
                let conv = Conv::read(head.conv, &conv_name, *channels, 1, Outputs::AsStored)?;
                let y = self.convolve(x, &conv_name, &conv);
                let y = self.activate(&y);
                (self.flatten(&y), conv.outputs() * SQUARES)
            }
            Features::Squares(x, width) => {
                let (w, b) = head.embedding;
                let embedding = Dense::named(&embedding_name, w, b, *width, Outputs::AsStored)?;
                let y = self.linear(x, &embedding_name, &embedding);
                let y = self.activate(&y);
                let inputs = embedding.outputs() * SQUARES;
                (self.reshape(&y, &[inputs]), inputs)
            }
        };
        let (w, b) = head.first;
        let first = Dense::named(&first_name, w, b, inputs, Outputs::AsStored)?;
        let (w, b) = head.second;
        let second = Dense::named(&second_name, w, b, first.outputs(), Outputs::Exactly(outputs))?;
        let y = self.dense(&y, &format!("{conv_name}.first"), &first);
        let y = self.activate(&y);
        Ok(self.dense(&y, &format!("{conv_name}.second"), &second))
    }

    /// The vectors of the squares, `[batch * 64, channels]`.
    pub(super) fn squares_of(&mut self, x: &Features) -> (Node, usize) {
        match x {
            Features::Planes(x, channels) => {
                let x = self.transpose(x, &[0, 2, 3, 1]);
                (self.reshape(&x, &[*channels]), *channels)
            }
            Features::Squares(x, width) => (x.clone(), *width),
        }
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

    /// A dense layer over the last dimension. The weights of a MatMul are packed once, those of a Gemm in each run.
    pub(super) fn linear(&mut self, x: &Node, name: &str, dense: &Dense) -> Node {
        let weights = self.factor(name, dense.inputs, dense.outputs(), &dense.weights);
        let y = self.op("MatMul", &[x, &weights]);
        let biases = self.graph.weight(&format!("{name}.biases"), &[dense.outputs()], &dense.biases);
        self.op("Add", &[&y, &biases])
    }

    pub(super) fn project(&mut self, x: &Node, name: &str, matrix: &Matrix) -> Node {
        let weights = self.factor(name, matrix.inputs, matrix.outputs, &matrix.weights);
        self.op("MatMul", &[x, &weights])
    }

    /// The weights `[outputs, inputs]` of a layer, as the second factor of a MatMul.
    pub(super) fn factor(&mut self, name: &str, inputs: usize, outputs: usize, weights: &[f32]) -> Node {
        self.graph.weight(&format!("{name}.weights"), &[inputs, outputs], &transposed(weights, inputs))
    }

    pub(super) fn norm(&mut self, x: &Node, name: &str, norm: &Norm, epsilon: f32) -> Node {
        let width = [norm.gammas.len()];
        let gammas = self.graph.weight(&format!("{name}.gammas"), &width, &norm.gammas);
        let betas = self.graph.weight(&format!("{name}.betas"), &width, &norm.betas);
        let attributes = [("axis", Attribute::Int(-1)), ("epsilon", Attribute::Float(epsilon))];
        self.graph.op("LayerNormalization", &[x, &gammas, &betas], &attributes)
    }

    /// Any number of rows of `shape`.
    pub(super) fn reshape(&mut self, x: &Node, shape: &[usize]) -> Node {
        let whole: Vec<i64> = std::iter::once(-1).chain(shape.iter().map(|&d| d as i64)).collect();
        let shape = self.graph.ints(&format!("shape{whole:?}"), &[whole.len()], &whole);
        self.op("Reshape", &[x, &shape])
    }

    pub(super) fn transpose(&mut self, x: &Node, order: &[i64]) -> Node {
        self.graph.op("Transpose", &[x], &[("perm", Attribute::Ints(order.to_vec()))])
    }

    pub(super) fn slice(&mut self, x: &Node, axis: i64, from: i64, to: i64) -> Node {
        let [from, to, axis] = [from, to, axis].map(|n| self.graph.ints(&format!("int[{n}]"), &[1], &[n]));
        self.op("Slice", &[x, &from, &to, &axis])
    }

    pub(super) fn concat(&mut self, parts: &[&Node], axis: i64) -> Node {
        self.graph.op("Concat", parts, &[("axis", Attribute::Int(axis))])
    }

    pub(super) fn softmax(&mut self, x: &Node) -> Node {
        self.graph.op("Softmax", &[x], &[("axis", Attribute::Int(-1))])
    }

    pub(super) fn op(&mut self, op: &str, inputs: &[&Node]) -> Node {
        self.graph.op(op, inputs, &[])
    }

    fn flatten(&mut self, x: &Node) -> Node {
        self.graph.op("Flatten", &[x], &[("axis", Attribute::Int(1))])
    }

    fn activate(&mut self, x: &Node) -> Node {
        self.activate_by(x, self.activation)
    }

    pub(super) fn activate_by(&mut self, x: &Node, activation: Activation) -> Node {
        match activation {
            Activation::Identity => x.clone(),
            Activation::Relu => self.op("Relu", &[x]),
            Activation::Tanh => self.op("Tanh", &[x]),
            Activation::Sigmoid => self.op("Sigmoid", &[x]),
            Activation::Mish => {
                let gate = self.op("Softplus", &[x]);
                let gate = self.op("Tanh", &[&gate]);
                self.op("Mul", &[x, &gate])
            }
            Activation::Swish => {
                let gate = self.op("Sigmoid", &[x]);
                self.op("Mul", &[x, &gate])
            }
            Activation::SquaredRelu => {
                let y = self.op("Relu", &[x]);
                self.op("Mul", &[&y, &y])
            }
            // The runtime has no SELU.
            Activation::Selu => {
                let y = self.graph.op("Elu", &[x], &[("alpha", Attribute::Float(SELU_ALPHA))]);
                let scale = self.graph.weight("selu.scale", &[], &[SELU_SCALE]);
                self.op("Mul", &[&y, &scale])
            }
        }
    }
}
