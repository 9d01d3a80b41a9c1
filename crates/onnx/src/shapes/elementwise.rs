//! Elementwise and broadcasting operators.

use super::{
    Call, Inferred, RuleError, RuleResult, Value, axes, axis, broadcast, broadcast_known,
    check_broadcasts_to, check_shape, elements,
};
use crate::check::ElementKind;

/// Whether an operator yields booleans, which run as integers.
fn is_boolean(op_type: &str) -> bool {
    ["And", "Or", "Xor", "Not", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "IsNaN", "IsInf"]
        .contains(&op_type)
}

pub(super) fn unary(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let op_type = call.node.op_type.as_str();
    let kind = if is_boolean(op_type) { ElementKind::Int } else { input.kind };
    let number: Option<fn(f64) -> f64> = match op_type {
        "Identity" => Some(|v| v),
        "Neg" => Some(|v| -v),
        "Abs" => Some(f64::abs),
        "Floor" => Some(f64::floor),
        "Ceil" => Some(f64::ceil),
        "Relu" => Some(|v| v.max(0.0)),
        "Not" => Some(|v| f64::from(v == 0.0)),
        _ => None,
    };
    let known = number.and_then(|f| Some(input.known()?.iter().map(|&v| f(v)).collect()));
    Ok(Value::new(kind, input.shape.clone()).with(known).into())
}

pub(super) fn binary(call: &Call<'_>) -> RuleResult {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let value = pair(call.node.op_type.as_str(), a, b)?;
    let truncates = call.int("fmod", 0) != 0;
    Ok(if truncates { value.with(None).into() } else { Inferred::from(value) })
}

fn pair(op_type: &str, a: &Value, b: &Value) -> Result<Value, RuleError> {
    if a.kind != b.kind && op_type != "Pow" {
        return Err(RuleError::shape(format!("mixed element types {:?} and {:?}", a.kind, b.kind)));
    }
    let shape = broadcast(&a.shape, &b.shape)?;
    if matches!(op_type, "PRelu" | "BiasGelu") {
        check_broadcasts_to(b, &a.shape, "input 1")?;
    }
    let kind = if is_boolean(op_type) { ElementKind::Int } else { a.kind };
    let known = match (broadcast_known(a, &shape), broadcast_known(b, &shape)) {
        (Some(x), Some(y)) => x.iter().zip(&y).map(|(&x, &y)| number(op_type, a.kind, x, y)).collect(),
        _ => None,
    };
    Ok(Value::new(kind, shape).with(known))
}

/// One element of a binary operator, where the runtime is certain to compute the same.
fn number(op_type: &str, kind: ElementKind, x: f64, y: f64) -> Option<f64> {
    let rounded = |v: f64| match kind {
        ElementKind::Float => f64::from(v as f32),
        _ => v,
    };
    let whole = kind == ElementKind::Int;
    Some(match op_type {
        // Sums and products of two 32-bit numbers are exact or rounded once in 64-bit floats.
        "Add" | "Sum" => rounded(x + y),
        "Sub" => rounded(x - y),
        "Mul" => rounded(x * y),
        "Div" if whole && y != 0.0 => (x / y).trunc(),
        "Mod" if whole && y != 0.0 => x - y * (x / y).floor(),
        "Max" => x.max(y),
        "Min" => x.min(y),
        "Equal" => f64::from(x == y),
        "Greater" => f64::from(x > y),
        "GreaterOrEqual" => f64::from(x >= y),
        "Less" => f64::from(x < y),
        "LessOrEqual" => f64::from(x <= y),
        "And" => f64::from(x != 0.0 && y != 0.0),
        "Or" => f64::from(x != 0.0 || y != 0.0),
        "Xor" => f64::from((x != 0.0) != (y != 0.0)),
        _ => return None,
    })
}

pub(super) fn variadic(call: &Call<'_>) -> RuleResult {
    let mut result = call.input(0)?.clone();
    for index in 1..call.inputs.len() {
        result = pair(call.node.op_type.as_str(), &result, call.input(index)?)?;
    }
    if call.node.op_type == "Mean" {
        result = result.with(None);
    }
    Ok(result.into())
}

