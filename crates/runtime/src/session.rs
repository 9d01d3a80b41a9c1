//! Running a checked graph on rten.
//!
//! Shapes are inferred with `ShapePlan` before the first run on a set of input shapes, so memory and work are bounded in
//! advance. Panics of rten are caught and become errors; where panics abort, as on wasm32, shape inference is the only guard.

mod int8;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use prost::Message;
use rten::{
    Model, ModelOptions, NodeId, RunOptions, ShapeInferenceMode, ThreadPool, Value, ValueOrView, ValueView,
};
use rten_tensor::Layout;
use tabia_onnx::check::{ElementKind, GraphInfo, ShapePlan, TensorInfo};
use tabia_onnx::proto::{
    AttributeProto, ModelProto, NodeProto, StringStringEntryProto, attribute_type, data_type,
};
use tabia_onnx::read;
use tabia_onnx::{ErrorKind, GraphError};

pub use int8::{Int8Kernel, Int8Weights};

use crate::run::{InputData, InputTensor, OutputTensor, RunError};

/// The `data_location` of a tensor outside the graph.
const EXTERNAL: i32 = 1;

/// Maximum sets of input shapes whose inference is cached.
const MAX_CACHED: usize = 64;

/// The result of shape inference for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RunShape {
    /// It fails or exceeds the limits.
    Rejected(String),
    /// Every output has this first dimension.
    Rows(usize),
    /// The outputs have different first dimensions.
    Mixed,
}

/// A loaded network. Each run uses one thread, so that players do not compete for cores; concurrent runs have a thread each.
pub struct Session {
    model: Model,
    plan: ShapePlan,
    info: GraphInfo,
    int8: Option<Int8Kernel>,
    inputs: Vec<NodeId>,
    outputs: Vec<NodeId>,
    /// Idle threads.
    idle: Mutex<Vec<Arc<ThreadPool>>>,
    inferred: Mutex<Vec<(Vec<Vec<usize>>, RunShape)>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("info", &self.info).finish_non_exhaustive()
    }
}

impl Session {
    /// Checks `model`, loads it, and runs it once on zeros.
    ///
    /// # Errors
    /// Those of [`check`](tabia_onnx::check::check), and those of rten.
    pub fn new(model: ModelProto) -> Result<Session, GraphError> {
        Session::with_int8_weights(model, Int8Kernel::detect().weights)
    }

    /// The same with a choice of how rten gets 8-bit weights. [`Int8Weights::Whole`] gives wrong results where rten's kernel
    /// saturates.
    ///
    /// # Errors
    /// As [`Session::new`].
    pub fn with_int8_weights(mut model: ModelProto, weights: Int8Weights) -> Result<Session, GraphError> {
        let plan = ShapePlan::new(&model)?;
        let info = plan.info(&model)?;
        adapt(&mut model)?;
        let products = plan.integer_products()?;
        let packs = match &mut model.graph {
            Some(graph) if !products.is_empty() => int8::rewrite(graph, &products, weights)?,
            _ => false,
        };
        let int8 = (!products.is_empty()).then(|| Int8Kernel { weights, ..Int8Kernel::detect() });
        let apart = take_large_weights(&mut model);
        let encoded = model.encode_to_vec();
        drop(model);
        let refused = |message: String| GraphError::new(ErrorKind::Unsupported, message);
        let load = || {
            let mut options = ModelOptions::with_all_ops();
            // Every shape is inferred already; rten's inference is less guarded.
            options.shape_inference(ShapeInferenceMode::Off);
            // Otherwise rten packs the weights in each run. A packed 8-bit copy is small.
            options.prepack_weights(packs);
            for (place, bytes) in apart {
                options.external_data(&place, bytes);
            }
            options.load(encoded)
        };
        let model = catch_panic(load).map_err(refused)?.map_err(|e| refused(e.to_string()))?;
        let ids = |tensors: &[TensorInfo]| -> Result<Vec<NodeId>, GraphError> {
            let id = |t: &TensorInfo| {
                model.node_id(&t.name).map_err(|e| refused(e.to_string()).at_tensor(&t.name))
            };
            tensors.iter().map(id).collect()
        };
        let (inputs, outputs) = (ids(&info.inputs)?, ids(&info.outputs)?);
        let (idle, inferred) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        let session = Session { model, plan, info, int8, inputs, outputs, idle, inferred };
        match session.trial() {
            Ok(()) | Err(RunError::NotFinite { .. }) => Ok(session),
            Err(e) => Err(refused(e.to_string())),
        }
    }

    /// Inputs, outputs and cost of the graph.
    pub fn info(&self) -> &GraphInfo {
        &self.info
    }

    /// The kernel of its integer products, if it has any.
    pub fn int8(&self) -> Option<Int8Kernel> {
        self.int8
    }

