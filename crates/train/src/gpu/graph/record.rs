//! A network as a list of operations with shapes: what recording it gives, and what it is planned from.

use super::super::layout::{Factor, Group};
use tabia_gpu::Order;
use tabia_nets::Heads;
use tabia_nets::attention::Attention;

/// A place in the list of operations.
pub(super) type Id = usize;

/// What follows a layer, numbered as the kernels number it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Activation {
    None = 0,
    Relu = 1,
    ClippedRelu = 2,
    Silu = 3,
    Gelu = 4,
}

/// Elements of one value copied to places of another, in every example.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) from: Id,
    /// Where they go and where they come from.
    pub(super) to_places: Vec<u32>,
    pub(super) from_places: Vec<u32>,
}

/// `y = activation(x W^T + bias) + add`, on rows.
#[derive(Clone, Debug)]
pub(super) struct Dense {
    pub(super) x: Id,
    /// Rows an example.
    pub(super) rows: usize,
    /// Elements of a row, padding included.
    pub(super) inputs: usize,
    pub(super) outputs: usize,
    pub(super) weight: String,
    pub(super) bias: Option<String>,
    pub(super) activation: Activation,
    pub(super) add: Option<Id>,
}

/// One side of a product of matrices: how it is stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrix {
    pub(super) of: Id,
    pub(super) order: Order,
    pub(super) stride: usize,
    /// Elements from one matrix to the next.
    pub(super) step: usize,
}

/// One operation. Sizes of rows include padding; the padding of every value is zero.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// An input of numbers, rows of `width`.
    Numbers {
        input: usize,
        width: usize,
    },
    /// Table indices at some places of an input.
    Ids {
        input: usize,
        places: Vec<u32>,
    },
    /// A parameter as it is.
    Parameter {
        name: String,
    },
    /// Elements of a parameter, by index.
    Chosen {
        of: Id,
        indices: Vec<u32>,
    },
    /// Copies of parts of other values.
    Gather(Vec<Part>),
    /// A one in a row of zeros for each id.
    OneHot {
        ids: Id,
        classes: usize,
    },
    /// The neighbourhood of every square: `kernel^2` rows of channels.
    Patches {
        x: Id,
        height: usize,
        width: usize,
        channels: usize,
        kernel: usize,
    },
    Dense(Dense),
    /// Rows over their root mean square, times a gain; `count` elements of a row mean something.
    Norm {
        x: Id,
        rows: usize,
        width: usize,
        count: usize,
        gain: String,
        eps: f32,
    },
    Add {
        a: Id,
        b: Id,
    },
    /// A parameter, or elements chosen from one, added to every example.
    AddParameter {
        x: Id,
        parameter: Id,
    },
    Mul {
        a: Id,
        b: Id,
    },
    /// `activation(gate) * up`.
    Gated {
        gate: Id,
        up: Id,
        activation: Activation,
    },
    Scale {
        x: Id,
        factor: f32,
    },
    Activate {
        x: Id,
        activation: Activation,
    },
    /// `[m, k]` times `[k, n]`, `count` an example.
    Matmul {
        a: Matrix,
        b: Matrix,
        sizes: [usize; 3],
        stride: usize,
        count: usize,
        scale: f32,
    },
    Softmax {
        x: Id,
        rows: usize,
        width: usize,
        count: usize,
    },
    /// The mean of all rows.
    Mean {
        x: Id,
        rows: usize,
        width: usize,
    },
    /// The sum of the first `count` elements.
    Sum {
        x: Id,
        count: usize,
    },
    /// The row of a table at a whole number.
    LookUp {
        x: Id,
        table: Vec<f32>,
        width: usize,
    },
    /// Attention by its own kernels.
    Attend {
        qkv: Id,
        gains: String,
        /// A parameter, or elements chosen from one.
        bias: Option<Id>,
        attention: Attention,
    },
}

/// An operation and what it gives.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) op: Op,
    /// Elements an example, padding included.
    pub(super) row: usize,
    /// Whether a parameter has an influence on it.
    pub(super) learned: Learned,
}

/// Whether a value depends on parameters, and so has a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learned {
    No,
    Yes,
}

/// A head of the network: rows of `stride`, of which `width` elements mean something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) of: Id,
    pub(super) rows: usize,
    pub(super) stride: usize,
    pub(super) width: usize,
}

/// A recorded network.
pub(super) struct Record {
    pub(super) nodes: Vec<Node>,
    pub(super) heads: Heads<Head>,
    pub(super) groups: Vec<Group>,
    /// The attention of all its blocks, where it has any.
    pub(super) attention: Option<Attention>,
}

impl Op {
    /// The parameter, or what was chosen of one, that every example meets in the same way.
    pub(super) fn shared_input(&self) -> Option<Id> {
        match self {
            Op::AddParameter { parameter, .. } => Some(*parameter),
            Op::Attend { bias, .. } => *bias,
            _ => None,
        }
    }

    /// The values it reads, parameters included.
    pub(super) fn inputs(&self) -> Vec<Id> {
        match self {
            Op::Numbers { .. } | Op::Ids { .. } | Op::Parameter { .. } => Vec::new(),
            Op::Chosen { of, .. } => vec![*of],
            Op::Gather(parts) => parts.iter().map(|part| part.from).collect(),
            Op::OneHot { ids, .. } => vec![*ids],
            Op::Dense(dense) => [dense.x].into_iter().chain(dense.add).collect(),
            Op::Add { a, b } | Op::Mul { a, b } => vec![*a, *b],
            Op::Gated { gate, up, .. } => vec![*gate, *up],
            Op::AddParameter { x, parameter } => vec![*x, *parameter],
            Op::Matmul { a, b, .. } => vec![a.of, b.of],
            Op::Patches { x, .. }
            | Op::Norm { x, .. }
            | Op::Scale { x, .. }
            | Op::Activate { x, .. }
            | Op::Softmax { x, .. }
            | Op::Mean { x, .. }
            | Op::Sum { x, .. }
            | Op::LookUp { x, .. } => vec![*x],
            Op::Attend { qkv, bias, .. } => [*qkv].into_iter().chain(*bias).collect(),
        }
    }

    /// The parameters whose gradients it adds to, by group; those that are values of their own are not among them.
    pub(super) fn parameters(&self) -> Vec<&str> {
        match self {
            Op::Dense(dense) => {
                [Some(&dense.weight), dense.bias.as_ref()].into_iter().flatten().map(String::as_str).collect()
            }
            Op::Norm { gain, .. } => vec![gain],
            Op::Attend { gains, .. } => vec![gains],
            _ => Vec::new(),
        }
    }
}

/// A parameter in rows: the first dimension, then what `columns` say of the rest.
pub(super) fn by_rows(rows: usize, width: usize, columns: &[Factor]) -> Vec<Factor> {
    [Factor { size: rows, stride: width }].into_iter().chain(columns.iter().copied()).collect()
}
