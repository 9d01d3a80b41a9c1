//! Checking that a graph is safe to run, by shape inference.
//!
//! Operators are sorted topologically, then each one's output shapes are inferred from its input shapes (`shapes`), which gives
//! the memory and multiply-adds of a run in advance.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashMap;

use super::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, data_type,
};
use super::read::{self, MAX_RANK};
use super::shapes::{self, Call, Inferred, Rule, Value};
use crate::{ErrorKind, GraphError};

/// Maximum operators of a graph.
pub const MAX_OPERATORS: usize = 8192;

/// Maximum depth of a graph. The runtime plans graphs recursively, so this bounds its stack.
pub const MAX_DEPTH: usize = 2048;

/// Maximum elements of all values of a run: 256 MiB in 32 bits.
pub const MAX_ELEMENTS: u64 = 64 << 20;

/// Maximum multiply-adds of a run: some seconds of one core. A HumChess network of 5.8 million parameters takes 0.3 billion.
pub const MAX_MULTIPLY_ADDS: u64 = 20_000_000_000;

/// The oldest supported opset; before it, broadcasting was an attribute.
const MIN_OPSET: i64 = 7;

/// The element type of a tensor at run time. Booleans and 64-bit integers run as 32-bit integers, all floats as `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementKind {
    /// 32-bit floats.
    Float,
    /// 32-bit integers: ids, indices, shapes, booleans.
    Int,
    /// Unsigned bytes of a quantised network.
    Uint8,
    /// Signed bytes of a quantised network.
    Int8,
}

impl ElementKind {
    /// The run-time type of an ONNX element type.
    pub(super) fn of(element_type: i32) -> Option<ElementKind> {
        Some(match element_type {
            data_type::FLOAT | data_type::FLOAT16 | data_type::BFLOAT16 | data_type::DOUBLE => {
                ElementKind::Float
            }
            data_type::INT32 | data_type::INT64 | data_type::BOOL => ElementKind::Int,
            data_type::UINT8 => ElementKind::Uint8,
            data_type::INT8 => ElementKind::Int8,
            _ => return None,
        })
    }
}

/// An input or output of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    /// Its name in the file.
    pub name: String,
    /// Its shape; `None` is a free dimension, nearly always the batch. Declared for inputs, inferred for outputs.
    pub shape: Vec<Option<usize>>,
    /// Its element type.
    pub kind: ElementKind,
}

/// Inputs, outputs and cost of a checked graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphInfo {
    /// The inputs of a run, in order, without weights that are also listed as inputs.
    pub inputs: Vec<TensorInfo>,
    /// The outputs, in order.
    pub outputs: Vec<TensorInfo>,
    /// Multiply-adds for one position.
    pub multiply_adds: u64,
    /// Parameters by the Chess Challenge rule, see [`read::parameter_count`].
    pub parameters: u64,
    /// The version of the file format.
    pub ir_version: i64,
    /// The version of the operators.
    pub opset: i64,
    /// Inputs and outputs whose first dimension is declared without a name.
    pub unnamed_batches: Vec<String>,
}

/// Checks that `model` is safe to run: valid tensors, no cycles, supported operators, and within [`MAX_ELEMENTS`] and
/// [`MAX_MULTIPLY_ADDS`] for one position.
///
/// # Errors
/// Names the tensor or operator at fault.
pub fn check(model: &ModelProto) -> Result<GraphInfo, GraphError> {
    ShapePlan::new(model)?.info(model)
}

/// The same for a graph of our own whose weights are placeholders.
///
/// # Errors
/// As [`check`].
pub fn check_without_weights(model: &ModelProto) -> Result<GraphInfo, GraphError> {
    ShapePlan::unvalidated(model)?.info(model)
}

/// A checked graph without its weights, for shape inference.
#[derive(Debug)]
pub struct ShapePlan {
    inputs: Vec<TensorInfo>,
    input_slots: Vec<usize>,
    outputs: Vec<(String, usize)>,
    constants: Vec<(usize, Value)>,
    /// The operators, each after those it reads from.
    steps: Vec<Step>,
    slots: usize,
    opset: i64,
    batch_dependent: bool,
}

