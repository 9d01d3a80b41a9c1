//! What each operator makes of the shapes it is given: one rule per supported operator.
//!
//! Shapes here are concrete. Besides them a [`Value`] carries its numbers while they are few and known, because
//! exporters compute shapes inside the graph (`Shape`, `Gather`, `Concat`, `Reshape`). Numbers are only called known
//! where the runtime is certain to compute the very same ones: whole numbers that fit 32 bits, and those float
//! operations that round in one way only.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod elementwise;
mod layout;
mod linear;
mod reduce;

pub(crate) use linear::same_padding;

use super::check::ElementKind;
use super::proto::{AttributeProto, NodeProto};
use super::read::MAX_RANK;
use crate::LoadErrorKind;

/// The most numbers a [`Value`] carries.
pub(super) const MAX_KNOWN: usize = 1024;

/// A tensor as far as it is known before anything runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) kind: ElementKind,
    pub(super) shape: Vec<usize>,
    known: Option<Vec<f64>>,
}

impl Value {
    /// A tensor of unknown numbers.
    pub(super) fn new(kind: ElementKind, shape: impl Into<Vec<usize>>) -> Self {
        Value { kind, shape: shape.into(), known: None }
    }

    /// The same tensor with its numbers, unless there are too many or one of them is not exact.
    pub(super) fn with(mut self, known: Option<Vec<f64>>) -> Self {
        let kind = self.kind;
        let exact = |v: &f64| match kind {
            ElementKind::Float => v.is_finite(),
            _ => v.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(v),
        };
        self.known = known.filter(|k| k.len() <= MAX_KNOWN && k.iter().all(exact));
        self
    }

    /// The numbers, if known.
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

/// Why an operator cannot run; its caller knows which operator it is.
#[derive(Debug)]
pub(super) struct RuleError {
    pub(super) kind: LoadErrorKind,
    pub(super) message: String,
}

impl RuleError {
    fn shape(message: impl Into<String>) -> Self {
        RuleError { kind: LoadErrorKind::Shape, message: message.into() }
    }

    fn malformed(message: impl Into<String>) -> Self {
        RuleError { kind: LoadErrorKind::Malformed, message: message.into() }
    }

    fn unsupported(message: impl Into<String>) -> Self {
        RuleError { kind: LoadErrorKind::Unsupported, message: message.into() }
    }
}

/// What an operator gives and costs.
#[derive(Debug)]
pub(super) struct Inferred {
    pub(super) outputs: Vec<Value>,
    pub(super) multiply_adds: u64,
    /// Elements the runtime needs on the side while the operator runs.
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

/// How an operator's outputs follow from its inputs.
pub(super) type Rule = fn(&Call<'_>) -> RuleResult;

/// One operator with the inputs it is given.
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
        self.optional(index).ok_or_else(|| RuleError::malformed(format!("input {index} is missing")))
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

    /// The numbers of an input that decides a shape.
    fn numbers(&self, index: usize) -> Result<&[f64], RuleError> {
        let value = self.input(index)?;
        value.known().ok_or_else(|| {
            RuleError::unsupported(format!(
                "its output shape depends on input {index}, which is only known when running"
            ))
        })
    }

    /// The whole numbers of an input that decides a shape.
    fn integers(&self, index: usize) -> Result<Vec<i64>, RuleError> {
        if self.input(index)?.kind != ElementKind::Int {
            return Err(RuleError::shape(format!("input {index} must hold whole numbers")));
        }
        // Known whole numbers fit 32 bits, so the conversion is exact.
        Ok(self.numbers(index)?.iter().map(|&v| v as i64).collect())
    }

    /// Axes or sizes that older opsets give as an attribute and newer ones as an input.
    fn ints_or_input(&self, name: &str, index: usize) -> Result<Option<Vec<i64>>, RuleError> {
        match (self.optional(index), self.ints(name)) {
            (Some(_), Some(_)) => {
                Err(RuleError::malformed(format!("{name} both as an attribute and as an input")))
            }
            (Some(_), None) => self.integers(index).map(Some),
            (None, Some(ints)) => Ok(Some(ints.to_vec())),
            (None, None) => Ok(None),
        }
    }
}

/// The position an axis means, counted from the end when negative.
fn axis(axis: i64, rank: usize) -> Result<usize, RuleError> {
    let resolved = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    let resolved = usize::try_from(resolved).ok().filter(|&a| a < rank);
    resolved.ok_or_else(|| RuleError::shape(format!("axis {axis} of a tensor with {rank} dimensions")))
}

fn axes(list: &[i64], rank: usize) -> Result<Vec<usize>, RuleError> {
    let mut resolved = Vec::with_capacity(list.len().min(MAX_RANK));
    for &a in list {
        let a = axis(a, rank)?;
        if resolved.contains(&a) {
            return Err(RuleError::shape(format!("axis {a} is named twice")));
        }
        resolved.push(a);
    }
    Ok(resolved)
}

/// A size given as a number.
fn size(number: i64) -> Result<usize, RuleError> {
    usize::try_from(number).map_err(|_| RuleError::shape(format!("size {number}")))
}

/// The shape two tensors have in common when each dimension of 1 may stretch.
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
            _ => Err(RuleError::shape(format!("shapes {a:?} and {b:?} do not go together"))),
        })
        .collect()
}

