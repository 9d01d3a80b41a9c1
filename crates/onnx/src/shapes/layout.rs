//! Reshaping, indexing and shape operators.

use super::{
    Call, MAX_KNOWN, RuleError, RuleResult, Value, axes, axis, broadcast, broadcast_known, check_shape,
    elements, size,
};
use crate::check::ElementKind;
use crate::read;

pub(super) fn shape(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let rank = input.rank() as i64;
    let clamp = |at: i64| (if at < 0 { at.saturating_add(rank) } else { at }).clamp(0, rank) as usize;
    let (start, end) = (clamp(call.int("start", 0)), clamp(call.int("end", rank)));
    let dims = input.shape.get(start..end.max(start)).unwrap_or_default();
    let known = dims.iter().map(|&d| d as f64).collect();
    Ok(Value::new(ElementKind::Int, [dims.len()]).with(Some(known)).into())
}

pub(super) fn size_of(call: &Call<'_>) -> RuleResult {
    let count = call.input(0)?.elements();
    Ok(Value::new(ElementKind::Int, []).with(Some(vec![count as f64])).into())
}

/// The same elements in another shape.
fn reshaped(input: &Value, shape: Vec<usize>) -> RuleResult {
    if elements(&shape) != input.elements() {
        return Err(RuleError::shape(format!("{:?} cannot become {shape:?}", input.shape)));
    }
    let known = input.known().map(<[f64]>::to_vec);
    Ok(Value::new(input.kind, shape).with(known).into())
}

pub(super) fn reshape(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let wanted = call.integers(1)?;
    let keeps_zero = call.int("allowzero", 0) != 0;
    let mut shape = Vec::with_capacity(wanted.len());
    let mut open = None;
    for (i, &dim) in wanted.iter().enumerate() {
        shape.push(match dim {
            -1 if open.is_some() => return Err(RuleError::shape("more than one -1 in the shape")),
            -1 => {
                open = Some(i);
                1
            }
            0 if !keeps_zero => {
                let same = input.shape.get(i).copied();
                same.ok_or_else(|| RuleError::shape(format!("dimension {i} of {:?} is kept", input.shape)))?
            }
            dim => size(dim)?,
        });
    }
    if let Some(slot) = open.and_then(|i| shape.get_mut(i)) {
        *slot = 0;
        let rest: u64 = shape
            .iter()
            .enumerate()
            .filter(|(i, _)| Some(*i) != open)
            .fold(1, |p, (_, &d)| p.saturating_mul(d as u64));
        if rest == 0 || !input.elements().is_multiple_of(rest) {
            return Err(RuleError::shape(format!("{:?} cannot become {wanted:?}", input.shape)));
        }
        if let Some(slot) = open.and_then(|i| shape.get_mut(i)) {
            *slot = usize::try_from(input.elements() / rest).unwrap_or(usize::MAX);
        }
    }
    reshaped(input, shape)
}

pub(super) fn flatten(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let rank = input.rank();
    let at = match call.int("axis", 1) {
        at if at == rank as i64 => rank,
        at => axis(at, rank)?,
    };
    let (outer, inner) = input.shape.split_at(at);
    let dim = |dims: &[usize]| usize::try_from(elements(dims)).unwrap_or(usize::MAX);
    reshaped(input, vec![dim(outer), dim(inner)])
}

pub(super) fn squeeze(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let named = call.ints_or_input("axes", 1)?;
    let gone = match &named {
        Some(list) => axes(list, input.rank())?,
        None => (0..input.rank()).filter(|&i| input.shape.get(i) == Some(&1)).collect(),
    };
    let kept = input.shape.iter().enumerate().filter(|(i, _)| !gone.contains(i));
    // A dimension other than 1 changes the number of elements and is rejected.
    reshaped(input, kept.map(|(_, &dim)| dim).collect())
}

