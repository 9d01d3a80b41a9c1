//! The layers networks are written in. A network is written once, against [`Layers`]; on tensors it computes and can be
//! differentiated, on a graph it is exported.

use candle_core::Result;

use super::attention::Attention;
use super::relative_bias;

/// What a network is made of. The first dimension of every value is the batch.
pub(crate) trait Layers: Sized {
    /// A value on its way through the network.
    type Value: Clone;

    /// Input `index` of the encoding, in its own shape.
    fn input(&mut self, index: usize) -> Result<Self::Value>;

    /// A parameter as it is, without a batch.
    fn parameter(&mut self, name: &str) -> Result<Self::Value>;

    /// Rows of the table `name` at the ids `ids`, one more dimension than `ids`.
    fn embed(&mut self, name: &str, ids: &Self::Value) -> Result<Self::Value>;

    /// `x W^T + b` on rows: `{layer}.weight [out, in]`, `{layer}.bias [out]`.
    fn linear(&mut self, x: &Self::Value, layer: &str) -> Result<Self::Value>;

    /// `x W^T` over the last dimension, without bias; `x` has more dimensions than two.
    fn project(&mut self, x: &Self::Value, weight: &str) -> Result<Self::Value>;

    /// A convolution with a square kernel of odd size and padding "same": `[out, in, k, k]` and a bias.
    fn conv(&mut self, x: &Self::Value, layer: &str) -> Result<Self::Value>;

    /// `x / sqrt(mean(x^2) + eps) * weight` over the last dimension.
    fn rms_norm(&mut self, x: &Self::Value, weight: &str, eps: f32) -> Result<Self::Value>;

    /// The sum, broadcast.
    fn add(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value>;

    /// The product of elements, broadcast.
    fn mul(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value>;

    /// The product of matrices, one for each leading index.
    fn matmul(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value>;

    /// Every element times a number.
    fn scale(&mut self, x: &Self::Value, factor: f32) -> Result<Self::Value>;

    /// Another shape; `shape` leaves out the batch.
    fn reshape(&mut self, x: &Self::Value, shape: &[usize]) -> Result<Self::Value>;

    /// Dimensions in another order, the batch (0) included.
    fn permute(&mut self, x: &Self::Value, order: &[usize]) -> Result<Self::Value>;

    /// Elements `from..to` of dimension `axis`.
    fn slice(&mut self, x: &Self::Value, axis: usize, from: usize, to: usize) -> Result<Self::Value>;

    /// The elements `indices` of dimension `axis`.
    fn select(&mut self, x: &Self::Value, axis: usize, indices: &[u32]) -> Result<Self::Value>;

    /// Parts after each other along `axis`.
    fn concat(&mut self, parts: &[&Self::Value], axis: usize) -> Result<Self::Value>;

    /// The mean over dimension `axis`, which goes away.
    fn mean(&mut self, x: &Self::Value, axis: usize) -> Result<Self::Value>;

    /// The sum over dimension `axis`, which stays with size 1.
    fn sum(&mut self, x: &Self::Value, axis: usize) -> Result<Self::Value>;

    /// The rows of a table of constants at whole numbers: `x` is `[batch, 1]`, the table has `width` columns, and so has
    /// the result. Not differentiated.
    fn look_up(&mut self, x: &Self::Value, table: &[f32], width: usize) -> Result<Self::Value>;

    /// `max(x, 0)`.
    fn relu(&mut self, x: &Self::Value) -> Result<Self::Value>;

    /// `min(max(x, 0), 1)`.
    fn clipped_relu(&mut self, x: &Self::Value) -> Result<Self::Value>;

    /// `x * sigmoid(x)`.
    fn silu(&mut self, x: &Self::Value) -> Result<Self::Value>;

    /// `x * (1 + erf(x / sqrt 2)) / 2`.
    fn gelu(&mut self, x: &Self::Value) -> Result<Self::Value>;

    /// A bias for each pair of squares by their distance, without a batch: `[heads, 64, 64]` from the parameter `name`,
    /// `[heads, TABLE, TABLE]`. From square i to square j it is the table's element at row `7 + rank j - rank i` and column
    /// `7 + file j - file i`.
    fn relative_bias(&mut self, name: &str) -> Result<Self::Value> {
        relative_bias::in_parts(self, name)
    }

    /// A softmax over the last dimension.
    fn softmax(&mut self, x: &Self::Value) -> Result<Self::Value>;

    /// Attention between its two projections: from `[batch, tokens, 3 width]` to `[batch, tokens, width]`, with the
    /// norms `{layer}.{q_norm,k_norm}.weight` and a bias for each head and pair of tokens.
    fn attend(
        &mut self,
        qkv: &Self::Value,
        layer: &str,
        attention: &Attention,
        bias: Option<&Self::Value>,
    ) -> Result<Self::Value> {
        attention.in_parts(self, qkv, layer, bias)
    }
}

/// What a network says, as logits where a softmax or a sigmoid is to follow.
pub(crate) struct Heads<V> {
    /// One logit a move.
    pub(crate) policy: Option<V>,
    /// Promotion pieces: `[batch, 4]`, or `[batch, 8 files, 4]` where they depend on the file reached.
    pub(crate) promotion: Option<V>,
    /// Win, draw, loss.
    pub(crate) outcome: Option<V>,
    /// One logit a bin of think time.
    pub(crate) think: Option<V>,
    /// One number: `[batch, 1]`.
    pub(crate) value: Option<V>,
}

impl<V> Default for Heads<V> {
    fn default() -> Self {
        Heads { policy: None, promotion: None, outcome: None, think: None, value: None }
    }
}