struct Step {
    node: NodeProto,
    label: String,
    rule: Rule,
    inputs: Vec<Option<usize>>,
    outputs: Vec<Option<usize>>,
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.label)
    }
}

/// The inferred outputs and cost of a run.
#[derive(Debug)]
pub struct InferredRun {
    outputs: Vec<(ElementKind, Vec<usize>)>,
    multiply_adds: u64,
}

impl InferredRun {
    /// The shape of each output.
    pub fn output_shapes(&self) -> impl Iterator<Item = &[usize]> {
        self.outputs.iter().map(|(_, shape)| shape.as_slice())
    }
}

/// An integer product, as the int8 rewrite needs to know it.
#[derive(Debug)]
pub struct IntegerProduct {
    /// The inputs and the weights.
    pub operands: [Operand; 2],
    /// The ranks of their zero points: 0 for a scalar or none, 1 for one per row or column.
    pub zero_ranks: [usize; 2],
}

/// One operand of a [`IntegerProduct`].
#[derive(Debug)]
pub struct Operand {
    /// Its element type.
    pub kind: ElementKind,
    /// Its shape; `None` is a free dimension.
    pub shape: Vec<Option<usize>>,
}

/// The depth of an integer product as the 8-bit rewrite of `tabia-runtime` writes it.
const PRODUCT_DEPTH: usize = 9;

impl ShapePlan {
    /// Validates `model` and sorts its operators.
    pub fn new(model: &ModelProto) -> Result<ShapePlan, GraphError> {
        read::validate(model)?;
        ShapePlan::unvalidated(model)
    }

    /// The same without validating tensor data.
    fn unvalidated(model: &ModelProto) -> Result<ShapePlan, GraphError> {
        let opset = opset(model)?;
        let no_graph = || error(ErrorKind::Malformed, "no graph");
        let graph = model.graph.as_ref().ok_or_else(no_graph)?;
        PlanBuilder::default().build(graph, opset)
    }

    /// Infers a run on inputs of these shapes.
    pub fn infer_run(&self, shapes: &[Vec<usize>]) -> Result<InferredRun, GraphError> {
        let (values, multiply_adds) = self.infer_values(shapes)?;
        let output = |(name, slot): &(String, usize)| match values.get(*slot) {
            Some(Some(value)) => Ok((value.kind, value.shape.clone())),
            _ => Err(error(ErrorKind::Malformed, "undefined output").at_tensor(name)),
        };
        let outputs = self.outputs.iter().map(output).collect::<Result<_, _>>()?;
        Ok(InferredRun { outputs, multiply_adds })
    }

    /// The integer products, by output name.
    pub fn integer_products(&self) -> Result<HashMap<String, IntegerProduct>, GraphError> {
        if !self.steps.iter().any(Step::is_integer_product) {
            return Ok(HashMap::new());
        }
        let (one, _) = self.infer_values(&self.single_position_shapes())?;
        let two = self.infer_values(&self.shapes_with(2)).ok().map(|(values, _)| values);
        let operand = |step: &Step, index: usize| -> Option<Operand> {
            let slot = step.inputs.get(index).copied().flatten()?;
            let value = one.get(slot)?.as_ref()?;
            let other = two.as_ref().and_then(|two| two.get(slot)).and_then(Option::as_ref);
            Some(Operand {
                kind: value.kind,
                shape: with_free_dims(&value.shape, other.map(|o| &o.shape[..])),
            })
        };
        let product = |step: &Step| {
            let operands = [operand(step, 0)?, operand(step, 1)?];
            let zero_ranks = [2, 3].map(|index| operand(step, index).map_or(0, |zero| zero.shape.len()));
            Some((step.node.output.first()?.clone(), IntegerProduct { operands, zero_ranks }))
        };
        Ok(self.steps.iter().filter(|step| step.is_integer_product()).filter_map(product).collect())
    }

