//! Shape inference: one rule per supported operator.
//!
//! Shapes are concrete. A [`Value`] also carries its elements while they are few and known, because exporters compute shapes
//! inside the graph (`Shape`, `Gather`, `Concat`, `Reshape`). Elements are known only where the runtime is certain to compute
//! the same ones: integers that fit 32 bits, and float operations with a single rounding.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod elementwise;
mod layout;
mod linear;
mod reduce;

pub use linear::same_padding;

use super::check::ElementKind;
use super::proto::{AttributeProto, NodeProto};
use super::read::MAX_RANK;
use crate::ErrorKind;

/// Maximum known elements of a [`Value`].
pub(super) const MAX_KNOWN: usize = 1024;

/// A tensor as far as it is known before a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) kind: ElementKind,
    pub(super) shape: Vec<usize>,
    known: Option<Vec<f64>>,
}

impl Value {
    /// A tensor of unknown elements.
    pub(super) fn new(kind: ElementKind, shape: impl Into<Vec<usize>>) -> Self {
        Value { kind, shape: shape.into(), known: None }
    }

    /// The same tensor with its elements, unless there are too many or one is not exact.
    pub(super) fn with(mut self, known: Option<Vec<f64>>) -> Self {
        let kind = self.kind;
        let exact = |v: &f64| match kind {
            ElementKind::Float => v.is_finite(),
            _ => v.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(v),
        };
        self.known = known.filter(|k| k.len() <= MAX_KNOWN && k.iter().all(exact));
        self
    }

    /// The elements, if known.
    fn known(&self) -> Option<&[f64]> {
        self.known.as_deref()
    }

    /// The number of elements.
    pub(super) fn elements(&self) -> u64 {
        elements(&self.shape)
    }

    fn rank(&self) -> usize {
        self.shape.len()
    }
}

/// The product of `shape`, saturating.
pub(super) fn elements(shape: &[usize]) -> u64 {
    shape.iter().fold(1, |product, &dim| product.saturating_mul(dim as u64))
}

/// Why a rule rejects an operator.
#[derive(Debug)]
pub(super) struct RuleError {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
}

impl RuleError {
    fn shape(message: impl Into<String>) -> Self {
        RuleError { kind: ErrorKind::Shape, message: message.into() }
    }

    fn malformed(message: impl Into<String>) -> Self {
        RuleError { kind: ErrorKind::Malformed, message: message.into() }
    }

    fn unsupported(message: impl Into<String>) -> Self {
        RuleError { kind: ErrorKind::Unsupported, message: message.into() }
    }
}

/// The outputs and cost of an operator.
#[derive(Debug)]
pub(super) struct Inferred {
    pub(super) outputs: Vec<Value>,
    pub(super) multiply_adds: u64,
    /// Scratch elements while the operator runs.
    pub(super) scratch: u64,
}

impl From<Value> for Inferred {
    fn from(value: Value) -> Self {
        Inferred { outputs: vec![value], multiply_adds: 0, scratch: 0 }
    }
}

impl From<Vec<Value>> for Inferred {
    fn from(outputs: Vec<Value>) -> Self {
        Inferred { outputs, multiply_adds: 0, scratch: 0 }
    }
}

impl Inferred {
    fn costing(self, multiply_adds: u64) -> Self {
        Inferred { multiply_adds, ..self }
    }

    fn with_scratch(self, scratch: u64) -> Self {
        Inferred { scratch, ..self }
    }
}

type RuleResult = Result<Inferred, RuleError>;

/// Infers an operator's outputs from its inputs.
pub(super) type Rule = fn(&Call<'_>) -> RuleResult;

/// An operator with its inputs.
pub(super) struct Call<'a> {
    pub(super) node: &'a NodeProto,
    pub(super) inputs: Vec<Option<&'a Value>>,
    /// The version of the standard operator set.
    pub(super) opset: i64,
}

