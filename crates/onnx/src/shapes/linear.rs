//! Products: matrices, convolutions, attention, recurrent cells.

use super::{
    Call, Inferred, RuleError, RuleResult, Value, broadcast, check_broadcasts_to, check_shape, elements, size,
};
use crate::check::ElementKind;

/// Maximum stride, dilation or padding.
const MAX_STEP: i64 = 1 << 12;

pub(super) fn matmul(call: &Call<'_>) -> RuleResult {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let integer = call.node.op_type == "MatMulInteger";
    if integer {
        for index in 2..call.inputs.len() {
            let Some(zero) = call.optional(index) else { continue };
            let allowed = zero.elements() == 1 || zero.rank() == 1;
            if !allowed {
                return Err(RuleError::unsupported("zero points in more than one dimension"));
            }
        }
        if [a, b].iter().any(|v| !matches!(v.kind, ElementKind::Int8 | ElementKind::Uint8)) {
            return Err(RuleError::shape("inputs are not 8-bit"));
        }
        let rows = a.shape.iter().rev().nth(1).copied();
        let columns = b.shape.last().copied();
        for (index, dim) in [(2, rows), (3, columns)] {
            if let Some(zero) = call.optional(index).filter(|z| z.elements() != 1) {
                check_shape(zero, &[dim.unwrap_or(1)], "the zero points")?;
            }
        }
    } else if a.kind != ElementKind::Float || b.kind != ElementKind::Float {
        return Err(RuleError::shape(format!("product of {:?} and {:?}", a.kind, b.kind)));
    }
    let (shape, inner) = product_shape(&a.shape, &b.shape)?;
    let cost = elements(&shape).saturating_mul(inner as u64);
    let kind = if integer { ElementKind::Int } else { ElementKind::Float };
    Ok(Inferred::from(Value::new(kind, shape)).costing(cost))
}

/// The shape of a matrix product and its inner dimension. A vector is a row on the left and a column on the right.
fn product_shape(a: &[usize], b: &[usize]) -> Result<(Vec<usize>, usize), RuleError> {
    let mismatch = || RuleError::shape(format!("{a:?} cannot be multiplied with {b:?}"));
    let (a_outer, rows, inner) = match a {
        [] => return Err(mismatch()),
        &[k] => (&[][..], None, k),
        &[ref outer @ .., m, k] => (outer, Some(m), k),
    };
    let (b_outer, inner_b, columns) = match b {
        [] => return Err(mismatch()),
        &[k] => (&[][..], k, None),
        &[ref outer @ .., k, n] => (outer, k, Some(n)),
    };
    if inner != inner_b {
        return Err(mismatch());
    }
    let mut shape = broadcast(a_outer, b_outer).map_err(|_| mismatch())?;
    shape.extend(rows);
    shape.extend(columns);
    Ok((shape, inner))
}

pub(super) fn gemm(call: &Call<'_>) -> RuleResult {
    let (a, b) = (call.input(0)?, call.input(1)?);
    let oriented = |value: &Value, flag: &str| match (value.shape.as_slice(), call.int(flag, 0)) {
        (&[rows, columns], 0) => Ok([rows, columns]),
        (&[rows, columns], _) => Ok([columns, rows]),
        (shape, _) => Err(RuleError::shape(format!("shape {shape:?} (expected a matrix)"))),
    };
    let ([m, k], [inner, n]) = (oriented(a, "transA")?, oriented(b, "transB")?);
    if k != inner || a.kind != ElementKind::Float || b.kind != ElementKind::Float {
        return Err(RuleError::shape(format!("{:?} cannot be multiplied with {:?}", a.shape, b.shape)));
    }
    if let Some(bias) = call.optional(2) {
        check_broadcasts_to(bias, &[m, n], "the bias")?;
    }
    let cost = (m as u64).saturating_mul(k as u64).saturating_mul(n as u64);
    Ok(Inferred::from(Value::new(ElementKind::Float, [m, n])).costing(cost))
}

/// The window of a convolution or pooling over one or two spatial dimensions.
struct Window {
    kernel: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    before: Vec<usize>,
    after: Vec<usize>,
    same: AutoPad,
}

/// Automatic padding, and the side of an odd cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AutoPad {
    Off,
    Upper,
    Lower,
}