    /// The values of a run on inputs of these shapes, and its multiply-adds.
    fn infer_values(&self, shapes: &[Vec<usize>]) -> Result<(Vec<Option<Value>>, u64), GraphError> {
        let mut values: Vec<Option<Value>> = vec![None; self.slots];
        let put = |values: &mut Vec<Option<Value>>, slot: usize, value: Value| {
            if let Some(place) = values.get_mut(slot) {
                *place = Some(value);
            }
        };
        for (slot, value) in &self.constants {
            put(&mut values, *slot, value.clone());
        }
        let mut total = 0u64;
        for ((info, &slot), shape) in self.inputs.iter().zip(&self.input_slots).zip(shapes) {
            let value = Value::new(info.kind, shape.clone());
            total = total.saturating_add(value.elements());
            put(&mut values, slot, value);
        }
        let mut multiply_adds = 0u64;
        for step in &self.steps {
            let inferred = step.infer(&values, self.opset).map_err(|e| e.at_operator(&step.label))?;
            let scratch = inferred.scratch.saturating_add(self.int8_scratch(step, &values, &inferred));
            let made = inferred.outputs.iter().map(Value::elements).fold(scratch, u64::saturating_add);
            total = total.saturating_add(made);
            multiply_adds = multiply_adds.saturating_add(inferred.multiply_adds);
            if total > MAX_ELEMENTS {
                let shapes: Vec<_> = inferred.outputs.iter().map(|v| &v.shape).collect();
                let message =
                    format!("outputs {shapes:?} exceed the limit of {MAX_ELEMENTS} elements per run");
                return Err(error(ErrorKind::TooLarge, message).at_operator(&step.label));
            }
            if multiply_adds > MAX_MULTIPLY_ADDS {
                let message = format!(
                    "{multiply_adds} multiply-adds up to here (expected at most {MAX_MULTIPLY_ADDS})"
                );
                return Err(error(ErrorKind::TooLarge, message).at_operator(&step.label));
            }
            for (slot, value) in step.outputs.iter().zip(inferred.outputs) {
                if let Some(slot) = slot {
                    put(&mut values, *slot, value);
                }
            }
        }
        Ok((values, multiply_adds))
    }

    /// Scratch elements of an integer product with split weights: four intermediate results, and three copies of operands that
    /// are not constant. Counted on every processor, so that all accept the same networks.
    fn int8_scratch(&self, step: &Step, values: &[Option<Value>], inferred: &Inferred) -> u64 {
        if !step.is_integer_product() {
            return 0;
        }
        // Constants are in the order of their slots.
        let is_constant = |slot: usize| self.constants.binary_search_by_key(&slot, |&(slot, _)| slot).is_ok();
        let computed = step.inputs.iter().flatten().filter(|&&slot| !is_constant(slot));
        let operands = computed.filter_map(|&slot| values.get(slot)?.as_ref().map(Value::elements));
        let results = inferred.outputs.iter().map(Value::elements);
        let copies = operands.map(|n| n.saturating_mul(3)).chain(results.map(|n| n.saturating_mul(4)));
        copies.fold(0, u64::saturating_add)
    }

    /// The inputs' shapes with `size` for every free dimension.
    fn shapes_with(&self, size: usize) -> Vec<Vec<usize>> {
        let shape = |info: &TensorInfo| info.shape.iter().map(|dim| dim.unwrap_or(size)).collect();
        self.inputs.iter().map(shape).collect()
    }

    /// The inputs' shapes for one position, every free dimension being 1.
    pub fn single_position_shapes(&self) -> Vec<Vec<usize>> {
        self.shapes_with(1)
    }

    /// Whether a position's result depends on the rest of the batch, as with dynamic quantisation.
    pub fn batch_dependent(&self) -> bool {
        self.batch_dependent
    }

