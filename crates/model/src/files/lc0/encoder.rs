//! Attention bodies: the embedding of the squares and the encoder layers.

use tabia_onnx::build::Node;

use super::build::{Builder, Features, INPUT_PLANES, SQUARES};
use super::format::{Activation, Architecture, Lc0Embedding};
use super::layers::{Dense, Matrix, Norm, Outputs, check_finite, missing, optional, shape, transposed};
use super::messages::{EncoderLayer, Ffn, Layer, Mha, Smolgen, Weights};
use super::refuse;
use crate::{LoadError, LoadErrorKind};

/// The planes of the current position's pieces.
const PIECE_PLANES: usize = 12;
const PAIRS: usize = SQUARES * SQUARES;

/// The layer-norm epsilon of smolgen and of bodies with a dense embedding.
const LARGE_EPSILON: f32 = 1e-3;
/// The layer-norm epsilon of other encoders.
pub(super) const SMALL_EPSILON: f32 = 1e-6;

/// What the encoder layers of a stack have in common.
pub(super) struct Stack {
    pub(super) heads: usize,
    pub(super) ffn_activation: Activation,
    /// None if the layers may not have smolgen.
    pub(super) smolgen: Option<Generator>,
    /// The factor of what a layer adds.
    pub(super) alpha: f32,
    pub(super) epsilon: f32,
}

/// The part of smolgen that all layers share: a matrix to the scores of all pairs of squares.
pub(super) struct Generator {
    activation: Activation,
    weights: Option<Layer>,
    /// The matrix in the graph and its inputs, once a layer uses it.
    matrix: Option<(Node, usize)>,
}

impl Generator {
    pub(super) fn new(weights: Option<Layer>, activation: Activation) -> Self {
        Generator { activation, weights, matrix: None }
    }
}

impl Builder {
    pub(super) fn attention_body(
        &mut self,
        planes: &Node,
        weights: &mut Weights,
        embedding: Lc0Embedding,
        architecture: &Architecture,
    ) -> Result<Features, LoadError> {
        let layers = std::mem::take(&mut weights.encoder);
        if layers.is_empty() {
            return Err(missing("encoder"));
        }
        // DeepNorm.
        let alpha = (2.0 * layers.len() as f32).powf(-0.25);
        let (mut x, width) = match embedding {
            Lc0Embedding::Map => self.map_embedding(planes, weights)?,
            Lc0Embedding::Dense => self.dense_embedding(planes, weights)?,
        };
        x = self.gates(&x, weights, width)?;
        if embedding == Lc0Embedding::Dense {
            let ffn = weights.ip_emb_ffn.take();
            x = self.feed_forward(&x, width, "ip_emb_ffn", ffn, architecture.ffn_activation, alpha)?;
            let (gammas, betas) = (weights.ip_emb_ffn_ln_gammas.take(), weights.ip_emb_ffn_ln_betas.take());
            let norm = Norm::read("ip_emb_ffn_ln", gammas, betas, width)?;
            x = self.norm(&x, "ip_emb_ffn_ln", &norm, LARGE_EPSILON);
        }
        let mut stack = Stack {
            heads: head_count(weights.headcount, "headcount")?,
            ffn_activation: architecture.ffn_activation,
            smolgen: Some(Generator::new(weights.smolgen_w.clone(), architecture.smolgen_activation)),
            alpha,
            epsilon: if embedding == Lc0Embedding::Dense { LARGE_EPSILON } else { SMALL_EPSILON },
        };
        for (index, layer) in layers.into_iter().enumerate() {
            x = self.encoder(&x, width, &format!("encoder.{index}"), layer, &mut stack)?;
        }
        Ok(Features::Squares(x, width))
    }

