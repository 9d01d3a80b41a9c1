//! The operations that networks are written in.

use crate::attention::Attention;
use crate::{ParameterTable, relative_bias};

/// A backend that a network can be lowered to: tensors that compute, a graph to export, a record to plan GPU work from.
///
/// The first dimension of every value is the batch. Parameters are named as in [`ParameterTable`].
pub trait Layers: Sized {
    /// A value inside the network.
    type Value: Clone;
    /// Why an operation failed.
    type Error;

    /// An error of the backend's type.
    fn error(message: String) -> Self::Error;

    /// The parameters and buffers there are. A file may lack optional ones of its architecture.
    fn table(&self) -> &ParameterTable;

    /// Whether there is a parameter `name`.
    fn has(&self, name: &str) -> bool {
        self.table().get(name).is_some()
    }

    /// Input `index` of the encoding, in its own shape.
    fn input(&mut self, index: usize) -> Result<Self::Value, Self::Error>;

    /// A parameter, without a batch dimension.
    fn parameter(&mut self, name: &str) -> Result<Self::Value, Self::Error>;

    /// Rows of the embedding table `name` at the ids `ids`; adds a dimension to `ids`.
    fn embed(&mut self, name: &str, ids: &Self::Value) -> Result<Self::Value, Self::Error>;

    /// `x W^T + b` on rows: `{layer}.weight [out, in]` and, if there is one, `{layer}.bias [out]`.
    fn linear(&mut self, x: &Self::Value, layer: &str) -> Result<Self::Value, Self::Error> {
        let bias = format!("{layer}.bias");
        let bias = self.has(&bias).then_some(bias);
        self.linear_of(x, &format!("{layer}.weight"), bias.as_deref())
    }

    /// [`linear`](Layers::linear) with parameters of any name.
    fn linear_of(
        &mut self,
        x: &Self::Value,
        weight: &str,
        bias: Option<&str>,
    ) -> Result<Self::Value, Self::Error>;

    /// `x W^T` over the last dimension, without bias.
    fn project(&mut self, x: &Self::Value, weight: &str) -> Result<Self::Value, Self::Error>;

    /// A convolution with a square kernel and padding "same": `{layer}.weight [out, in, k, k]`, `{layer}.bias [out]`.
    fn conv(&mut self, x: &Self::Value, layer: &str) -> Result<Self::Value, Self::Error>;

    /// `x / sqrt(mean(x^2) + eps) * weight` over the last dimension.
    fn rms_norm(&mut self, x: &Self::Value, weight: &str, eps: f32) -> Result<Self::Value, Self::Error>;

    /// LayerNorm over the last dimension with `{layer}.weight` and `{layer}.bias`. No network that can be trained has one.
    fn layer_norm(&mut self, x: &Self::Value, layer: &str, eps: f32) -> Result<Self::Value, Self::Error> {
        let _ = (x, eps);
        Err(Self::error(format!("{layer}: LayerNorm is not supported by this backend")))
    }