    /// Runs the graph on `inputs`, in the order of [`GraphInfo::inputs`]. The first dimension of every input and output is the
    /// batch, also where the graph declares it as 1: then positions are run one by one, as they are where a batch would be
    /// too large or would change a position's result.
    ///
    /// # Errors
    /// If an input does not fit, or an output is not finite.
    pub fn run(&self, inputs: &[InputTensor<'_>]) -> Result<Vec<OutputTensor>, RunError> {
        if inputs.len() != self.inputs.len() {
            return Err(RunError::InputCount { expected: self.inputs.len(), given: inputs.len() });
        }
        for (input, info) in inputs.iter().zip(&self.info.inputs) {
            fits_declaration(input, info)?;
        }
        let positions = inputs.first().and_then(|input| input.shape.first().copied()).unwrap_or(1);
        let has_positions = |(input, info): (&InputTensor<'_>, &TensorInfo)| {
            matches!(info.shape.first(), Some(None | Some(1))) && input.shape.first() == Some(&positions)
        };
        if inputs.iter().zip(&self.info.inputs).all(has_positions) {
            self.run_positions(inputs, positions)
        } else {
            self.run_whole(inputs)
        }
    }

    /// A run on zeros, to find errors of the runtime at load time.
    fn trial(&self) -> Result<(), RunError> {
        let shapes = self.plan.single_position_shapes();
        let longest = shapes.iter().map(|shape| shape.iter().product()).max().unwrap_or(0);
        let (ids, values) = (vec![0; longest], vec![0.0; longest]);
        let zeros = |(shape, info): (&'_ Vec<usize>, &TensorInfo)| {
            let len = shape.iter().product();
            match info.kind {
                ElementKind::Float => InputData::Values(&values[..len]),
                _ => InputData::Ids(&ids[..len]),
            }
        };
        let data: Vec<_> = shapes.iter().zip(&self.info.inputs).map(zeros).collect();
        let inputs: Vec<_> =
            shapes.iter().zip(data).map(|(shape, data)| InputTensor { shape, data }).collect();
        self.execute(&inputs).map(drop)
    }

    /// Runs `positions` as one batch if possible, else each half on its own.
    fn run_positions(
        &self,
        inputs: &[InputTensor<'_>],
        positions: usize,
    ) -> Result<Vec<OutputTensor>, RunError> {
        if positions <= 1 || self.runs_at_once(inputs, positions) {
            let mut outputs = self.run_whole(inputs)?;
            for output in outputs.iter_mut().filter(|output| output.shape.first() != Some(&positions)) {
                output.shape.insert(0, positions);
            }
            return Ok(outputs);
        }
        let middle = positions / 2;
        let (first, second): (Vec<_>, Vec<_>) = inputs.iter().map(|input| halves(input, middle)).unzip();
        let half = |parts: &[(Vec<usize>, InputData<'_>)], rows: usize| {
            let inputs: Vec<_> =
                parts.iter().map(|(shape, data)| InputTensor { shape, data: *data }).collect();
            self.run_positions(&inputs, rows)
        };
        let mut outputs = half(&first, middle)?;
        let more = half(&second, positions - middle)?;
        for (output, more) in outputs.iter_mut().zip(more) {
            output.shape[0] = positions;
            output.values.extend(more.values);
        }
        Ok(outputs)
    }

    /// Whether `positions` may run as one batch.
    fn runs_at_once(&self, inputs: &[InputTensor<'_>], positions: usize) -> bool {
        let free = self.info.inputs.iter().all(|info| info.shape.first() == Some(&None));
        free && !self.plan.batch_dependent() && self.run_shape(inputs) == RunShape::Rows(positions)
    }

    /// Runs the inputs as one batch, after shape inference.
    fn run_whole(&self, inputs: &[InputTensor<'_>]) -> Result<Vec<OutputTensor>, RunError> {
        match self.run_shape(inputs) {
            RunShape::Rejected(why) => Err(RunError::Runtime(why)),
            RunShape::Rows(_) | RunShape::Mixed => self.execute(inputs),
        }
    }

    /// Shape inference for these inputs, cached.
    fn run_shape(&self, inputs: &[InputTensor<'_>]) -> RunShape {
        let mut inferred = self.inferred.lock().unwrap_or_else(PoisonError::into_inner);
        let same =
            |shapes: &[Vec<usize>]| shapes.iter().map(Vec::as_slice).eq(inputs.iter().map(|i| i.shape));
        if let Some((_, run_shape)) = inferred.iter().find(|(shapes, _)| same(shapes)) {
            return run_shape.clone();
        }
        let shapes: Vec<Vec<usize>> = inputs.iter().map(|input| input.shape.to_vec()).collect();
        let run_shape = match self.plan.infer_run(&shapes) {
            Err(e) => RunShape::Rejected(e.to_string()),
            Ok(inferred) => {
                let mut rows = inferred.output_shapes().map(|shape| shape.first().copied());
                match rows.next().flatten() {
                    Some(first) if rows.all(|next| next == Some(first)) => RunShape::Rows(first),
                    _ => RunShape::Mixed,
                }
            }
        };
        if inferred.len() >= MAX_CACHED {
            inferred.clear();
        }
        inferred.push((shapes, run_shape.clone()));
        run_shape
    }

    fn execute(&self, inputs: &[InputTensor<'_>]) -> Result<Vec<OutputTensor>, RunError> {
        let mut values = Vec::with_capacity(inputs.len());
        for ((input, info), &id) in inputs.iter().zip(&self.info.inputs).zip(&self.inputs) {
            values.push((id, runtime_value(input, info)?));
        }
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let thread = idle.unwrap_or_else(|| Arc::new(ThreadPool::with_num_threads(1)));
        let options = RunOptions::default().with_thread_pool(Some(Arc::clone(&thread)));
        let outputs = catch_panic(|| self.model.run(values, &self.outputs, Some(options)));
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        let outputs = outputs.map_err(RunError::Runtime)?;
        let outputs = outputs.map_err(|e| RunError::Runtime(e.to_string()))?;
        let named = outputs.into_iter().zip(&self.info.outputs);
        named.map(|(value, info)| output_tensor(&info.name, value)).collect()
    }
}

/// The first `middle` positions of an input and the rest, each with its shape.
fn halves<'a>(
    input: &InputTensor<'a>,
    middle: usize,
) -> ((Vec<usize>, InputData<'a>), (Vec<usize>, InputData<'a>)) {
    let (positions, one) = (input.shape[0], &input.shape[1..]);
    let shape = |rows: usize| [&[rows], one].concat();
    let (first, second) = input.data.split_at(middle * one.iter().product::<usize>());
    ((shape(middle), first), (shape(positions - middle), second))
}

/// Runs `work`, turning a panic into its message.
fn catch_panic<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // What a panic leaves behind is dropped (a load) or only read (a run).
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
        format!("panic: {}", text.unwrap_or_else(|| "unknown panic".to_owned()))
    })
}

/// Bytes of a tensor that rten gets as it is: encoding the graph would copy it, and reading that once more.
const LARGE: usize = 1 << 20;

/// Takes the large weights out of a graph and leaves their places, as ONNX names files of weights beside a graph.
fn take_large_weights(model: &mut ModelProto) -> Vec<(String, Vec<u8>)> {
    let graph = model.graph.iter_mut();
    let large = graph.flat_map(|graph| &mut graph.initializer).filter(|tensor| {
        // Others are converted.
        tensor.data_type == data_type::FLOAT && tensor.raw_data.len() >= LARGE
    });
    let mut apart = Vec::new();
    for (number, tensor) in large.enumerate() {
        let bytes = std::mem::take(&mut tensor.raw_data);
        let (place, length) = (format!("{number}.data"), bytes.len().to_string());
        tensor.data_location = EXTERNAL;
        let entry = |(key, value): (&str, &str)| StringStringEntryProto {
            key: key.to_owned(),
            value: value.to_owned(),
        };
        tensor.external_data =
            [("location", place.as_str()), ("offset", "0"), ("length", &length)].map(entry).to_vec();
        apart.push((place, bytes));
    }
    apart
}

/// Rewrites what rten does not support: bfloat16 tensors become `f32`, casts to other float types become casts to `f32`,
/// Dropout becomes Identity, and windows get the kernel shape and strides that a file may omit.
fn adapt(model: &mut ModelProto) -> Result<(), GraphError> {
    let Some(graph) = &mut model.graph else { return Ok(()) };
    let inside = graph.node.iter_mut().flat_map(|node| &mut node.attribute).filter_map(|a| a.t.as_mut());
    for tensor in graph.initializer.iter_mut().chain(inside) {
        if tensor.data_type == data_type::BFLOAT16 {
            let values = read::floats(tensor)?;
            tensor.raw_data = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            tensor.int32_data = Vec::new();
            tensor.data_type = data_type::FLOAT;
        }
    }
    let wide = [data_type::FLOAT16, data_type::BFLOAT16, data_type::DOUBLE].map(i64::from);
    for node in &mut graph.node {
        match node.op_type.as_str() {
            "Cast" => {
                let to = node.attribute.iter_mut().find(|a| a.name == "to").and_then(|a| a.i.as_mut());
                if let Some(to) = to.filter(|to| wide.contains(to)) {
                    *to = i64::from(data_type::FLOAT);
                }
            }
            "Dropout" => {
                node.op_type = "Identity".to_owned();
                node.input.truncate(1);
                node.attribute.clear();
            }
            "Conv" | "ConvInteger" | "ConvTranspose" if !has_attribute(node, "kernel_shape") => {
                let filters = node.input.get(1);
                let filters = filters.and_then(|name| graph.initializer.iter().find(|t| t.name == *name));
                if let Some(kernel) = filters.and_then(|tensor| tensor.dims.get(2..)) {
                    node.attribute.push(ints_attribute("kernel_shape", kernel));
                }
            }
            "MaxPool" | "AveragePool" if !has_attribute(node, "strides") => {
                let kernel = node.attribute.iter().find(|a| a.name == "kernel_shape");
                let strides = vec![1; kernel.map_or(0, |a| a.ints.len())];
                node.attribute.push(ints_attribute("strides", &strides));
            }
            _ => {}
        }
    }
    Ok(())
}

fn has_attribute(node: &NodeProto, name: &str) -> bool {
    node.attribute.iter().any(|a| a.name == name)
}

fn ints_attribute(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto {
        name: name.to_owned(),
        ints: ints.to_vec(),
        r#type: attribute_type::INTS,
        ..AttributeProto::default()
    }
}

fn fits_declaration(input: &InputTensor<'_>, info: &TensorInfo) -> Result<(), RunError> {
    let fits = |(index, (&given, declared)): (usize, (&usize, &Option<usize>))| match declared {
        None => given > 0,
        Some(1) if index == 0 => given > 0,
        Some(size) => given == *size,
    };
    let same_rank = input.shape.len() == info.shape.len();
    if !same_rank || !input.shape.iter().zip(&info.shape).enumerate().all(fits) {
        let dim = |dim: &Option<usize>| dim.map_or_else(|| "?".to_owned(), |size| size.to_string());
        let expected = info.shape.iter().map(dim).collect::<Vec<_>>().join(", ");
        return Err(RunError::Shape {
            input: info.name.clone(),
            expected: format!("[{expected}]"),
            given: input.shape.to_vec(),
        });
    }
    let wanted = input.shape.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
    if wanted != Some(input.data.len()) {
        let (shape, len) = (input.shape.to_vec(), input.data.len());
        return Err(RunError::Length { input: info.name.clone(), shape, len });
    }
    Ok(())
}

fn runtime_value<'a>(input: &InputTensor<'a>, info: &TensorInfo) -> Result<ValueOrView<'a>, RunError> {
    let kind = |expected| RunError::Kind { input: info.name.clone(), expected };
    Ok(match (input.data, info.kind) {
        (InputData::Values(data), ElementKind::Float) => {
            ValueView::from_shape(input.shape, data).map_err(failed)?.into()
        }
        (InputData::Ids(data), ElementKind::Int) => {
            ValueView::from_shape(input.shape, data).map_err(failed)?.into()
        }
        (InputData::Ids(data), ElementKind::Float) => {
            let data: Vec<f32> = data.iter().map(|&id| id as f32).collect();
            Value::from_shape(input.shape, data).map_err(failed)?.into()
        }
        (InputData::Ids(data), ElementKind::Uint8) => {
            let bytes: Result<Vec<u8>, _> = data.iter().map(|&id| u8::try_from(id)).collect();
            Value::from_shape(input.shape, bytes.map_err(|_| kind("ids from 0 to 255"))?)
                .map_err(failed)?
                .into()
        }
        (InputData::Ids(data), ElementKind::Int8) => {
            let bytes: Result<Vec<i8>, _> = data.iter().map(|&id| i8::try_from(id)).collect();
            Value::from_shape(input.shape, bytes.map_err(|_| kind("ids from -128 to 127"))?)
                .map_err(failed)?
                .into()
        }
        (InputData::Values(_), _) => return Err(kind("ids, not features")),
    })
}

fn failed(error: impl std::error::Error) -> RunError {
    RunError::Runtime(error.to_string())
}

fn output_tensor(name: &str, value: Value) -> Result<OutputTensor, RunError> {
    let (shape, values) = match value {
        Value::FloatTensor(t) => (t.shape().to_vec(), t.into_data()),
        Value::Int32Tensor(t) => (t.shape().to_vec(), t.into_data().into_iter().map(|v| v as f32).collect()),
        Value::Int8Tensor(t) => (t.shape().to_vec(), t.into_data().into_iter().map(f32::from).collect()),
        Value::UInt8Tensor(t) => (t.shape().to_vec(), t.into_data().into_iter().map(f32::from).collect()),
        _ => return Err(RunError::Runtime(format!("output {name:?} is not a tensor"))),
    };
    if values.iter().any(|v: &f32| !v.is_finite()) {
        return Err(RunError::NotFinite { output: name.to_owned() });
    }
    Ok(OutputTensor { name: name.to_owned(), shape, values })
}