pub(super) fn where_(call: &Call<'_>) -> RuleResult {
    let (condition, yes, no) = (call.input(0)?, call.input(1)?, call.input(2)?);
    if yes.kind != no.kind {
        return Err(RuleError::shape(format!("mixed element types {:?} and {:?}", yes.kind, no.kind)));
    }
    let shape = broadcast(&broadcast(&condition.shape, &yes.shape)?, &no.shape)?;
    let known =
        match (broadcast_known(condition, &shape), broadcast_known(yes, &shape), broadcast_known(no, &shape))
        {
            (Some(c), Some(y), Some(n)) => {
                let both = y.into_iter().zip(n);
                Some(c.into_iter().zip(both).map(|(c, (y, n))| if c != 0.0 { y } else { n }).collect())
            }
            _ => None,
        };
    Ok(Value::new(yes.kind, shape).with(known).into())
}

pub(super) fn clip(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    for index in 1..call.inputs.len() {
        if let Some(limit) = call.optional(index).filter(|limit| limit.elements() != 1) {
            return Err(RuleError::shape(format!(
                "limit {index} has shape {:?} (expected a scalar)",
                limit.shape
            )));
        }
    }
    Ok(Value::new(input.kind, input.shape.clone()).into())
}

pub(super) fn cast(call: &Call<'_>) -> RuleResult {
    let to = call.int("to", 0);
    let kind = i32::try_from(to).ok().and_then(ElementKind::of);
    let kind = kind.ok_or_else(|| RuleError::unsupported(format!("cast to element type {to}")))?;
    let truth = to == i64::from(crate::proto::data_type::BOOL);
    Ok(converted(call.input(0)?, kind, truth).into())
}

pub(super) fn cast_like(call: &Call<'_>) -> RuleResult {
    let kind = call.input(1)?.kind;
    Ok(converted(call.input(0)?, kind, false).with(None).into())
}

fn converted(input: &Value, kind: ElementKind, truth: bool) -> Value {
    let number = |v: f64| match kind {
        _ if truth => f64::from(v != 0.0),
        ElementKind::Float => f64::from(v as f32),
        _ => v.trunc(),
    };
    let fits = |v: &f64| match kind {
        ElementKind::Uint8 => (0.0..=255.0).contains(v),
        ElementKind::Int8 => (-128.0..=127.0).contains(v),
        _ => true,
    };
    let known = input.known().map(|k| k.iter().map(|&v| number(v)).collect::<Vec<_>>());
    Value::new(kind, input.shape.clone()).with(known.filter(|k| k.iter().all(fits)))
}

/// Operators that work along one axis and keep the shape.
pub(super) fn along_axis(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    // Before opset 13 these flattened everything from the axis on, which is the same only for the last one.
    let flattens = call.opset < 13 && call.node.op_type != "LpNormalization";
    let along = axis(call.int("axis", if flattens { 1 } else { -1 }), input.rank())?;
    if flattens && along + 1 != input.rank() {
        return Err(RuleError::unsupported(format!(
            "axis {along} of {:?} in opset {}",
            input.shape, call.opset
        )));
    }
    Ok(Value::new(input.kind, input.shape.clone()).into())
}

pub(super) fn cum_sum(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let along = call.integers(1)?;
    match along.as_slice() {
        &[along] => axis(along, input.rank())?,
        _ => return Err(RuleError::shape("axis is not a scalar")),
    };
    Ok(Value::new(input.kind, input.shape.clone()).into())
}

pub(super) fn trilu(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    if input.rank() < 2 {
        return Err(RuleError::shape(format!("shape {:?} (expected rank at least 2)", input.shape)));
    }
    if call.optional(1).is_some_and(|k| k.elements() != 1) {
        return Err(RuleError::shape("diagonal is not a scalar"));
    }
    Ok(Value::new(input.kind, input.shape.clone()).into())
}

