//! Reductions.

use super::{Call, RuleError, RuleResult, Value, axes, axis, size};
use crate::check::ElementKind;

fn without(shape: &[usize], axes: &[usize], keep: bool) -> Vec<usize> {
    let dims = shape.iter().enumerate();
    dims.filter_map(|(i, &dim)| match axes.contains(&i) {
        false => Some(dim),
        true => keep.then_some(1),
    })
    .collect()
}

pub(super) fn reduce(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let named = call.ints_or_input("axes", 1)?.filter(|list| !list.is_empty());
    let over = match named {
        Some(list) => axes(&list, input.rank())?,
        None if call.int("noop_with_empty_axes", 0) != 0 => return Ok(input.clone().into()),
        None => (0..input.rank()).collect(),
    };
    let keep = call.int("keepdims", 1) != 0;
    let output = Value::new(input.kind, without(&input.shape, &over, keep));
    let whole = input.kind == ElementKind::Int && over.len() == input.rank();
    let known = match (input.known(), call.node.op_type.as_str()) {
        (Some(known), "ReduceProd") if whole => Some(known.iter().product()),
        (Some(known), "ReduceSum") if whole => Some(known.iter().sum()),
        (Some(known), "ReduceMax") if whole => known.iter().copied().reduce(f64::max),
        (Some(known), "ReduceMin") if whole => known.iter().copied().reduce(f64::min),
        _ => None,
    };
    Ok(output.with(known.map(|v| vec![v])).into())
}

pub(super) fn arg(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let along = axis(call.int("axis", 0), input.rank())?;
    let keep = call.int("keepdims", 1) != 0;
    Ok(Value::new(ElementKind::Int, without(&input.shape, &[along], keep)).into())
}

pub(super) fn global_pool(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    if input.rank() < 3 {
        return Err(RuleError::shape(format!("shape {:?} (expected rank at least 3)", input.shape)));
    }
    let over: Vec<usize> = (2..input.rank()).collect();
    Ok(Value::new(input.kind, without(&input.shape, &over, true)).into())
}

pub(super) fn top_k(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let along = axis(call.int("axis", -1), input.rank())?;
    let &[k] = call.integers(1)?.as_slice() else {
        return Err(RuleError::shape("k is not a scalar"));
    };
    let k = size(k)?;
    let mut shape = input.shape.clone();
    match shape.get_mut(along) {
        Some(dim) if k <= *dim => *dim = k,
        _ => return Err(RuleError::shape(format!("k = {k} of {:?}", input.shape))),
    }
    Ok(vec![Value::new(input.kind, shape.clone()), Value::new(ElementKind::Int, shape)].into())
}