impl Window {
    fn read(call: &Call<'_>, kernel: &[usize]) -> Result<Window, RuleError> {
        let rank = kernel.len();
        if !(1..=2).contains(&rank) {
            return Err(RuleError::unsupported(format!("{rank} spatial dimensions (expected 1 or 2)")));
        }
        let list = |name: &str, default: i64, len: usize, least: i64| -> Result<Vec<usize>, RuleError> {
            let given = call.ints(name).map_or_else(|| vec![default; len], <[i64]>::to_vec);
            if given.len() != len || given.iter().any(|v| !(least..=MAX_STEP).contains(v)) {
                return Err(RuleError::shape(format!("{name} {given:?}")));
            }
            given.into_iter().map(size).collect()
        };
        let pads = list("pads", 0, 2 * rank, 0)?;
        let (before, after) = pads.split_at(rank);
        let same = match call.text("auto_pad")? {
            "" | "NOTSET" | "VALID" => AutoPad::Off,
            "SAME_UPPER" => AutoPad::Upper,
            "SAME_LOWER" => AutoPad::Lower,
            other => return Err(RuleError::unsupported(format!("auto_pad {other:?}"))),
        };
        Ok(Window {
            kernel: kernel.to_vec(),
            strides: list("strides", 1, rank, 1)?,
            dilations: list("dilations", 1, rank, 1)?,
            before: before.to_vec(),
            after: after.to_vec(),
            same,
        })
    }

    /// The output size along each dimension of `spatial`.
    fn output_size(&self, spatial: &[usize], rounds_up: bool) -> Result<Vec<usize>, RuleError> {
        let sides = self.kernel.iter().zip(&self.strides).zip(&self.dilations);
        let pads = self.before.iter().zip(&self.after);
        let dims = spatial.iter().zip(sides.zip(pads));
        dims.map(|(&dim, (((&kernel, &stride), &dilation), (&before, &after)))| {
            if self.same != AutoPad::Off {
                // The runtime puts an odd cell of padding at the end.
                if self.same == AutoPad::Lower && same_padding(dim, kernel, stride, dilation) % 2 == 1 {
                    return Err(RuleError::unsupported("SAME_LOWER with odd padding"));
                }
                return Ok(dim.div_ceil(stride));
            }
            let extent = extent(kernel, dilation);
            let room = (dim + before + after).checked_sub(extent).filter(|_| kernel > 0);
            let room =
                room.ok_or_else(|| RuleError::shape(format!("window {:?} over {spatial:?}", self.kernel)))?;
            Ok(1 + if rounds_up { room.div_ceil(stride) } else { room / stride })
        })
        .collect()
    }

    /// The padded size of `spatial`.
    fn padded(&self, spatial: &[usize]) -> Vec<usize> {
        let sides = self.kernel.iter().zip(&self.strides).zip(&self.dilations);
        let pads = self.before.iter().zip(&self.after);
        let dims = spatial.iter().zip(sides.zip(pads));
        dims.map(|(&dim, (((&kernel, &stride), &dilation), (&before, &after)))| match self.same {
            AutoPad::Off => dim + before + after,
            AutoPad::Upper | AutoPad::Lower => {
                dim.saturating_add(same_padding(dim, kernel, stride, dilation))
            }
        })
        .collect()
    }
}

/// The size of a dilated kernel.
fn extent(kernel: usize, dilation: usize) -> usize {
    kernel.saturating_sub(1).saturating_mul(dilation).saturating_add(1)
}

/// The total padding of `SAME_UPPER` and `SAME_LOWER`.
pub fn same_padding(dim: usize, kernel: usize, stride: usize, dilation: usize) -> usize {
    let last = dim.div_ceil(stride).saturating_sub(1).saturating_mul(stride);
    last.saturating_add(extent(kernel, dilation)).saturating_sub(dim)
}

/// Splits `[batch, channels, spatial...]`.
fn image(value: &Value) -> Result<(usize, usize, &[usize]), RuleError> {
    match value.shape.as_slice() {
        &[n, c, ref spatial @ ..] if !spatial.is_empty() => Ok((n, c, spatial)),
        shape => Err(RuleError::shape(format!("shape {shape:?} (expected batch, channels, spatial)"))),
    }
}