/// The identity outside training.
pub(super) fn dropout(call: &Call<'_>) -> RuleResult {
    if call.optional(2).is_some() || call.node.output.len() > 1 {
        return Err(RuleError::unsupported("training mode"));
    }
    Ok(call.input(0)?.clone().into())
}

pub(super) fn optional_bias(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    if let Some(bias) = call.optional(1) {
        check_broadcasts_to(bias, &input.shape, "the bias")?;
    }
    Ok(Value::new(input.kind, input.shape.clone()).into())
}

/// Batch and instance normalisation: one scale, bias, mean and variance per channel.
pub(super) fn channel_norm(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let Some(&channels) = input.shape.get(1) else {
        return Err(RuleError::shape(format!("shape {:?} (expected rank at least 2)", input.shape)));
    };
    let parameters = if call.node.op_type == "BatchNormalization" { 4 } else { 2 };
    for index in 1..=parameters {
        check_shape(call.input(index)?, &[channels], &format!("input {index}"))?;
    }
    if call.int("training_mode", 0) != 0 {
        return Err(RuleError::unsupported("training mode"));
    }
    Ok(Value::new(input.kind, input.shape.clone()).into())
}

pub(super) fn layer_norm(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let from = axis(call.int("axis", -1), input.rank())?;
    let (outer, inner) = input.shape.split_at(from);
    for index in 1..call.inputs.len() {
        if let Some(parameter) = call.optional(index) {
            check_broadcasts_to(parameter, inner, &format!("input {index}"))?;
        }
    }
    call.input(1)?;
    let mut rows = outer.to_vec();
    rows.resize(input.rank(), 1);
    let row = Value::new(ElementKind::Float, rows);
    Ok(vec![Value::new(input.kind, input.shape.clone()), row.clone(), row].into())
}

pub(super) fn skip_norm(call: &Call<'_>) -> RuleResult {
    let (input, skip) = (call.input(0)?, call.input(1)?);
    check_shape(skip, &input.shape, "the skip input")?;
    let Some(&width) = input.shape.last() else {
        return Err(RuleError::shape("scalar input"));
    };
    call.input(2)?;
    for index in 2..call.inputs.len() {
        if let Some(parameter) = call.optional(index) {
            check_shape(parameter, &[width], &format!("input {index}"))?;
        }
    }
    let mut rows = input.shape.clone();
    rows.pop();
    rows.push(1);
    let (same, row) = (Value::new(input.kind, input.shape.clone()), Value::new(ElementKind::Float, rows));
    Ok(vec![same.clone(), row.clone(), row, same].into())
}

pub(super) fn dynamic_quantize(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    if input.kind != ElementKind::Float {
        return Err(RuleError::shape("input is not float"));
    }
    let quantised = Value::new(ElementKind::Uint8, input.shape.clone());
    let scale = Value::new(ElementKind::Float, []);
    Ok(vec![quantised, scale, Value::new(ElementKind::Uint8, [])].into())
}

pub(super) fn quantize(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    check_scale(call, input)?;
    let kind = call.optional(2).map_or(ElementKind::Uint8, |zero| zero.kind);
    Ok(Value::new(kind, input.shape.clone()).into())
}

pub(super) fn dequantize(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    check_scale(call, input)?;
    Ok(Value::new(ElementKind::Float, input.shape.clone()).into())
}

/// A scale is per tensor or per axis.
fn check_scale(call: &Call<'_>, input: &Value) -> Result<(), RuleError> {
    let scale = call.input(1)?;
    if let Some(zero) = call.optional(2) {
        check_shape(zero, &scale.shape, "the zero point")?;
    }
    match scale.rank() {
        0 => Ok(()),
        1 if elements(&scale.shape) == 1 && input.rank() == 0 => Ok(()),
        1 => {
            let along = axes(&[call.int("axis", 1)], input.rank())?;
            let size = along.first().and_then(|&a| input.shape.get(a)).copied();
            check_shape(scale, &[size.unwrap_or(1)], "the scale")
        }
        _ => Err(RuleError::unsupported("blockwise scale")),
    }
}