    /// Inputs, outputs and cost for one position.
    pub fn info(&self, model: &ModelProto) -> Result<GraphInfo, GraphError> {
        let one = self.infer_run(&self.single_position_shapes())?;
        // A second inference shows which dimensions depend on the free ones; none in a graph that only takes one position.
        let two = self.infer_run(&self.shapes_with(2)).ok();
        let shape = |index: usize, shape: &[usize]| -> Vec<Option<usize>> {
            let other = two.as_ref().and_then(|two| two.outputs.get(index));
            with_free_dims(shape, other.map(|(_, shape)| &shape[..]))
        };
        let outputs = self.outputs.iter().zip(&one.outputs).enumerate();
        let outputs = outputs.map(|(i, ((name, _), (kind, dims)))| TensorInfo {
            name: name.clone(),
            shape: shape(i, dims),
            kind: *kind,
        });
        Ok(GraphInfo {
            inputs: self.inputs.clone(),
            outputs: outputs.collect(),
            multiply_adds: one.multiply_adds,
            parameters: read::parameter_count(model),
            ir_version: model.ir_version,
            opset: self.opset,
            unnamed_batches: unnamed_batches(model),
        })
    }
}

/// The inputs and outputs whose first dimension has no name.
fn unnamed_batches(model: &ModelProto) -> Vec<String> {
    let values = model.graph.iter().flat_map(|graph| graph.input.iter().chain(&graph.output));
    let is_named = |value: &ValueInfoProto| {
        let tensor = value.r#type.as_ref().and_then(|kind| kind.tensor_type.as_ref());
        let batch = tensor.and_then(|tensor| tensor.shape.as_ref()?.dim.first());
        batch.and_then(|batch| batch.dim_param.as_ref()).is_some_and(|name| !name.is_empty())
    };
    values.filter(|value| !is_named(value)).map(|value| value.name.clone()).collect()
}

/// A shape whose dimensions are free where they differ from `other`, the same value in another run.
fn with_free_dims(shape: &[usize], other: Option<&[usize]>) -> Vec<Option<usize>> {
    let moved = |i: usize, dim: usize| other.and_then(|other| other.get(i)).is_some_and(|&d| d != dim);
    shape.iter().enumerate().map(|(i, &dim)| (!moved(i, dim)).then_some(dim)).collect()
}

impl Step {
    fn is_integer_product(&self) -> bool {
        matches!(self.node.op_type.as_str(), "ConvInteger" | "MatMulInteger")
    }

    /// Its depth after the int8 rewrite.
    fn depth(&self) -> usize {
        if self.is_integer_product() { PRODUCT_DEPTH } else { 1 }
    }

    fn infer(&self, values: &[Option<Value>], opset: i64) -> Result<Inferred, GraphError> {
        let mut inputs = Vec::with_capacity(self.inputs.len());
        for slot in &self.inputs {
            let value = slot.and_then(|slot| values.get(slot)).and_then(Option::as_ref);
            if slot.is_some() && value.is_none() {
                return Err(error(ErrorKind::Malformed, "input used before it is computed"));
            }
            inputs.push(value);
        }
        let call = Call { node: &self.node, inputs, opset };
        let inferred = (self.rule)(&call).map_err(|e| error(e.kind, e.message))?;
        if inferred.outputs.len() < self.outputs.len() {
            let message =
                format!("{} outputs (expected at most {})", self.outputs.len(), inferred.outputs.len());
            return Err(error(ErrorKind::Malformed, message));
        }
        for value in &inferred.outputs {
            if value.shape.len() > MAX_RANK {
                let message = format!("output shape {:?} (expected rank at most {MAX_RANK})", value.shape);
                return Err(error(ErrorKind::TooLarge, message));
            }
            // Exporters build shapes from empty lists; other empty tensors are errors.
            if value.elements() == 0 && value.shape.len() > 1 {
                return Err(error(ErrorKind::Shape, format!("empty output of shape {:?}", value.shape)));
            }
        }
        Ok(inferred)
    }
}

/// The opset version of the standard domain.
fn opset(model: &ModelProto) -> Result<i64, GraphError> {
    let standard = model.opset_import.iter().find(|set| matches!(set.domain.as_str(), "" | "ai.onnx"));
    match standard {
        Some(set) if set.version >= MIN_OPSET => Ok(set.version),
        Some(set) => {
            let message = format!("opset {} (expected at least {MIN_OPSET})", set.version);
            Err(error(ErrorKind::Unsupported, message))
        }
        None => Err(error(ErrorKind::Malformed, "missing opset")),
    }
}