/// The filters of a convolution: outer channels, inner channels, kernel.
fn filters<'a>(call: &'a Call<'_>, rank: usize) -> Result<(usize, usize, &'a [usize]), RuleError> {
    let weight = call.input(1)?;
    let (outer, inner, kernel) = image(weight)?;
    let declared = call.ints("kernel_shape").unwrap_or_default();
    let agrees = declared.is_empty()
        || declared.iter().map(|&d| usize::try_from(d).ok()).eq(kernel.iter().map(|&k| Some(k)));
    if kernel.len() != rank || !agrees {
        return Err(RuleError::shape(format!("filters {:?} with kernel {declared:?}", weight.shape)));
    }
    Ok((outer, inner, kernel))
}

pub(super) fn conv(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let (n, channels, spatial) = image(input)?;
    let (outer, inner, kernel) = filters(call, spatial.len())?;
    let groups = size(call.int("group", 1))?;
    if groups == 0 || inner.checked_mul(groups) != Some(channels) || !outer.is_multiple_of(groups) {
        return Err(RuleError::shape(format!(
            "{channels} channels, {outer} filters over {inner}, {groups} groups"
        )));
    }
    let bytes = call.node.op_type == "ConvInteger";
    if bytes {
        for index in 2..4 {
            if call.optional(index).is_some_and(|zero| zero.elements() != 1) {
                return Err(RuleError::unsupported("zero point per filter"));
            }
        }
    } else if let Some(bias) = call.optional(2) {
        check_shape(bias, &[outer], "the bias")?;
    }
    let window = Window::read(call, kernel)?;
    let mut shape = vec![n, outer];
    shape.extend(window.output_size(spatial, false)?);
    let cost = elements(&shape).saturating_mul(inner as u64).saturating_mul(elements(kernel));
    if !bytes {
        return Ok(Inferred::from(Value::new(input.kind, shape)).costing(cost));
    }
    // The int8 rewrite pads in a separate operator.
    let padded = window.padded(spatial);
    let scratch = if padded == spatial {
        0
    } else {
        elements(&padded).saturating_mul(n as u64).saturating_mul(channels as u64)
    };
    Ok(Inferred::from(Value::new(ElementKind::Int, shape)).costing(cost).with_scratch(scratch))
}

pub(super) fn conv_transpose(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let (n, channels, spatial) = image(input)?;
    let (inner, outer, kernel) = filters(call, spatial.len())?;
    if call.int("group", 1) != 1 || inner != channels {
        return Err(RuleError::unsupported(format!("{channels} channels, filters over {inner}, or groups")));
    }
    if let Some(bias) = call.optional(2) {
        check_shape(bias, &[outer], "the bias")?;
    }
    let window = Window::read(call, kernel)?;
    let given = call.attribute("output_shape").is_some() || call.attribute("output_padding").is_some();
    if window.same != AutoPad::Off || given || window.dilations.iter().any(|&d| d != 1) {
        return Err(RuleError::unsupported("automatic or output padding, or dilation"));
    }
    let mut shape = vec![n, outer];
    for (i, &dim) in spatial.iter().enumerate() {
        let at = |list: &[usize]| list.get(i).copied().unwrap_or(0);
        let full = (dim.saturating_sub(1)).saturating_mul(at(&window.strides)).saturating_add(at(kernel));
        let cut = at(&window.before) + at(&window.after);
        let left =
            full.checked_sub(cut).ok_or_else(|| RuleError::shape(format!("padding {cut} of {full}")))?;
        shape.push(left);
    }
    let columns = elements(spatial).saturating_mul(elements(kernel)).saturating_mul(outer as u64);
    let cost = columns.saturating_mul(channels as u64).saturating_mul(n as u64);
    Ok(Inferred::from(Value::new(input.kind, shape)).costing(cost).with_scratch(columns))
}

pub(super) fn pool(call: &Call<'_>) -> RuleResult {
    let input = call.input(0)?;
    let (n, channels, spatial) = image(input)?;
    let kernel = call.ints("kernel_shape").ok_or_else(|| RuleError::malformed("missing kernel_shape"))?;
    let kernel: Vec<usize> = kernel.iter().map(|&k| size(k)).collect::<Result<_, _>>()?;
    if kernel.len() != spatial.len() {
        return Err(RuleError::shape(format!("window {kernel:?} over {spatial:?}")));
    }
    let window = Window::read(call, &kernel)?;
    let pads = window.before.iter().chain(&window.after).zip(kernel.iter().cycle());
    if pads.into_iter().any(|(pad, kernel)| pad >= kernel) {
        return Err(RuleError::shape("padding not smaller than the window"));
    }
    let mut shape = vec![n, channels];
    shape.extend(window.output_size(spatial, call.int("ceil_mode", 0) != 0)?);
    let cost = elements(&shape).saturating_mul(elements(&kernel));
    let pooled = Value::new(input.kind, shape);
    Ok(Inferred::from(pooled).costing(cost))
}

