//! A network as buffers and steps.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tabia_onnx::TensorError;
use tabia_onnx::tensors::{Tensor, TensorMap};

use crate::SPAN;

/// A place in the list of buffers.
pub type Id = usize;

/// The numbers of a network, and what is computed from them.
#[derive(Clone, Debug)]
pub struct Plan {
    /// All buffers.
    pub buffers: Vec<Buffer>,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// The inputs in the order of the encoding.
    pub inputs: Vec<Port>,
    /// The outputs in the order of the network's graph.
    pub outputs: Vec<Port>,
}

/// A buffer of words of 32 bits.
#[derive(Clone, Debug, PartialEq)]
pub enum Buffer {
    /// Weights.
    Constant(Vec<u32>),
    /// So many words for each position of a batch.
    PerPosition(usize),
}

impl Buffer {
    /// Its words, those of one position if each has its own.
    pub fn len(&self) -> usize {
        match self {
            Buffer::Constant(words) => words.len(),
            Buffer::PerPosition(len) => *len,
        }
    }

    /// Whether it has no words.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A buffer that is an input or an output, with its numbers per position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// The buffer.
    pub buffer: Id,
    /// Numbers per position.
    pub width: usize,
}

/// Rows inside a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The buffer.
    pub buffer: Id,
    /// The first number.
    pub first: usize,
    /// Numbers from one row to the next.
    pub stride: usize,
    /// How many rows.
    pub count: usize,
    /// Numbers of a row.
    pub width: usize,
}

impl Rows {
    /// `count` rows of `width` numbers, one after another from the start.
    pub fn all(buffer: Id, count: usize, width: usize) -> Rows {
        Rows { buffer, first: 0, stride: width, count, width }
    }

    /// The rows from `first` on.
    pub fn from(self, first: usize) -> Rows {
        Rows { first: self.first + first * self.stride, count: self.count - first, ..self }
    }

    /// `width` columns from `first` on.
    pub fn columns(self, first: usize, width: usize) -> Rows {
        Rows { first: self.first + first, width, ..self }
    }
}

/// What a product is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Zero.
    Nothing,
    /// Numbers for each row.
    Rows(Id),
    /// One row for all.
    Row(Id),
}

/// A norm of rows with its weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Norm {
    /// `x / sqrt(mean(x^2) + eps) * weight`.
    Rms {
        /// The weights.
        weight: Id,
        /// What is added to the mean square.
        eps: f32,
    },
    /// `(x - mean(x)) / sqrt(variance(x) + eps) * weight + bias`.
    Layer {
        /// The weights.
        weight: Id,
        /// The biases.
        bias: Id,
        /// What is added to the variance.
        eps: f32,
    },
}

/// What happens to queries and keys before they meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scaling {
    /// Both are normalised over a head.
    Norms {
        /// The weights of queries, divided by the square root of the head width.
        queries: Id,
        /// The weights of keys.
        keys: Id,
        /// What is added to the mean square.
        eps: f32,
    },
    /// Queries are multiplied by this.
    Factor(f32),
}

/// A function of each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `x / (1 + e^-x)`.
    Silu,
    /// `x` times the normal distribution function of `x`.
    Gelu,
    /// `silu(x) y` for the halves `x` and `y` of a row.
    SwiGlu,
}