pub(super) fn unsqueeze(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let list = call.ints_or_input("axes", 1)?.ok_or_else(|| RuleError::malformed("missing axes"))?;
    let rank = input.rank() + list.len();
    let new = axes(&list, rank)?;
    let mut old = input.shape.iter().copied();
    let shape = (0..rank).map(|i| if new.contains(&i) { 1 } else { old.next().unwrap_or(1) });
    reshaped(input, shape.collect())
}

pub(super) fn transpose(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let rank = input.rank();
    let order: Vec<usize> = match call.ints("perm") {
        Some(list) if list.len() == rank => axes(list, rank)?,
        Some(list) => return Err(RuleError::shape(format!("order {list:?} for shape {:?}", input.shape))),
        None => (0..rank).rev().collect(),
    };
    let shape: Vec<usize> = order.iter().filter_map(|&i| input.shape.get(i).copied()).collect();
    let known = input.known().filter(|_| rank < 2).map(<[f64]>::to_vec);
    Ok(Value::new(input.kind, shape).with(known).into())
}

pub(super) fn expand(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let wanted: Vec<usize> = call.integers(1)?.into_iter().map(size).collect::<Result<_, _>>()?;
    let shape = broadcast(&input.shape, &wanted)?;
    let known = broadcast_known(input, &shape);
    Ok(Value::new(input.kind, shape).with(known).into())
}

pub(super) fn tile(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let repeats: Vec<usize> = call.integers(1)?.into_iter().map(size).collect::<Result<_, _>>()?;
    if repeats.len() != input.rank() {
        return Err(RuleError::shape(format!("{} repeats for shape {:?}", repeats.len(), input.shape)));
    }
    let shape: Vec<usize> = input.shape.iter().zip(&repeats).map(|(d, r)| d.saturating_mul(*r)).collect();
    Ok(Value::new(input.kind, shape).into())
}

pub(super) fn concat(call: &Call<'_>) -> RuleResult {
    let first = call.input(0)?;
    let along = axis(call.int("axis", 0), first.rank())?;
    let mut shape = first.shape.clone();
    let mut total = 0usize;
    let mut known = Some(Vec::new());
    for index in 0..call.inputs.len() {
        let input = call.input(index)?;
        let same = input.kind == first.kind && input.rank() == first.rank();
        let mut dims = input.shape.iter().zip(&first.shape).enumerate();
        if !same || dims.any(|(i, (a, b))| i != along && a != b) {
            return Err(RuleError::shape(format!(
                "cannot concatenate {:?} and {:?}",
                first.shape, input.shape
            )));
        }
        total = total.saturating_add(input.shape.get(along).copied().unwrap_or(0));
        known = match (known, input.known()) {
            (Some(mut list), Some(more)) if first.rank() == 1 && list.len() <= MAX_KNOWN => {
                list.extend_from_slice(more);
                Some(list)
            }
            _ => None,
        };
    }
    if let Some(dim) = shape.get_mut(along) {
        *dim = total;
    }
    Ok(Value::new(first.kind, shape).with(known).into())
}

pub(super) fn split(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let along = axis(call.int("axis", 0), input.rank())?;
    let total = input.shape.get(along).copied().unwrap_or(0);
    let sizes: Vec<usize> = match call.ints_or_input("split", 1)? {
        Some(list) => list.into_iter().map(size).collect::<Result<_, _>>()?,
        None => {
            let parts = call.node.output.len();
            if call.int("num_outputs", parts as i64) != parts as i64 || parts == 0 {
                return Err(RuleError::malformed("num_outputs does not match the outputs"));
            }
            let part = total.div_ceil(parts);
            (0..parts).map(|i| part.min(total.saturating_sub(i * part))).collect()
        }
    };
    let sum = sizes.iter().fold(0usize, |sum, &s| sum.saturating_add(s));
    if sum != total || sizes.len() < call.node.output.len() {
        return Err(RuleError::shape(format!("{:?} in parts of {sizes:?}", input.shape)));
    }
    let mut at = 0;
    let mut outputs = Vec::with_capacity(sizes.len());
    for part in sizes {
        let mut shape = input.shape.clone();
        if let Some(dim) = shape.get_mut(along) {
            *dim = part;
        }
        let known = input.known().filter(|_| input.rank() == 1).and_then(|k| k.get(at..at + part));
        outputs.push(Value::new(input.kind, shape).with(known.map(<[f64]>::to_vec)));
        at += part;
    }
    Ok(outputs.into())
}