/// Checks that `small` stretches to exactly `full`.
fn check_broadcasts_to(small: &Value, full: &[usize], what: &str) -> Result<(), RuleError> {
    match broadcast(&small.shape, full) {
        Ok(shape) if shape == full => Ok(()),
        _ => {
            Err(RuleError::shape(format!("{what} has shape {:?}, which does not fit {full:?}", small.shape)))
        }
    }
}

/// Checks that `value` has exactly `shape`.
fn check_shape(value: &Value, shape: &[usize], what: &str) -> Result<(), RuleError> {
    if value.shape == shape {
        return Ok(());
    }
    Err(RuleError::shape(format!("{what} has shape {:?}, it needs {shape:?}", value.shape)))
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

/// Every supported operator: its domain, its name, its rule.
const RULES: &[(&str, &str, Rule)] = &[
    (ONNX, "Abs", elementwise::unary),
    (ONNX, "Acos", elementwise::unary),
    (ONNX, "Acosh", elementwise::unary),
    (ONNX, "Add", elementwise::binary),
    (ONNX, "And", elementwise::binary),
    (ONNX, "ArgMax", reduce::arg),
    (ONNX, "ArgMin", reduce::arg),
    (ONNX, "Asin", elementwise::unary),
    (ONNX, "Asinh", elementwise::unary),
    (ONNX, "Atan", elementwise::unary),
    (ONNX, "Atanh", elementwise::unary),
    (ONNX, "Attention", linear::attention),
    (ONNX, "AveragePool", linear::pool),
    (ONNX, "BatchNormalization", elementwise::channel_norm),
    (ONNX, "Cast", elementwise::cast),
    (ONNX, "CastLike", elementwise::cast_like),
    (ONNX, "Ceil", elementwise::unary),
    (ONNX, "Clip", elementwise::clip),
    (ONNX, "Concat", layout::concat),
    (ONNX, "ConstantOfShape", layout::constant_of_shape),
    (ONNX, "Conv", linear::conv),
    (ONNX, "ConvInteger", linear::conv),
    (ONNX, "ConvTranspose", linear::conv_transpose),
    (ONNX, "Cos", elementwise::unary),
    (ONNX, "Cosh", elementwise::unary),
    (ONNX, "CumSum", elementwise::cum_sum),
    (ONNX, "DepthToSpace", layout::depth_to_space),
    (ONNX, "DequantizeLinear", elementwise::dequantize),
    (ONNX, "Div", elementwise::binary),
    (ONNX, "Dropout", elementwise::dropout),
    (ONNX, "DynamicQuantizeLinear", elementwise::dynamic_quantize),
    (ONNX, "Einsum", linear::einsum),
    (ONNX, "Elu", elementwise::unary),
    (ONNX, "Equal", elementwise::binary),
    (ONNX, "Erf", elementwise::unary),
    (ONNX, "Exp", elementwise::unary),
    (ONNX, "Expand", layout::expand),
    (ONNX, "EyeLike", layout::eye_like),
    (ONNX, "Flatten", layout::flatten),
    (ONNX, "Floor", elementwise::unary),
    (ONNX, "GRU", linear::recurrent),
    (ONNX, "Gather", layout::gather),
    (ONNX, "GatherElements", layout::gather_elements),
    (ONNX, "GatherND", layout::gather_nd),
    (ONNX, "Gelu", elementwise::unary),
    (ONNX, "Gemm", linear::gemm),
    (ONNX, "GlobalAveragePool", reduce::global_pool),
    (ONNX, "GlobalMaxPool", reduce::global_pool),
    (ONNX, "Greater", elementwise::binary),
    (ONNX, "GreaterOrEqual", elementwise::binary),
    (ONNX, "HardSigmoid", elementwise::unary),
    (ONNX, "HardSwish", elementwise::unary),
    (ONNX, "Identity", elementwise::unary),
    (ONNX, "InstanceNormalization", elementwise::channel_norm),
    (ONNX, "IsInf", elementwise::unary),
    (ONNX, "IsNaN", elementwise::unary),
    (ONNX, "LSTM", linear::recurrent),
    (ONNX, "LayerNormalization", elementwise::layer_norm),
    (ONNX, "LeakyRelu", elementwise::unary),
    (ONNX, "Less", elementwise::binary),
    (ONNX, "LessOrEqual", elementwise::binary),
    (ONNX, "Log", elementwise::unary),
    (ONNX, "LogSoftmax", elementwise::along_axis),
    (ONNX, "LpNormalization", elementwise::along_axis),
    (ONNX, "MatMul", linear::matmul),
    (ONNX, "MatMulInteger", linear::matmul),
    (ONNX, "Max", elementwise::variadic),
    (ONNX, "MaxPool", linear::pool),
    (ONNX, "Mean", elementwise::variadic),
    (ONNX, "Min", elementwise::variadic),
    (ONNX, "Mod", elementwise::binary),
    (ONNX, "Mul", elementwise::binary),
    (ONNX, "Neg", elementwise::unary),
    (ONNX, "Not", elementwise::unary),
    (ONNX, "OneHot", layout::one_hot),
    (ONNX, "Or", elementwise::binary),
    (ONNX, "PRelu", elementwise::binary),
    (ONNX, "Pad", layout::pad),
    (ONNX, "Pow", elementwise::binary),
    (ONNX, "QuantizeLinear", elementwise::quantize),
    (ONNX, "RMSNormalization", elementwise::layer_norm),
    (ONNX, "Range", layout::range),
    (ONNX, "Reciprocal", elementwise::unary),
    (ONNX, "ReduceL1", reduce::reduce),
    (ONNX, "ReduceL2", reduce::reduce),
    (ONNX, "ReduceLogSum", reduce::reduce),
    (ONNX, "ReduceLogSumExp", reduce::reduce),
    (ONNX, "ReduceMax", reduce::reduce),
    (ONNX, "ReduceMean", reduce::reduce),
    (ONNX, "ReduceMin", reduce::reduce),
    (ONNX, "ReduceProd", reduce::reduce),
    (ONNX, "ReduceSum", reduce::reduce),
    (ONNX, "ReduceSumSquare", reduce::reduce),
    (ONNX, "Relu", elementwise::unary),
    (ONNX, "Reshape", layout::reshape),
    (ONNX, "Resize", layout::resize),
    (ONNX, "Round", elementwise::unary),
    (ONNX, "ScatterElements", layout::scatter_elements),
    (ONNX, "ScatterND", layout::scatter_nd),
    (ONNX, "Shape", layout::shape),
    (ONNX, "Sigmoid", elementwise::unary),
    (ONNX, "Sign", elementwise::unary),
    (ONNX, "SimplifiedLayerNormalization", elementwise::layer_norm),
    (ONNX, "Sin", elementwise::unary),
    (ONNX, "Sinh", elementwise::unary),
    (ONNX, "Size", layout::size_of),
    (ONNX, "Slice", layout::slice),
    (ONNX, "Softmax", elementwise::along_axis),
    (ONNX, "Softplus", elementwise::unary),
    (ONNX, "Softsign", elementwise::unary),
    (ONNX, "Split", layout::split),
    (ONNX, "Sqrt", elementwise::unary),
    (ONNX, "Squeeze", layout::squeeze),
    (ONNX, "Sub", elementwise::binary),
    (ONNX, "Sum", elementwise::variadic),
    (ONNX, "Swish", elementwise::unary),
    (ONNX, "Tan", elementwise::unary),
    (ONNX, "Tanh", elementwise::unary),
    (ONNX, "Tile", layout::tile),
    (ONNX, "TopK", reduce::top_k),
    (ONNX, "Transpose", layout::transpose),
    (ONNX, "Trilu", elementwise::trilu),
    (ONNX, "Unsqueeze", layout::unsqueeze),
    (ONNX, "Where", elementwise::where_),
    (ONNX, "Xor", elementwise::binary),
    (MICROSOFT, "BiasGelu", elementwise::binary),
    (MICROSOFT, "FastGelu", elementwise::optional_bias),
    (MICROSOFT, "Gelu", elementwise::unary),
    (MICROSOFT, "MultiHeadAttention", linear::multi_head_attention),
    (MICROSOFT, "QuickGelu", elementwise::unary),
    (MICROSOFT, "SkipLayerNormalization", elementwise::skip_norm),
    (MICROSOFT, "SkipSimplifiedLayerNormalization", elementwise::skip_norm),
];

/// The rule for an operator, if it is supported.
pub(super) fn rule(domain: &str, op_type: &str) -> Option<Rule> {
    let domain = if domain == "ai.onnx" { ONNX } else { domain };
    RULES.iter().find(|(d, name, _)| *d == domain && *name == op_type).map(|&(_, _, rule)| rule)
}

/// The names of all supported operators, for people.
pub(super) fn supported() -> String {
    let name = |(domain, name, _): &(&str, &str, Rule)| match *domain {
        ONNX => (*name).to_owned(),
        domain => format!("{domain}/{name}"),
    };
    std::iter::once("Constant".to_owned()).chain(RULES.iter().map(name)).collect::<Vec<_>>().join(", ")
}