    /// Elementwise sum, broadcast.
    fn add(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value, Self::Error>;

    /// Elementwise product, broadcast.
    fn mul(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value, Self::Error>;

    /// Matrix product, one for each leading index.
    fn matmul(&mut self, a: &Self::Value, b: &Self::Value) -> Result<Self::Value, Self::Error>;

    /// `x * factor`.
    fn scale(&mut self, x: &Self::Value, factor: f32) -> Result<Self::Value, Self::Error>;

    /// Another shape; `shape` leaves out the batch.
    fn reshape(&mut self, x: &Self::Value, shape: &[usize]) -> Result<Self::Value, Self::Error>;

    /// Dimensions in another order, the batch (0) included.
    fn permute(&mut self, x: &Self::Value, order: &[usize]) -> Result<Self::Value, Self::Error>;

    /// Elements `from..to` of dimension `axis`.
    fn slice(
        &mut self,
        x: &Self::Value,
        axis: usize,
        from: usize,
        to: usize,
    ) -> Result<Self::Value, Self::Error>;

    /// The elements `indices` of dimension `axis`.
    fn select(&mut self, x: &Self::Value, axis: usize, indices: &[u32]) -> Result<Self::Value, Self::Error>;

    /// Concatenation along `axis`.
    fn concat(&mut self, parts: &[&Self::Value], axis: usize) -> Result<Self::Value, Self::Error>;

    /// Adds the rows of the parameter `name` to the tokens `from..` of `x`, which has `tokens` of them; the others stay.
    fn add_to_tokens(
        &mut self,
        x: &Self::Value,
        name: &str,
        from: usize,
        tokens: usize,
    ) -> Result<Self::Value, Self::Error> {
        let rows = self.parameter(name)?;
        let to = from + self.table().get(name).map_or(0, |entry| entry.shape[0]);
        let before = self.slice(x, 1, 0, from)?;
        let changed = self.slice(x, 1, from, to)?;
        let changed = self.add(&changed, &rows)?;
        let after = self.slice(x, 1, to, tokens)?;
        self.concat(&[&before, &changed, &after], 1)
    }

    /// The mean over dimension `axis`, which is removed.
    fn mean(&mut self, x: &Self::Value, axis: usize) -> Result<Self::Value, Self::Error>;

    /// The sum over dimension `axis`, which is kept with size 1.
    fn sum(&mut self, x: &Self::Value, axis: usize) -> Result<Self::Value, Self::Error>;

    /// Rows of a table of integer constants: `x` is `[batch, 1]` and holds row numbers, the table and the result have `width`
    /// columns. Not differentiated.
    fn look_up(&mut self, x: &Self::Value, table: &[i64], width: usize) -> Result<Self::Value, Self::Error>;

    /// `max(x, 0)`.
    fn relu(&mut self, x: &Self::Value) -> Result<Self::Value, Self::Error>;

    /// `min(max(x, 0), 1)`.
    fn clipped_relu(&mut self, x: &Self::Value) -> Result<Self::Value, Self::Error>;

    /// `x * sigmoid(x)`.
    fn silu(&mut self, x: &Self::Value) -> Result<Self::Value, Self::Error>;

    /// `x * (1 + erf(x / sqrt 2)) / 2`.
    fn gelu(&mut self, x: &Self::Value) -> Result<Self::Value, Self::Error>;

    /// A bias for each pair of squares by their distance, without a batch: `[heads, 64, 64]` from the parameter `name`,
    /// `[heads, TABLE, TABLE]`. From square i to square j it is the table's element at row `7 + rank j - rank i` and column
    /// `7 + file j - file i`.
    fn relative_bias(&mut self, name: &str) -> Result<Self::Value, Self::Error> {
        relative_bias::in_parts(self, name)
    }

    /// Softmax over the last dimension.
    fn softmax(&mut self, x: &Self::Value) -> Result<Self::Value, Self::Error>;

    /// Attention between its two projections: from `[batch, tokens, 3 width]` to `[batch, tokens, width]`, with the
    /// norms `{layer}.{q_norm,k_norm}.weight` and a bias for each head and pair of tokens.
    fn attend(
        &mut self,
        qkv: &Self::Value,
        layer: &str,
        attention: &Attention,
        bias: Option<&Self::Value>,
    ) -> Result<Self::Value, Self::Error> {
        attention.in_parts(self, qkv, layer, bias)
    }
}

/// The outputs of a network, as logits where a softmax or a sigmoid is to follow.
#[derive(Clone, Debug)]
pub struct Heads<V> {
    /// One logit per move.
    pub policy: Option<V>,
    /// Promotion pieces: `[batch, 4]`, or `[batch, 8 files, 4]` where they depend on the file reached.
    pub promotion: Option<V>,
    /// Win, draw, loss.
    pub outcome: Option<V>,
    /// One logit per bin of think time.
    pub think: Option<V>,
    /// One number: `[batch, 1]`.
    pub value: Option<V>,
}

impl<V> Default for Heads<V> {
    fn default() -> Self {
        Heads { policy: None, promotion: None, outcome: None, think: None, value: None }
    }
}

impl<V> Heads<V> {
    /// The same heads with `f` applied to each.
    ///
    /// # Errors
    /// The first that `f` gives.
    pub fn try_map<W, E>(self, mut f: impl FnMut(V) -> Result<W, E>) -> Result<Heads<W>, E> {
        Ok(Heads {
            policy: self.policy.map(&mut f).transpose()?,
            promotion: self.promotion.map(&mut f).transpose()?,
            outcome: self.outcome.map(&mut f).transpose()?,
            think: self.think.map(&mut f).transpose()?,
            value: self.value.map(&mut f).transpose()?,
        })
    }
}