pub(super) fn slice(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let missing = || RuleError::malformed("missing starts or ends");
    let starts = call.ints_or_input("starts", 1)?.ok_or_else(missing)?;
    let ends = call.ints_or_input("ends", 2)?.ok_or_else(missing)?;
    let count = starts.len();
    let along = match call.ints_or_input("axes", 3)? {
        Some(list) => axes(&list, input.rank())?,
        None if count <= input.rank() => (0..count).collect(),
        None => return Err(RuleError::shape(format!("{count} ranges for shape {:?}", input.shape))),
    };
    let steps = match call.optional(4) {
        Some(_) => call.integers(4)?,
        None => vec![1; count],
    };
    if ends.len() != count || along.len() != count || steps.len() != count {
        return Err(RuleError::malformed("starts, ends, axes and steps of different lengths"));
    }
    let mut shape = input.shape.clone();
    let mut known = input.known().filter(|_| input.rank() == 1).map(<[f64]>::to_vec);
    for (((&start, &end), &along), &step) in starts.iter().zip(&ends).zip(&along).zip(&steps) {
        let Some(dim) = shape.get_mut(along) else { continue };
        if step == 0 {
            return Err(RuleError::shape("step 0"));
        }
        let len = *dim as i64;
        let from_end = |at: i64| if at < 0 { at.saturating_add(len) } else { at };
        let (lowest, highest) = if step > 0 { (0, len) } else { (-1, len - 1) };
        let first = from_end(start).clamp(lowest.max(0), highest);
        let last = if step < 0 && end < -len { -1 } else { from_end(end).clamp(lowest, highest) };
        let span = if step > 0 { last - first } else { first - last };
        let taken = usize::try_from(span.max(0)).unwrap_or(0).div_ceil(step.unsigned_abs() as usize);
        *dim = taken;
        known = known.and_then(|k| {
            (0..taken as i64)
                .map(|i| usize::try_from(first + i * step).ok().and_then(|at| k.get(at).copied()))
                .collect()
        });
    }
    Ok(Value::new(input.kind, shape).with(known).into())
}

pub(super) fn gather(call: &Call<'_>) -> RuleResult {
    let (data, indices) = (call.input(0)?, call.input(1)?);
    check_integers(indices)?;
    let along = axis(call.int("axis", 0), data.rank())?;
    let (before, rest) = data.shape.split_at(along);
    let (dim, after) = rest.split_first().map_or((0, rest), |(&dim, after)| (dim, after));
    let mut shape = before.to_vec();
    shape.extend_from_slice(&indices.shape);
    shape.extend_from_slice(after);
    let mut known = None;
    if let Some(list) = indices.known() {
        let resolved: Option<Vec<usize>> = list
            .iter()
            .map(|&i| {
                usize::try_from(if i < 0.0 { i as i64 + dim as i64 } else { i as i64 })
                    .ok()
                    .filter(|&i| i < dim)
            })
            .collect();
        let resolved = resolved
            .ok_or_else(|| RuleError::shape(format!("index out of range for axis {along} of size {dim}")))?;
        if data.rank() == 1 {
            known = data.known().and_then(|k| resolved.iter().map(|&i| k.get(i).copied()).collect());
        }
    }
    Ok(Value::new(data.kind, shape).with(known).into())
}

pub(super) fn gather_elements(call: &Call<'_>) -> RuleResult {
    let (data, indices) = (call.input(0)?, call.input(1)?);
    let along = axis(call.int("axis", 0), data.rank())?;
    check_element_indices(data, indices, along)?;
    Ok(Value::new(data.kind, indices.shape.clone()).into())
}