/// The names of a graph while its plan is built.
#[derive(Default)]
struct PlanBuilder<'a> {
    slots: HashMap<&'a str, usize>,
}

impl<'a> PlanBuilder<'a> {
    /// Gives `name` to a new value.
    fn define(&mut self, name: &'a str) -> Result<usize, GraphError> {
        if name.is_empty() {
            return Err(error(ErrorKind::Malformed, "unnamed value"));
        }
        let slot = self.slots.len();
        match self.slots.insert(name, slot) {
            None => Ok(slot),
            Some(_) => Err(error(ErrorKind::Malformed, "duplicate name").at_tensor(name)),
        }
    }

    fn build(mut self, graph: &'a GraphProto, opset: i64) -> Result<ShapePlan, GraphError> {
        if graph.node.len() > MAX_OPERATORS {
            let message = format!("{} operators (expected at most {MAX_OPERATORS})", graph.node.len());
            return Err(error(ErrorKind::TooLarge, message));
        }
        let mut constants = Vec::new();
        for tensor in &graph.initializer {
            constants.push((self.define(&tensor.name)?, constant(tensor)?));
        }
        let mut inputs = Vec::new();
        let mut input_slots = Vec::new();
        for input in &graph.input {
            // Old files list weights among the inputs.
            if self.slots.get(input.name.as_str()).is_some_and(|&slot| slot < graph.initializer.len()) {
                continue;
            }
            input_slots.push(self.define(&input.name)?);
            inputs.push(input_info(input)?);
        }
        let mut steps = Vec::new();
        for (index, node) in graph.node.iter().enumerate() {
            let label = label(index, node);
            let step = self.step(node, &label, &mut constants).map_err(|e| match e.place() {
                crate::Place::File => e.at_operator(&label),
                _ => e,
            })?;
            steps.extend(step);
        }
        for (step, node) in &mut steps {
            step.inputs = self.resolve(node).map_err(|e| e.at_operator(&step.label))?;
        }
        let steps = topological_order(steps.into_iter().map(|(step, _)| step).collect(), self.slots.len())?;
        let mut outputs: Vec<(String, usize)> = Vec::new();
        for output in &graph.output {
            let missing = || error(ErrorKind::Malformed, "undefined output").at_tensor(&output.name);
            let slot = *self.slots.get(output.name.as_str()).ok_or_else(missing)?;
            if outputs.iter().any(|(_, taken)| *taken == slot) {
                return Err(error(ErrorKind::Malformed, "duplicate output").at_tensor(&output.name));
            }
            outputs.push((output.name.clone(), slot));
        }
        if inputs.is_empty() || outputs.is_empty() {
            return Err(error(ErrorKind::Malformed, "graph without inputs or outputs"));
        }
        let batch_dependent = steps.iter().any(|step| step.node.op_type == "DynamicQuantizeLinear");
        Ok(ShapePlan {
            inputs,
            input_slots,
            outputs,
            constants,
            steps,
            slots: self.slots.len(),
            opset,
            batch_dependent,
        })
    }

    /// The step for an operator; `None` for a constant.
    fn step(
        &mut self,
        node: &'a NodeProto,
        label: &str,
        constants: &mut Vec<(usize, Value)>,
    ) -> Result<Option<(Step, &'a NodeProto)>, GraphError> {
        let is_constant = node.op_type == "Constant" && matches!(node.domain.as_str(), "" | "ai.onnx");
        if is_constant {
            let [output] = node.output.as_slice() else {
                return Err(error(ErrorKind::Malformed, "Constant must have one output"));
            };
            constants.push((self.define(output)?, constant_node(node)?));
            return Ok(None);
        }
        let rule = shapes::rule(&node.domain, &node.op_type).ok_or_else(|| unsupported(node))?;
        let holds_graph = |a: &AttributeProto| a.g.is_some() || !a.graphs.is_empty();
        let holds_tensor = |a: &AttributeProto| a.t.is_some() || !a.tensors.is_empty();
        let may_hold = node.op_type == "ConstantOfShape";
        if node.attribute.iter().any(|a| holds_graph(a) || (holds_tensor(a) && !may_hold)) {
            return Err(error(ErrorKind::Unsupported, "graph or tensor attribute"));
        }
        let define = |name: &'a String| (!name.is_empty()).then(|| self.define(name)).transpose();
        let outputs = node.output.iter().map(define).collect::<Result<_, _>>()?;
        // Inputs are slots now; rules only read attributes.
        let bare = NodeProto { input: Vec::new(), ..node.clone() };
        let step = Step { node: bare, label: label.to_owned(), rule, inputs: Vec::new(), outputs };
        Ok(Some((step, node)))
    }