pub(super) fn einsum(call: &Call<'_>) -> RuleResult {
    let equation: String = call.text("equation")?.chars().filter(|c| !c.is_whitespace()).collect();
    let Some((left, right)) = equation.split_once("->") else {
        return Err(RuleError::unsupported(format!("equation {equation:?} without an arrow")));
    };
    if !equation.chars().all(|c| c.is_ascii_lowercase() || "->,".contains(c)) {
        return Err(RuleError::unsupported(format!("equation {equation:?} (expected lower-case letters)")));
    }
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != call.inputs.len() || terms.len() > 2 {
        return Err(RuleError::unsupported(format!(
            "equation {equation:?} for {} inputs",
            call.inputs.len()
        )));
    }
    let mut sizes: Vec<(char, usize)> = Vec::new();
    for (index, term) in terms.iter().enumerate() {
        let shape = &call.input(index)?.shape;
        let repeated =
            term.char_indices().any(|(i, c)| term.get(..i).is_some_and(|before| before.contains(c)));
        if term.len() != shape.len() || repeated {
            return Err(RuleError::shape(format!("{term:?} for shape {shape:?}")));
        }
        for (letter, &dim) in term.chars().zip(shape) {
            match sizes.iter().find(|(known, _)| *known == letter) {
                Some(&(_, known)) if known != dim => {
                    return Err(RuleError::shape(format!("{letter:?} is both {known} and {dim}")));
                }
                Some(_) => {}
                None => sizes.push((letter, dim)),
            }
        }
    }
    let dim = |letter: char| sizes.iter().find(|(known, _)| *known == letter).map(|&(_, dim)| dim);
    let shape: Option<Vec<usize>> = right.chars().map(dim).collect();
    let repeated = right.char_indices().any(|(i, c)| right.get(..i).is_some_and(|before| before.contains(c)));
    let shape = shape.filter(|_| !repeated);
    let shape = shape.ok_or_else(|| RuleError::shape(format!("result {right:?} of {left:?}")))?;
    let all: Vec<usize> = sizes.iter().map(|&(_, dim)| dim).collect();
    let cost = elements(&all);
    let inputs: u64 = call.inputs.iter().flatten().map(|v| v.elements()).fold(0, u64::saturating_add);
    let scratch = if terms.len() == 2 {
        inputs.max(elements(&shape)).max(cost.min(inputs.saturating_mul(2)))
    } else {
        inputs
    };
    Ok(Inferred::from(Value::new(call.input(0)?.kind, shape)).costing(cost).with_scratch(scratch))
}

/// The cost of attention_cost from `queries` positions to `keys` positions.
fn attention_cost(batch: usize, heads: usize, queries: usize, keys: usize, widths: [usize; 2]) -> (u64, u64) {
    let scores = elements(&[batch, heads, queries, keys]);
    let [query_width, value_width] = widths;
    (scores.saturating_mul((query_width + value_width) as u64), scores)
}

pub(super) fn attention(call: &Call<'_>) -> RuleResult {
    let (q, k, v) = (call.input(0)?, call.input(1)?, call.input(2)?);
    if call.inputs.iter().skip(4).any(Option::is_some) || call.node.output.len() > 1 {
        return Err(RuleError::unsupported("attention with cached keys"));
    }
    let heads = |name: &str| size(call.int(name, 0));
    let split = |value: &Value, heads: usize| match value.shape.as_slice() {
        &[b, h, s, d] => Ok([b, h, s, d]),
        &[b, s, w] if heads > 0 && w.is_multiple_of(heads) => Ok([b, heads, s, w / heads]),
        shape => Err(RuleError::shape(format!("shape {shape:?} with {heads} heads"))),
    };
    let [b, hq, sq, dq] = split(q, heads("q_num_heads")?)?;
    let [bk, hk, sk, dk] = split(k, heads("kv_num_heads")?)?;
    let [bv, hv, sv, dv] = split(v, heads("kv_num_heads")?)?;
    if [bk, bv] != [b, b] || [hk, hv] != [hq, hq] || sk != sv || dq != dk {
        return Err(RuleError::shape(format!(
            "queries {:?}, keys {:?}, values {:?}",
            q.shape, k.shape, v.shape
        )));
    }
    if let Some(mask) = call.optional(3) {
        check_broadcasts_to(mask, &[b, hq, sq, sk], "the mask")?;
    }
    let shape = if q.rank() == 4 { vec![b, hq, sq, dv] } else { vec![b, sq, hq * dv] };
    let (cost, scores) = attention_cost(b, hq, sq, sk, [dq, dv]);
    Ok(Inferred::from(Value::new(q.kind, shape)).costing(cost).with_scratch(scores))
}