impl Call<'_> {
    fn optional(&self, index: usize) -> Option<&Value> {
        self.inputs.get(index).copied().flatten()
    }

    fn input(&self, index: usize) -> Result<&Value, RuleError> {
        self.optional(index).ok_or_else(|| RuleError::malformed(format!("missing input {index}")))
    }

    fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.node.attribute.iter().find(|a| a.name == name)
    }

    fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).and_then(|a| a.i).unwrap_or(default)
    }

    fn ints(&self, name: &str) -> Option<&[i64]> {
        self.attribute(name).map(|a| a.ints.as_slice())
    }

    fn text(&self, name: &str) -> Result<&str, RuleError> {
        let bytes = self.attribute(name).and_then(|a| a.s.as_deref()).unwrap_or_default();
        std::str::from_utf8(bytes)
            .map_err(|_| RuleError::malformed(format!("attribute {name:?} is not text")))
    }

    /// The elements of an input that determines a shape.
    fn numbers(&self, index: usize) -> Result<&[f64], RuleError> {
        let value = self.input(index)?;
        value.known().ok_or_else(|| {
            RuleError::unsupported(format!("output shape depends on the data of input {index}"))
        })
    }

    /// The integers of an input that determines a shape.
    fn integers(&self, index: usize) -> Result<Vec<i64>, RuleError> {
        if self.input(index)?.kind != ElementKind::Int {
            return Err(RuleError::shape(format!("input {index} is not integer")));
        }
        // Known integers fit 32 bits, so the conversion is exact.
        Ok(self.numbers(index)?.iter().map(|&v| v as i64).collect())
    }

    /// Integers that are an attribute in older opsets and an input in newer ones.
    fn ints_or_input(&self, name: &str, index: usize) -> Result<Option<Vec<i64>>, RuleError> {
        match (self.optional(index), self.ints(name)) {
            (Some(_), Some(_)) => {
                Err(RuleError::malformed(format!("{name} given as attribute and as input")))
            }
            (Some(_), None) => self.integers(index).map(Some),
            (None, Some(ints)) => Ok(Some(ints.to_vec())),
            (None, None) => Ok(None),
        }
    }
}

/// Resolves an axis, which counts from the end if negative.
fn axis(axis: i64, rank: usize) -> Result<usize, RuleError> {
    let resolved = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    let resolved = usize::try_from(resolved).ok().filter(|&a| a < rank);
    resolved.ok_or_else(|| RuleError::shape(format!("axis {axis} out of range for rank {rank}")))
}

fn axes(list: &[i64], rank: usize) -> Result<Vec<usize>, RuleError> {
    let mut resolved = Vec::with_capacity(list.len().min(MAX_RANK));
    for &a in list {
        let a = axis(a, rank)?;
        if resolved.contains(&a) {
            return Err(RuleError::shape(format!("duplicate axis {a}")));
        }
        resolved.push(a);
    }
    Ok(resolved)
}

/// Converts a dimension.
fn size(number: i64) -> Result<usize, RuleError> {
    usize::try_from(number).map_err(|_| RuleError::shape(format!("invalid dimension {number}")))
}

/// The broadcast shape of two tensors.
fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>, RuleError> {
    let rank = a.len().max(b.len());
    let padded = |s: &[usize]| {
        let mut p = vec![1; rank - s.len()];
        p.extend_from_slice(s);
        p
    };
    let pairs = padded(a).into_iter().zip(padded(b));
    pairs
        .map(|(x, y)| match (x, y) {
            (1, d) | (d, 1) => Ok(d),
            (x, y) if x == y => Ok(x),
            _ => Err(RuleError::shape(format!("shapes {a:?} and {b:?} do not broadcast"))),
        })
        .collect()
}

/// Checks that `small` broadcasts to exactly `full`.
fn check_broadcasts_to(small: &Value, full: &[usize], what: &str) -> Result<(), RuleError> {
    match broadcast(&small.shape, full) {
        Ok(shape) if shape == full => Ok(()),
        _ => {
            Err(RuleError::shape(format!("{what} of shape {:?} does not broadcast to {full:?}", small.shape)))
        }
    }
}

/// Checks that `value` has exactly `shape`.
fn check_shape(value: &Value, shape: &[usize], what: &str) -> Result<(), RuleError> {
    if value.shape == shape {
        return Ok(());
    }
    Err(RuleError::shape(format!("{what} has shape {:?} (expected {shape:?})", value.shape)))
}

/// The numbers of `value` broadcast_known to `shape`, while they are few.
fn broadcast_known(value: &Value, shape: &[usize]) -> Option<Vec<f64>> {
    let known = value.known()?;
    if elements(shape) > MAX_KNOWN as u64 {
        return None;
    }
    let offset = shape.len().checked_sub(value.rank())?;
    let count = elements(shape) as usize;
    let element = |flat: usize| {
        let (mut rest, mut source, mut stride) = (flat, 0, 1);
        for (i, &dim) in shape.iter().enumerate().rev() {
            let at = rest % dim.max(1);
            rest /= dim.max(1);
            if let Some(&own) = i.checked_sub(offset).and_then(|j| value.shape.get(j)) {
                if own != 1 {
                    source += at * stride;
                }
                stride *= own;
            }
        }
        known.get(source).copied()
    };
    (0..count).map(element).collect()
}

const ONNX: &str = "";
const MICROSOFT: &str = "com.microsoft";