    fn resolve(&self, node: &NodeProto) -> Result<Vec<Option<usize>>, GraphError> {
        let slot = |name: &String| match self.slots.get(name.as_str()) {
            _ if name.is_empty() => Ok(None),
            Some(&slot) => Ok(Some(slot)),
            None => Err(error(ErrorKind::Malformed, format!("undefined input {name:?}"))),
        };
        node.input.iter().map(slot).collect()
    }
}

/// Sorts steps so that each follows those it reads from.
fn topological_order(steps: Vec<Step>, slots: usize) -> Result<Vec<Step>, GraphError> {
    let mut producer = vec![None; slots];
    for (index, step) in steps.iter().enumerate() {
        for &slot in step.outputs.iter().flatten() {
            if let Some(place) = producer.get_mut(slot) {
                *place = Some(index);
            }
        }
    }
    let producers = |step: &Step| -> Vec<usize> {
        step.inputs.iter().flatten().filter_map(|&slot| producer.get(slot).copied().flatten()).collect()
    };
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    let mut waiting = vec![0usize; steps.len()];
    for (index, step) in steps.iter().enumerate() {
        for made_by in producers(step) {
            if let (Some(list), Some(count)) = (readers.get_mut(made_by), waiting.get_mut(index)) {
                list.push(index);
                *count += 1;
            }
        }
    }
    let mut depth: Vec<usize> = steps.iter().map(Step::depth).collect();
    let mut order: Vec<usize> = (0..steps.len()).filter(|&i| waiting.get(i) == Some(&0)).collect();
    let mut next = 0;
    while let Some(&index) = order.get(next) {
        next += 1;
        let above = depth.get(index).copied().unwrap_or(0);
        for &reader in readers.get(index).into_iter().flatten() {
            let (Some(count), Some(depth), Some(step)) =
                (waiting.get_mut(reader), depth.get_mut(reader), steps.get(reader))
            else {
                continue;
            };
            *depth = (above + step.depth()).max(*depth);
            *count -= 1;
            if *count == 0 {
                order.push(reader);
            }
        }
    }
    if let Some(stuck) = waiting.iter().position(|&count| count > 0) {
        let label = steps.get(stuck).map_or("", |step| step.label.as_str());
        return Err(error(ErrorKind::Malformed, "cycle in the graph").at_operator(label));
    }
    if let Some(deep) = depth.iter().position(|&d| d > MAX_DEPTH) {
        let label = steps.get(deep).map_or("", |step| step.label.as_str());
        let message = format!("deeper than {MAX_DEPTH} operators");
        return Err(error(ErrorKind::TooLarge, message).at_operator(label));
    }
    let mut steps: Vec<Option<Step>> = steps.into_iter().map(Some).collect();
    Ok(order.into_iter().filter_map(|index| steps.get_mut(index).and_then(Option::take)).collect())
}

fn label(index: usize, node: &NodeProto) -> String {
    match node.name.as_str() {
        "" => format!("{} number {index}", node.op_type),
        name => format!("{} {name}", node.op_type),
    }
}

fn unsupported(node: &NodeProto) -> GraphError {
    let domain = if node.domain.is_empty() { String::new() } else { format!("{}/", node.domain) };
    let why = match node.op_type.as_str() {
        "If" | "Loop" | "Scan" => "(control flow) is not supported",
        _ => "is not supported",
    };
    let message = format!("{domain}{} {why}; supported: {}", node.op_type, shapes::supported());
    error(ErrorKind::Unsupported, message)
}