pub(super) fn scatter_elements(call: &Call<'_>) -> RuleResult {
    let (data, indices, updates) = (call.input(0)?, call.input(1)?, call.input(2)?);
    let along = axis(call.int("axis", 0), data.rank())?;
    check_element_indices(data, indices, along)?;
    check_shape(updates, &indices.shape, "the updates")?;
    Ok(Value::new(data.kind, data.shape.clone()).into())
}

fn check_integers(indices: &Value) -> Result<(), RuleError> {
    match indices.kind {
        ElementKind::Int => Ok(()),
        other => Err(RuleError::shape(format!("indices of type {other:?}"))),
    }
}

/// Checks that `indices` name elements of `data` one for one.
fn check_element_indices(data: &Value, indices: &Value, along: usize) -> Result<(), RuleError> {
    check_integers(indices)?;
    let mut dims = indices.shape.iter().zip(&data.shape).enumerate();
    if indices.rank() != data.rank() || dims.any(|(i, (a, b))| i != along && a > b) {
        return Err(RuleError::shape(format!("indices {:?} into {:?}", indices.shape, data.shape)));
    }
    Ok(())
}

pub(super) fn gather_nd(call: &Call<'_>) -> RuleResult {
    let (data, indices) = (call.input(0)?, call.input(1)?);
    check_integers(indices)?;
    let shared = size(call.int("batch_dims", 0))?;
    let (depth, outer) = match indices.shape.split_last() {
        Some((&depth, outer)) if outer.len() >= shared && shared + depth <= data.rank() => (depth, outer),
        _ => return Err(RuleError::shape(format!("indices {:?} into {:?}", indices.shape, data.shape))),
    };
    if outer.get(..shared) != data.shape.get(..shared) {
        return Err(RuleError::shape(format!("indices {:?} into {:?}", indices.shape, data.shape)));
    }
    let mut shape = outer.to_vec();
    shape.extend_from_slice(data.shape.get(shared + depth..).unwrap_or_default());
    Ok(Value::new(data.kind, shape).into())
}

pub(super) fn scatter_nd(call: &Call<'_>) -> RuleResult {
    let (data, indices, updates) = (call.input(0)?, call.input(1)?, call.input(2)?);
    check_integers(indices)?;
    let (depth, outer) = match indices.shape.split_last() {
        Some((&depth, outer)) if depth <= data.rank() => (depth, outer),
        _ => return Err(RuleError::shape(format!("indices {:?} into {:?}", indices.shape, data.shape))),
    };
    let mut shape = outer.to_vec();
    shape.extend_from_slice(data.shape.get(depth..).unwrap_or_default());
    check_shape(updates, &shape, "the updates")?;
    Ok(Value::new(data.kind, data.shape.clone()).into())
}

pub(super) fn constant_of_shape(call: &Call<'_>) -> RuleResult {
    let shape: Vec<usize> = call.integers(0)?.into_iter().map(size).collect::<Result<_, _>>()?;
    let (kind, fill) = match call.attribute("value").and_then(|a| a.t.as_ref()) {
        None => (ElementKind::Float, Some(0.0)),
        Some(tensor) => {
            let kind = ElementKind::of(tensor.data_type);
            let kind = kind.ok_or_else(|| RuleError::unsupported("unknown fill type"))?;
            if read::element_count(tensor).ok() != Some(1) {
                return Err(RuleError::shape("fill is not a scalar"));
            }
            (kind, read::values(tensor).next())
        }
    };
    let count = elements(&shape);
    let known = fill.filter(|_| count <= MAX_KNOWN as u64).map(|fill| vec![fill; count as usize]);
    Ok(Value::new(kind, shape).with(known).into())
}

pub(super) fn range(call: &Call<'_>) -> RuleResult {
    let kind = call.input(0)?.kind;
    let mut limits = [0.0; 3];
    for (index, limit) in limits.iter_mut().enumerate() {
        match (call.input(index)?.kind == kind, call.numbers(index)?) {
            (true, &[number]) => *limit = number,
            _ => return Err(RuleError::shape("start, limit and delta must be scalars of one type")),
        }
    }
    let [start, limit, step] = limits;
    if step == 0.0 {
        return Err(RuleError::shape("step 0"));
    }
    let count = ((limit - start) / step).ceil().max(0.0);
    // A float too large saturates, and the caller rejects the size.
    let count = count as usize;
    let whole = kind == ElementKind::Int && count <= MAX_KNOWN;
    let known = whole.then(|| (0..count).map(|i| start + i as f64 * step).collect());
    Ok(Value::new(kind, [count]).with(known).into())
}