    /// A dense layer of the planes and the reachable squares. The latter are the same in every position, so their part of the
    /// layer is a bias per square.
    fn map_embedding(&mut self, planes: &Node, weights: &mut Weights) -> Result<(Node, usize), LoadError> {
        const NAME: &str = "ip_emb";
        let inputs = INPUT_PLANES + SQUARES;
        let (w, b) = (weights.ip_emb_w.take(), weights.ip_emb_b.take());
        let dense = Dense::named(NAME, w, b, inputs, Outputs::AsStored)?;
        let width = dense.outputs();
        let mut of_planes = Vec::with_capacity(INPUT_PLANES * width);
        let mut of_squares = vec![0.0; SQUARES * width];
        for (output, row) in dense.weights.chunks_exact(inputs).enumerate() {
            let (planes, reached) = row.split_at(INPUT_PLANES);
            of_planes.extend_from_slice(planes);
            for (square, bias) in of_squares.iter_mut().skip(output).step_by(width).enumerate() {
                let products = reached.iter().enumerate().map(|(to, &weight)| reach(square, to) * weight);
                *bias = dense.biases.get(output).copied().unwrap_or(0.0) + products.sum::<f32>();
            }
        }
        check_finite(&of_squares, NAME, "with the reachable squares added up")?;
        let x = self.transpose(planes, &[0, 2, 3, 1]);
        let x = self.reshape(&x, &[SQUARES, INPUT_PLANES]);
        let matrix = Matrix { weights: of_planes, inputs: INPUT_PLANES, outputs: width };
        let x = self.project(&x, NAME, &matrix);
        let biases = self.graph.weight("ip_emb.biases", &[SQUARES, width], &of_squares);
        let x = self.op("Add", &[&x, &biases]);
        let x = self.activate_by(&x, self.activation);
        Ok((self.reshape(&x, &[width]), width))
    }

    /// A dense layer of the planes and of what another dense layer makes of the current pieces, and a norm.
    fn dense_embedding(&mut self, planes: &Node, weights: &mut Weights) -> Result<(Node, usize), LoadError> {
        let pieces = PIECE_PLANES * SQUARES;
        let (w, b) = (weights.ip_emb_preproc_w.take(), weights.ip_emb_preproc_b.take());
        let first = Dense::named("ip_emb_preproc", w, b, pieces, Outputs::AsStored)?;
        let added = first.outputs() / SQUARES;
        if first.outputs() != added * SQUARES {
            let message = format!("{} numbers (expected a multiple of {SQUARES})", first.outputs());
            return Err(shape("ip_emb_preproc_b", message));
        }
        let inputs = INPUT_PLANES + added;
        let (w, b) = (weights.ip_emb_w.take(), weights.ip_emb_b.take());
        let second = Dense::named("ip_emb", w, b, inputs, Outputs::AsStored)?;
        let width = second.outputs();
        let (gammas, betas) = (weights.ip_emb_ln_gammas.take(), weights.ip_emb_ln_betas.take());
        let norm = Norm::read("ip_emb_ln", gammas, betas, width)?;

        let x = self.transpose(planes, &[0, 2, 3, 1]);
        let x = self.reshape(&x, &[SQUARES, INPUT_PLANES]);
        let y = self.slice(&x, 2, 0, PIECE_PLANES as i64);
        let y = self.reshape(&y, &[pieces]);
        let y = self.linear(&y, "ip_emb_preproc", &first);
        let y = self.reshape(&y, &[SQUARES, added]);
        let x = self.concat(&[&x, &y], 2);
        let x = self.reshape(&x, &[inputs]);
        let x = self.linear(&x, "ip_emb", &second);
        let x = self.activate_by(&x, self.activation);
        Ok((self.norm(&x, "ip_emb_ln", &norm, LARGE_EPSILON), width))
    }

    /// A factor and an addend of every number of every square, if the network has them.
    fn gates(&mut self, x: &Node, weights: &mut Weights, width: usize) -> Result<Node, LoadError> {
        let mut x = x.clone();
        let gates = [
            ("ip_mult_gate", weights.ip_mult_gate.take(), "Mul"),
            ("ip_add_gate", weights.ip_add_gate.take(), "Add"),
        ];
        for (name, layer, op) in gates {
            let Some(numbers) = optional(layer, name, width * SQUARES)? else { continue };
            let gate = self.graph.weight(name, &[SQUARES, width], &transposed(&numbers, SQUARES));
            let squares = self.reshape(&x, &[SQUARES, width]);
            let gated = self.op(op, &[&squares, &gate]);
            x = self.reshape(&gated, &[width]);
        }
        Ok(x)
    }