fn input_info(value: &ValueInfoProto) -> Result<TensorInfo, GraphError> {
    let refuse = |kind, message: String| Err(error(kind, message).at_tensor(&value.name));
    let Some(tensor) = value.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()) else {
        return refuse(ErrorKind::Unsupported, "input is not a tensor".to_owned());
    };
    let Some(kind) = ElementKind::of(tensor.elem_type) else {
        return refuse(ErrorKind::Unsupported, format!("unsupported element type {}", tensor.elem_type));
    };
    let Some(declared) = &tensor.shape else {
        return refuse(ErrorKind::Unsupported, "input of unknown rank".to_owned());
    };
    if declared.dim.len() > MAX_RANK {
        return refuse(
            ErrorKind::Shape,
            format!("rank {} (expected at most {MAX_RANK})", declared.dim.len()),
        );
    }
    let mut shape = Vec::with_capacity(declared.dim.len());
    for dim in &declared.dim {
        match dim.dim_value.map(usize::try_from) {
            None => shape.push(None),
            Some(Ok(size)) if size > 0 && size as u64 <= MAX_ELEMENTS => shape.push(Some(size)),
            Some(_) => {
                let size = dim.dim_value.unwrap_or_default();
                return refuse(ErrorKind::Shape, format!("invalid dimension {size}"));
            }
        }
    }
    Ok(TensorInfo { name: value.name.clone(), shape, kind })
}

/// A validated weight or constant, with its elements where they are few.
fn constant(tensor: &TensorProto) -> Result<Value, GraphError> {
    let named = |e: GraphError| e.at_tensor(&tensor.name);
    let count = read::element_count(tensor).map_err(named)?;
    let kind = ElementKind::of(tensor.data_type);
    let kind = kind.ok_or_else(|| named(error(ErrorKind::Unsupported, "unknown element type")))?;
    let shape: Vec<usize> = tensor.dims.iter().map(|&d| usize::try_from(d).unwrap_or(0)).collect();
    // A placeholder has no elements.
    let known = (count <= shapes::MAX_KNOWN)
        .then(|| read::values(tensor).map(|v| clamped(kind, v)).collect())
        .filter(|known: &Vec<f64>| known.len() == count);
    Ok(Value::new(kind, shape).with(known))
}

/// The runtime saturates 64-bit integers to 32 bits, which preserves "to the end" limits.
fn clamped(kind: ElementKind, number: f64) -> f64 {
    match kind {
        ElementKind::Int => number.clamp(f64::from(i32::MIN), f64::from(i32::MAX)),
        _ => number,
    }
}

fn constant_node(node: &NodeProto) -> Result<Value, GraphError> {
    let malformed = |message: &str| error(ErrorKind::Malformed, message);
    let [attribute] = node.attribute.as_slice() else {
        return Err(malformed("Constant must have one value"));
    };
    let floats = |list: &[f32]| -> Result<Vec<f64>, GraphError> {
        if list.iter().any(|v| v.is_nan()) {
            return Err(error(ErrorKind::NotFinite, "NaN constant"));
        }
        Ok(list.iter().map(|&v| f64::from(v)).collect())
    };
    let whole = |list: &[i64]| list.iter().map(|&v| clamped(ElementKind::Int, v as f64)).collect::<Vec<_>>();
    Ok(match (attribute.name.as_str(), &attribute.t) {
        ("value", Some(tensor)) => constant(tensor)?,
        ("value_int", _) => {
            Value::new(ElementKind::Int, []).with(Some(whole(&[attribute.i.unwrap_or_default()])))
        }
        ("value_ints", _) => {
            Value::new(ElementKind::Int, [attribute.ints.len()]).with(Some(whole(&attribute.ints)))
        }
        ("value_float", _) => {
            Value::new(ElementKind::Float, []).with(Some(floats(&[attribute.f.unwrap_or_default()])?))
        }
        ("value_floats", _) => {
            Value::new(ElementKind::Float, [attribute.floats.len()]).with(Some(floats(&attribute.floats)?))
        }
        _ => return Err(malformed("unsupported Constant attribute")),
    })
}

fn error(kind: ErrorKind, message: impl Into<String>) -> GraphError {
    GraphError::new(kind, message)
}