pub(super) fn multi_head_attention(call: &Call<'_>) -> RuleResult {
    let (q, k, v) = (call.input(0)?, call.input(1)?, call.input(2)?);
    if call.inputs.iter().skip(3).any(Option::is_some) || call.node.output.len() > 1 {
        return Err(RuleError::unsupported("attention with bias, mask or cached keys"));
    }
    let heads = size(call.int("num_heads", 0))?;
    match (q.shape.as_slice(), k.shape.as_slice(), v.shape.as_slice()) {
        (&[b, sq, w], &[bk, sk, wk], &[bv, sv, wv])
            if heads > 0
                && [bk, bv] == [b, b]
                && w == wk
                && sk == sv
                && w.is_multiple_of(heads)
                && wv.is_multiple_of(heads) =>
        {
            let (cost, scores) = attention_cost(b, heads, sq, sk, [w / heads, wv / heads]);
            Ok(Inferred::from(Value::new(q.kind, [b, sq, wv])).costing(cost).with_scratch(scores))
        }
        (q, k, v) => Err(RuleError::shape(format!("queries {q:?}, keys {k:?}, values {v:?}, {heads} heads"))),
    }
}

/// LSTM and GRU over a sequence.
pub(super) fn recurrent(call: &Call<'_>) -> RuleResult {
    let gates = if call.node.op_type == "LSTM" { 4usize } else { 3 };
    let directions = match call.text("direction")? {
        "" | "forward" | "reverse" => 1,
        "bidirectional" => 2,
        other => return Err(RuleError::unsupported(format!("direction {other:?}"))),
    };
    if call.int("layout", 0) != 0
        || call.attribute("activations").is_some()
        || call.attribute("clip").is_some()
    {
        return Err(RuleError::unsupported("batch-first layout, clipping or other activations"));
    }
    if gates == 3 && call.int("linear_before_reset", 0) == 0 {
        return Err(RuleError::unsupported("linear_before_reset = 0"));
    }
    let input = call.input(0)?;
    let &[steps, batch, width] = input.shape.as_slice() else {
        return Err(RuleError::shape(format!("shape {:?} is not steps, batch, features", input.shape)));
    };
    let hidden = size(call.int("hidden_size", 0))?;
    let wide = gates.checked_mul(hidden).filter(|&wide| wide > 0 && wide < usize::MAX / 2);
    let wide = wide.ok_or_else(|| RuleError::shape(format!("hidden size {hidden}")))?;
    check_shape(call.input(1)?, &[directions, wide, width], "the input weights")?;
    check_shape(call.input(2)?, &[directions, wide, hidden], "the recurrent weights")?;
    if let Some(bias) = call.optional(3) {
        check_shape(bias, &[directions, 2 * wide], "the bias")?;
    }
    if call.optional(4).is_some() || call.optional(7).is_some() {
        return Err(RuleError::unsupported("sequence lengths or peepholes"));
    }
    let state = [directions, batch, hidden];
    for index in 5..=6 {
        if let Some(initial) = call.optional(index) {
            check_shape(initial, &state, "the initial state")?;
        }
    }
    let cost = elements(&[steps, batch, directions, wide]).saturating_mul((width + hidden) as u64);
    let last = Value::new(ElementKind::Float, state);
    let all = Value::new(ElementKind::Float, [steps, directions, batch, hidden]);
    let outputs = vec![all, last.clone(), last];
    Ok(Inferred::from(outputs).costing(cost).with_scratch(elements(&[steps, batch, wide])))
}