/// A part of an evaluation, done for every position of a batch at once.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `to = first + second` where all rows share `second`, which each position has.
    AddRow {
        /// A constant with all rows.
        first: Id,
        /// The row.
        second: Id,
        /// The rows, as wide as `second`.
        to: Rows,
    },
    /// The vector of a rating `r` for each of two players: `r / most * slope + base`.
    Ratings {
        /// The buffers with the ratings.
        ratings: [Id; 2],
        /// A constant.
        slope: Id,
        /// A constant.
        base: Id,
        /// The reciprocal of the highest rating.
        share: f32,
        /// One vector after the other.
        to: Rows,
    },
    /// Rounds rows to 0..=127, with a minimum and a scale for each [`SPAN`] of a row.
    Quantise {
        /// The rows.
        from: Rows,
        /// Four inputs a word, rows in whole spans.
        words: Id,
        /// The minimum and the scale of each span.
        params: Id,
    },
    /// Rows times a matrix of 8-bit weights.
    Product8 {
        /// Quantised rows.
        words: Id,
        /// Their parameters.
        params: Id,
        /// Inputs of a row.
        inputs: usize,
        /// Four inputs a word: for each word of a row, those of all outputs.
        weights: Id,
        /// The sum of each output's weights, for each span.
        sums: Id,
        /// The scale of each output.
        scales: Id,
        /// What it is added to.
        start: Start,
        /// As wide as there are outputs.
        to: Rows,
    },
    /// Rows times a matrix of floats.
    Product {
        /// The rows.
        from: Rows,
        /// For each input, the weights of all outputs.
        weights: Id,
        /// What it is added to.
        start: Start,
        /// As wide as there are outputs.
        to: Rows,
    },
    /// The norm of `from + shift`.
    Normalise {
        /// The rows.
        from: Rows,
        /// A constant row.
        shift: Option<Id>,
        /// The norm.
        norm: Norm,
        /// As many rows.
        to: Id,
    },
    /// Self-attention: each row of `qkv` has the queries, keys and values of all heads of a token.
    Attend {
        /// The rows.
        qkv: Rows,
        /// Heads.
        heads: usize,
        /// Before the scores.
        scaling: Scaling,
        /// For each head and query, what is added to the score of each key.
        bias: Id,
        /// A third as wide.
        to: Id,
    },
    /// `activation(from + shift)`.
    Activate {
        /// The rows.
        from: Rows,
        /// A constant row.
        shift: Option<Id>,
        /// The function.
        activation: Activation,
        /// As many rows.
        to: Id,
    },
    /// The mean of all rows.
    Mean {
        /// The rows.
        from: Rows,
        /// One row.
        to: Id,
    },
    /// The softmax of one row of at most 32 numbers.
    Softmax {
        /// The row.
        from: Rows,
        /// As wide.
        to: Id,
    },
    /// `from[i] . (to[j] scale)` for all pairs of rows, where the halves of a row are `from` and `to`.
    Pairs {
        /// The rows.
        from: Rows,
        /// The factor.
        scale: f32,
        /// At the start of this buffer.
        to: Id,
    },
    /// After the scores of all pairs of 64 squares: for each origin on the second to last rank, each file reached and each of four
    /// pieces, the score of the step plus `pieces[file][piece] factor`.
    Promotions {
        /// For each file reached, the pieces.
        pieces: Id,
        /// The factor.
        factor: f32,
        /// The buffer with the scores, which the promotions follow.
        to: Id,
    },
}

/// A matrix, in 8 bits or floats.
#[derive(Clone, Copy, Debug)]
pub enum Linear {
    /// In 8 bits: weights, sums and scales.
    Quantised([Id; 3], [usize; 2]),
    /// In floats.
    Floats(Id, [usize; 2]),
}

impl Linear {
    /// Its outputs.
    pub fn outputs(self) -> usize {
        match self {
            Linear::Quantised(_, [_, outputs]) | Linear::Floats(_, [_, outputs]) => outputs,
        }
    }
}

/// A plan as it grows.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) steps: Vec<Step>,
    /// Quantised rows, which each product in 8 bits reads at once: words and parameters.
    scratch: Option<[Id; 2]>,
}

impl Builder {
    pub(crate) fn finish(self, inputs: Vec<Port>, outputs: Vec<Port>) -> Plan {
        Plan { buffers: self.buffers, steps: self.steps, inputs, outputs }
    }

    pub(crate) fn constant(&mut self, numbers: impl IntoIterator<Item = f32>) -> Id {
        self.buffer(Buffer::Constant(numbers.into_iter().map(f32::to_bits).collect()))
    }

    /// Numbers for each position.
    pub(crate) fn numbers(&mut self, len: usize) -> Id {
        self.buffer(Buffer::PerPosition(len))
    }

    /// `count` rows of `width` numbers for each position.
    pub(crate) fn rows(&mut self, count: usize, width: usize) -> Rows {
        Rows::all(self.numbers(count * width), count, width)
    }

    fn buffer(&mut self, buffer: Buffer) -> Id {
        self.buffers.push(buffer);
        self.buffers.len() - 1
    }