/// The supported operators: domain, names, rule.
#[rustfmt::skip]
const RULES: &[(&str, &str, Rule)] = &[
    (ONNX, "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish Identity \
        IsInf IsNaN LeakyRelu Log Neg Not Reciprocal Relu Round Sigmoid Sign Sin Sinh Softplus Softsign Sqrt \
        Swish Tan Tanh", elementwise::unary),
    (ONNX, "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Mod Mul Or PRelu Pow Sub Xor", elementwise::binary),
    (ONNX, "ArgMax ArgMin", reduce::arg),
    (ONNX, "Attention", linear::attention),
    (ONNX, "AveragePool MaxPool", linear::pool),
    (ONNX, "BatchNormalization InstanceNormalization", elementwise::channel_norm),
    (ONNX, "Cast", elementwise::cast),
    (ONNX, "CastLike", elementwise::cast_like),
    (ONNX, "Clip", elementwise::clip),
    (ONNX, "Concat", layout::concat),
    (ONNX, "ConstantOfShape", layout::constant_of_shape),
    (ONNX, "Conv ConvInteger", linear::conv),
    (ONNX, "ConvTranspose", linear::conv_transpose),
    (ONNX, "CumSum", elementwise::cum_sum),
    (ONNX, "DepthToSpace", layout::depth_to_space),
    (ONNX, "DequantizeLinear", elementwise::dequantize),
    (ONNX, "Dropout", elementwise::dropout),
    (ONNX, "DynamicQuantizeLinear", elementwise::dynamic_quantize),
    (ONNX, "Einsum", linear::einsum),
    (ONNX, "Expand", layout::expand),
    (ONNX, "EyeLike", layout::eye_like),
    (ONNX, "Flatten", layout::flatten),
    (ONNX, "GRU LSTM", linear::recurrent),
    (ONNX, "Gather", layout::gather),
    (ONNX, "GatherElements", layout::gather_elements),
    (ONNX, "GatherND", layout::gather_nd),
    (ONNX, "Gemm", linear::gemm),
    (ONNX, "GlobalAveragePool GlobalMaxPool", reduce::global_pool),
    (ONNX, "LayerNormalization RMSNormalization SimplifiedLayerNormalization", elementwise::layer_norm),
    (ONNX, "LogSoftmax LpNormalization Softmax", elementwise::along_axis),
    (ONNX, "MatMul MatMulInteger", linear::matmul),
    (ONNX, "Max Mean Min Sum", elementwise::variadic),
    (ONNX, "OneHot", layout::one_hot),
    (ONNX, "Pad", layout::pad),
    (ONNX, "QuantizeLinear", elementwise::quantize),
    (ONNX, "Range", layout::range),
    (ONNX, "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum \
        ReduceSumSquare", reduce::reduce),
    (ONNX, "Reshape", layout::reshape),
    (ONNX, "Resize", layout::resize),
    (ONNX, "ScatterElements", layout::scatter_elements),
    (ONNX, "ScatterND", layout::scatter_nd),
    (ONNX, "Shape", layout::shape),
    (ONNX, "Size", layout::size_of),
    (ONNX, "Slice", layout::slice),
    (ONNX, "Split", layout::split),
    (ONNX, "Squeeze", layout::squeeze),
    (ONNX, "Tile", layout::tile),
    (ONNX, "TopK", reduce::top_k),
    (ONNX, "Transpose", layout::transpose),
    (ONNX, "Trilu", elementwise::trilu),
    (ONNX, "Unsqueeze", layout::unsqueeze),
    (ONNX, "Where", elementwise::where_),
    (MICROSOFT, "BiasGelu", elementwise::binary),
    (MICROSOFT, "FastGelu", elementwise::optional_bias),
    (MICROSOFT, "Gelu QuickGelu", elementwise::unary),
    (MICROSOFT, "MultiHeadAttention", linear::multi_head_attention),
    (MICROSOFT, "SkipLayerNormalization SkipSimplifiedLayerNormalization", elementwise::skip_norm),
];

/// The rule for an operator, if it is supported.
pub(super) fn rule(domain: &str, op_type: &str) -> Option<Rule> {
    let domain = if domain == "ai.onnx" { ONNX } else { domain };
    let named = |names: &str| names.split(' ').any(|name| name == op_type);
    RULES.iter().find(|(d, names, _)| *d == domain && named(names)).map(|&(_, _, rule)| rule)
}

/// The names of all supported operators, for messages.
pub(super) fn supported() -> String {
    let names = |&(domain, names, _): &(&'static str, &'static str, Rule)| {
        let prefix = if domain == ONNX { String::new() } else { format!("{domain}/") };
        names.split(' ').map(move |name| format!("{prefix}{name}"))
    };
    let mut all: Vec<String> = RULES.iter().flat_map(names).chain(["Constant".to_owned()]).collect();
    all.sort_unstable();
    all.join(", ")
}