    /// `x = norm1(x + alpha * attention(x)); x = norm2(x + alpha * feed_forward(x))` on `[batch * 64, width]`.
    pub(super) fn encoder(
        &mut self,
        x: &Node,
        width: usize,
        name: &str,
        layer: EncoderLayer,
        stack: &mut Stack,
    ) -> Result<Node, LoadError> {
        let part = |part: &str| format!("{name}.{part}");
        let norm1 = Norm::read(&part("ln1"), layer.ln1_gammas, layer.ln1_betas, width)?;
        let norm2 = Norm::read(&part("ln2"), layer.ln2_gammas, layer.ln2_betas, width)?;
        let mixed = self.attention(x, width, &part("mha"), layer.mha.unwrap_or_default(), stack)?;
        let x = self.op("Add", &[x, &mixed]);
        let x = self.norm(&x, &part("ln1"), &norm1, stack.epsilon);
        let (activation, alpha) = (stack.ffn_activation, stack.alpha);
        let x = self.feed_forward(&x, width, &part("ffn"), layer.ffn, activation, alpha)?;
        Ok(self.norm(&x, &part("ln2"), &norm2, stack.epsilon))
    }

    /// `alpha * attention(x)`.
    fn attention(
        &mut self,
        x: &Node,
        width: usize,
        name: &str,
        mha: Mha,
        stack: &mut Stack,
    ) -> Result<Node, LoadError> {
        if mha.rpe_q.or(mha.rpe_k).or(mha.rpe_v).is_some() {
            let message = "unsupported relative position encoding (expected smolgen or none)";
            return Err(refuse(LoadErrorKind::Unsupported, message).at_tensor(name));
        }
        let part = |part: &str| format!("{name}.{part}");
        let q = Dense::named(&part("q"), mha.q_w, mha.q_b, width, Outputs::AsStored)?;
        let (heads, inner) = (stack.heads, q.outputs());
        if !inner.is_multiple_of(heads) {
            return Err(shape(&part("q_b"), format!("{heads} heads do not divide a width of {inner}")));
        }
        let same = Outputs::Exactly(inner);
        let k = Dense::named(&part("k"), mha.k_w, mha.k_b, width, same)?;
        let v = Dense::named(&part("v"), mha.v_w, mha.v_b, width, same)?;
        let out = Dense::named(&part("dense"), mha.dense_w, mha.dense_b, inner, Outputs::Exactly(width))?;
        let head = inner / heads;
        // The factors of the scores and of the result are part of the weights.
        let (q, out) = (q.scaled(1.0 / (head as f32).sqrt()), out.scaled(stack.alpha));

        let mut split = |dense: &Dense, letter: &str, order: &[i64]| {
            let y = self.linear(x, &part(letter), dense);
            let y = self.reshape(&y, &[SQUARES, heads, head]);
            self.transpose(&y, order)
        };
        let q = split(&q, "q", &[0, 2, 1, 3]);
        let k = split(&k, "k", &[0, 2, 3, 1]);
        let v = split(&v, "v", &[0, 2, 1, 3]);
        let mut scores = self.op("MatMul", &[&q, &k]);
        if let Some(smolgen) = mha.smolgen {
            let bias = self.smolgen(x, width, &part("smolgen"), smolgen, stack)?;
            scores = self.op("Add", &[&scores, &bias]);
        }
        let weights = self.softmax(&scores);
        let mixed = self.op("MatMul", &[&weights, &v]);
        let mixed = self.transpose(&mixed, &[0, 2, 1, 3]);
        let mixed = self.reshape(&mixed, &[inner]);
        Ok(self.linear(&mixed, &part("dense"), &out))
    }