    pub(crate) fn step(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// A vector of `len` numbers out of `tensors`.
    pub(crate) fn row(&mut self, tensors: &mut TensorMap, name: &str, len: usize) -> Result<Id, TensorError> {
        Ok(self.constant(tensors.take(name, &[len])?.into_data()))
    }

    /// The same; zeros if there is none.
    pub(crate) fn bias(
        &mut self,
        tensors: &mut TensorMap,
        name: &str,
        len: usize,
    ) -> Result<Id, TensorError> {
        if tensors.contains(name) { self.row(tensors, name, len) } else { Ok(self.constant(vec![0.0; len])) }
    }

    /// The matrices of `tensors`, `[outputs, inputs]` each, stacked. In 8 bits if all of them are.
    pub(crate) fn linear(&mut self, tensors: &[Tensor]) -> Linear {
        let quantised: Option<Vec<_>> = tensors.iter().map(Tensor::quantised).collect();
        let Some(quantised) = quantised else { return self.in_floats(tensors) };
        let sizes = sizes(tensors);
        let [inputs, outputs] = sizes;
        let (mut weights, mut sums) = (vec![0; words(inputs) * outputs], vec![0.0; spans(inputs) * outputs]);
        let mut scales = Vec::with_capacity(outputs);
        let rows = quantised.iter().flat_map(|(weights, _)| weights.chunks_exact(inputs.max(1)));
        for (output, row) in rows.enumerate() {
            for (word, quad) in row.chunks(4).enumerate() {
                let mut bytes = [0; 4];
                for (byte, weight) in bytes.iter_mut().zip(quad) {
                    *byte = weight.cast_unsigned();
                }
                if let Some(to) = weights.get_mut(word * outputs + output) {
                    *to = u32::from_le_bytes(bytes);
                }
            }
            for (span, row) in row.chunks(SPAN).enumerate() {
                let sum: i32 = row.iter().map(|&weight| i32::from(weight)).sum();
                if let Some(to) = sums.get_mut(span * outputs + output) {
                    *to = sum as f32;
                }
            }
        }
        quantised.iter().for_each(|(_, of_rows)| scales.extend_from_slice(of_rows));
        let weights = self.buffer(Buffer::Constant(weights));
        Linear::Quantised([weights, self.constant(sums), self.constant(scales)], sizes)
    }

    /// The same with weights in floats, however they were given.
    pub(crate) fn in_floats(&mut self, tensors: &[Tensor]) -> Linear {
        let sizes = sizes(tensors);
        let [inputs, outputs] = sizes;
        let mut weights = vec![0.0; inputs * outputs];
        let rows = tensors.iter().flat_map(|tensor| tensor.data().chunks_exact(inputs.max(1)));
        for (output, row) in rows.enumerate() {
            for (to, weight) in weights.iter_mut().skip(output).step_by(outputs.max(1)).zip(row) {
                *to = *weight;
            }
        }
        Linear::Floats(self.constant(weights), sizes)
    }

    /// A layer on every row of `from`. Products in 8 bits of the same rows share their quantisation only as one stacked layer.
    pub(crate) fn product(&mut self, from: Rows, linear: Linear, start: Start, to: Rows) {
        match linear {
            Linear::Floats(weights, _) => self.step(Step::Product { from, weights, start, to }),
            Linear::Quantised([weights, sums, scales], [inputs, _]) => {
                let [words, params] = self.quantised(from);
                self.step(Step::Quantise { from, words, params });
                self.step(Step::Product8 { words, params, inputs, weights, sums, scales, start, to });
            }
        }
    }

    /// Buffers that are large enough for the quantised rows.
    fn quantised(&mut self, from: Rows) -> [Id; 2] {
        let [words, params] = match self.scratch {
            Some(scratch) => scratch,
            None => [self.numbers(0), self.numbers(0)],
        };
        self.scratch = Some([words, params]);
        for (id, needed) in
            [(words, from.count * self::words(from.width)), (params, from.count * 2 * spans(from.width))]
        {
            if let Some(Buffer::PerPosition(len)) = self.buffers.get_mut(id) {
                *len = needed.max(*len);
            }
        }
        [words, params]
    }
}

/// Inputs and outputs of stacked matrices.
fn sizes(tensors: &[Tensor]) -> [usize; 2] {
    let size = |tensor: &Tensor, dim: usize| tensor.shape().get(dim).copied().unwrap_or(0);
    [tensors.first().map_or(0, |tensor| size(tensor, 1)), tensors.iter().map(|tensor| size(tensor, 0)).sum()]
}

/// Spans of a row.
pub(crate) fn spans(inputs: usize) -> usize {
    inputs.div_ceil(SPAN)
}

/// Words of a row in whole spans.
pub(crate) fn words(inputs: usize) -> usize {
    spans(inputs) * SPAN / 4
}