pub(super) fn one_hot(call: &Call<'_>) -> RuleResult {
    let (indices, values) = (call.input(0)?, call.input(2)?);
    let &[depth] = call.integers(1)?.as_slice() else {
        return Err(RuleError::shape("depth is not a scalar"));
    };
    check_shape(values, &[2], "the values")?;
    let along = axis(call.int("axis", -1), indices.rank() + 1)?;
    let mut shape = indices.shape.clone();
    shape.insert(along, size(depth)?);
    Ok(Value::new(values.kind, shape).into())
}

pub(super) fn eye_like(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    if input.rank() != 2 {
        return Err(RuleError::shape(format!("shape {:?} is not a matrix", input.shape)));
    }
    let kind = match call.int("dtype", 0) {
        0 => Some(input.kind),
        to => i32::try_from(to).ok().and_then(ElementKind::of),
    };
    let kind = kind.ok_or_else(|| RuleError::unsupported("unknown dtype"))?;
    Ok(Value::new(kind, input.shape.clone()).into())
}

pub(super) fn pad(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let pads = call.ints_or_input("pads", 1)?.ok_or_else(|| RuleError::malformed("missing pads"))?;
    let along = match call.optional(3) {
        Some(_) => axes(&call.integers(3)?, input.rank())?,
        None => (0..input.rank()).collect(),
    };
    if pads.len() != 2 * along.len() {
        return Err(RuleError::shape(format!("{} pads for shape {:?}", pads.len(), input.shape)));
    }
    if !matches!(call.text("mode")?, "" | "constant" | "reflect" | "edge") {
        return Err(RuleError::unsupported(format!("padding mode {:?}", call.text("mode")?)));
    }
    let reflects = call.text("mode")? == "reflect";
    let (before, after) = pads.split_at(along.len());
    let mut shape = input.shape.clone();
    for ((&axis, &before), &after) in along.iter().zip(before).zip(after) {
        let Some(dim) = shape.get_mut(axis) else { continue };
        let (before, after) = (size(before)?, size(after)?);
        if reflects && before.max(after) >= *dim {
            return Err(RuleError::shape(format!("{:?} reflected by {before} and {after}", input.shape)));
        }
        *dim = dim.saturating_add(before).saturating_add(after);
    }
    Ok(Value::new(input.kind, shape).into())
}

pub(super) fn depth_to_space(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let block = size(call.int("blocksize", 0))?;
    match input.shape.as_slice() {
        &[n, c, h, w] if (1..=64).contains(&block) && c % (block * block) == 0 => {
            Ok(Value::new(input.kind, [n, c / (block * block), h * block, w * block]).into())
        }
        shape => Err(RuleError::shape(format!("blocks of {block} from {shape:?}"))),
    }
}

pub(super) fn resize(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    if call.attribute("axes").is_some() {
        return Err(RuleError::unsupported("resize with axes"));
    }
    let given = |index: usize| call.optional(index).is_some_and(|v| v.elements() != 0);
    let shape: Vec<usize> = if given(3) {
        call.integers(3)?.into_iter().map(size).collect::<Result<_, _>>()?
    } else {
        let scales = call.numbers(2)?;
        if scales.iter().any(|&s| s <= 0.0) {
            return Err(RuleError::shape(format!("scales {scales:?}")));
        }
        // A float too large saturates, and the caller rejects the size.
        input.shape.iter().zip(scales).map(|(&d, &s)| (d as f64 * s).floor() as usize).collect()
    };
    if shape.len() != input.rank() {
        return Err(RuleError::shape(format!("{:?} resized to {shape:?}", input.shape)));
    }
    Ok(Value::new(input.kind, shape).into())
}