    /// The bias of the scores that the position generates, `[batch, heads, 64, 64]`.
    fn smolgen(
        &mut self,
        x: &Node,
        width: usize,
        name: &str,
        smolgen: Smolgen,
        stack: &mut Stack,
    ) -> Result<Node, LoadError> {
        let Some(generator) = &mut stack.smolgen else {
            let message = "unsupported smolgen in a residual tower's policy head";
            return Err(refuse(LoadErrorKind::Unsupported, message).at_tensor(name));
        };
        let part = |part: &str| format!("{name}.{part}");
        let compress = Matrix::read(smolgen.compress, &part("compress"), width, Outputs::AsStored)?;
        let inputs = compress.outputs * SQUARES;
        let dense1 =
            Dense::named(&part("dense1"), smolgen.dense1_w, smolgen.dense1_b, inputs, Outputs::AsStored)?;
        let hidden = dense1.outputs();
        let norm1 = Norm::read(&part("ln1"), smolgen.ln1_gammas, smolgen.ln1_betas, hidden)?;
        let dense2 =
            Dense::named(&part("dense2"), smolgen.dense2_w, smolgen.dense2_b, hidden, Outputs::AsStored)?;
        let outputs = dense2.outputs();
        let norm2 = Norm::read(&part("ln2"), smolgen.ln2_gammas, smolgen.ln2_betas, outputs)?;
        let per_head = outputs / stack.heads;
        if outputs != per_head * stack.heads || per_head == 0 {
            let message = format!("{} heads do not divide a width of {outputs}", stack.heads);
            return Err(shape(&part("dense2_b"), message));
        }
        let activation = generator.activation;
        let matrix = self.generator_matrix(generator, per_head)?;

        let y = self.project(x, &part("compress"), &compress);
        let y = self.reshape(&y, &[inputs]);
        let y = self.linear(&y, &part("dense1"), &dense1);
        let y = self.activate_by(&y, activation);
        let y = self.norm(&y, &part("ln1"), &norm1, LARGE_EPSILON);
        let y = self.linear(&y, &part("dense2"), &dense2);
        let y = self.activate_by(&y, activation);
        let y = self.norm(&y, &part("ln2"), &norm2, LARGE_EPSILON);
        let y = self.reshape(&y, &[per_head]);
        let y = self.op("MatMul", &[&y, &matrix]);
        Ok(self.reshape(&y, &[stack.heads, SQUARES, SQUARES]))
    }

    fn generator_matrix(&mut self, generator: &mut Generator, inputs: usize) -> Result<Node, LoadError> {
        const NAME: &str = "smolgen_w";
        let (node, stored) = match generator.matrix.take() {
            Some(matrix) => matrix,
            None => {
                let matrix = Matrix::read(generator.weights.take(), NAME, inputs, Outputs::Exactly(PAIRS))?;
                (self.factor("smolgen", inputs, PAIRS, &matrix.weights), inputs)
            }
        };
        if stored != inputs {
            return Err(shape(NAME, format!("{stored} inputs in one layer and {inputs} in another")));
        }
        generator.matrix = Some((node.clone(), stored));
        Ok(node)
    }

    /// `x + alpha * dense2(activation(dense1(x)))`.
    fn feed_forward(
        &mut self,
        x: &Node,
        width: usize,
        name: &str,
        ffn: Option<Ffn>,
        activation: Activation,
        alpha: f32,
    ) -> Result<Node, LoadError> {
        let ffn = ffn.unwrap_or_default();
        let (name1, name2) = (format!("{name}.dense1"), format!("{name}.dense2"));
        let first = Dense::named(&name1, ffn.dense1_w, ffn.dense1_b, width, Outputs::AsStored)?;
        let outputs = Outputs::Exactly(width);
        let second = Dense::named(&name2, ffn.dense2_w, ffn.dense2_b, first.outputs(), outputs)?;
        let y = self.linear(x, &name1, &first);
        let y = self.activate_by(&y, activation);
        let y = self.linear(&y, &name2, &second.scaled(alpha));
        Ok(self.op("Add", &[x, &y]))
    }
}

/// The number of heads, at least 1.
pub(super) fn head_count(count: Option<u32>, name: &str) -> Result<usize, LoadError> {
    match count {
        None | Some(0) => Err(missing(name)),
        Some(count) => Ok(count as usize),
    }
}

/// 1 if a queen or a knight moves between the squares, -1 for a square and itself.
fn reach(from: usize, to: usize) -> f32 {
    let (files, ranks) = ((from % 8).abs_diff(to % 8), (from / 8).abs_diff(to / 8));
    match (files, ranks) {
        (0, 0) => -1.0,
        _ if files == 0 || ranks == 0 || files == ranks || files * ranks == 2 => 1.0,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reachable_squares_match_the_public_table() {
        let row = |from: usize| (0..SQUARES).map(|to| reach(from, to)).collect::<Vec<_>>();
        let a1 = row(0);
        let (own, reached) = (a1[0], a1.iter().filter(|&&r| r == 1.0).count());
        assert_eq!((own, reached), (-1.0, 23));
        // b3, c2 and h8, but not d3.
        assert_eq!([a1[17], a1[10], a1[63], a1[19]], [1.0, 1.0, 1.0, 0.0]);
        let all: usize = (0..SQUARES).map(|from| row(from).iter().filter(|&&r| r == 1.0).count()).sum();
        assert_eq!(all, 1792);
    }
}
