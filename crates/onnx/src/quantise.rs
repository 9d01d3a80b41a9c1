//! Products and convolutions in 8 bits: weights with a scale for each output, activations quantised as they come.
//!
//! `x W` becomes `DynamicQuantizeLinear(x)`, `MatMulInteger`, and a product with both scales; a convolution becomes
//! `ConvInteger` alike. Small weights stay as they are: they cost little and lose most.
//!
//! With [`quantise_weights`] only the file is in 8 bits: a `DequantizeLinear` gives the weights back as floats. With
//! [`halve_weights`] it is in half precision, and a `Cast` gives them back.

use std::collections::HashMap;

use half::f16;

use crate::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, attribute_type, data_type,
};

/// Weights with fewer elements stay in 32 bits.
const SMALLEST: usize = 1024;

/// Rewrites every product and convolution with large constant weights.
pub fn quantise(model: &mut ModelProto) {
    let Some(graph) = &mut model.graph else { return };
    let nodes = std::mem::take(&mut graph.node);
    let mut done: HashMap<String, Quantised> = HashMap::new();
    for node in nodes {
        match weights(graph, &mut done, &node) {
            Some(weights) => replace(graph, &node, &weights),
            None => graph.node.push(node),
        }
    }
    // The tensors themselves are gone, unless something else reads them.
    let read: Vec<&String> = graph.node.iter().flat_map(|node| &node.input).collect();
    let unread: Vec<String> = graph
        .initializer
        .iter()
        .map(|tensor| &tensor.name)
        .filter(|name| !read.contains(name))
        .cloned()
        .collect();
    graph.initializer.retain(|tensor| !unread.contains(&tensor.name));
}

/// Keeps large weights of products and convolutions in 8 bits, to be read as floats; what is computed stays as it is.
pub fn quantise_weights(model: &mut ModelProto) {
    let Some(graph) = &mut model.graph else { return };
    let mut read_back = Vec::new();
    for node in &graph.node {
        let (Some(kind), Some(name)) = (Weights::of(node), node.input.get(1)) else { continue };
        let Some(place) = graph.initializer.iter().position(|tensor| tensor.name == *name) else { continue };
        let Some(rounded) = Rounded::of(kind, &graph.initializer[place]) else { continue };
        let (numbers, scales) = (format!("{name}_int8"), format!("{name}_scales"));
        let tensor = &mut graph.initializer[place];
        tensor.name.clone_from(&numbers);
        tensor.data_type = data_type::INT8;
        tensor.raw_data = rounded.bytes.iter().map(|&byte| byte as u8).collect();
        graph.initializer.push(TensorProto {
            dims: vec![rounded.scales.len() as i64],
            data_type: data_type::FLOAT,
            name: scales.clone(),
            raw_data: rounded.scales.iter().flat_map(|scale| scale.to_le_bytes()).collect(),
            ..TensorProto::default()
        });
        read_back.push(NodeProto {
            name: format!("{name}_floats"),
            op_type: "DequantizeLinear".to_owned(),
            input: vec![numbers, scales],
            output: vec![name.clone()],
            attribute: vec![AttributeProto {
                name: "axis".to_owned(),
                i: Some(kind.output_axis()),
                r#type: attribute_type::INT,
                ..AttributeProto::default()
            }],
            ..NodeProto::default()
        });
    }
    graph.node.splice(0..0, read_back);
}

/// Keeps large tensors of floats in half precision, to be read as floats; what is computed stays as it is. Tensors with numbers
/// beyond the range of half precision stay in 32 bits.
pub fn halve_weights(model: &mut ModelProto) {
    let Some(graph) = &mut model.graph else { return };
    let mut read_back = Vec::new();
    for tensor in &mut graph.initializer {
        let Some(halves) = halves(tensor) else { continue };
        let name = tensor.name.clone();
        tensor.name = format!("{name}_half");
        tensor.data_type = data_type::FLOAT16;
        tensor.raw_data = halves;
        read_back.push(NodeProto {
            name: format!("{name}_floats"),
            op_type: "Cast".to_owned(),
            input: vec![tensor.name.clone()],
            output: vec![name],
            attribute: vec![to_float()],
            ..NodeProto::default()
        });
    }
    graph.node.splice(0..0, read_back);
}

/// The elements of a large tensor of floats in half precision, if all of them are in its range.
fn halves(tensor: &TensorProto) -> Option<Vec<u8>> {
    let elements: usize = tensor.dims.iter().map(|&dim| dim as usize).product();
    let is_raw = tensor.raw_data.len() == elements * size_of::<f32>();
    if tensor.data_type != data_type::FLOAT || elements < SMALLEST || !is_raw {
        return None;
    }
    let (chunks, _) = tensor.raw_data.as_chunks::<4>();
    let halves: Vec<f16> = chunks.iter().map(|chunk| f16::from_f32(f32::from_le_bytes(*chunk))).collect();
    let in_range = halves.iter().all(|half| half.is_finite());
    in_range.then(|| halves.iter().flat_map(|half| half.to_le_bytes()).collect())
}

/// The attribute of a `Cast` to floats.
fn to_float() -> AttributeProto {
    AttributeProto {
        name: "to".to_owned(),
        i: Some(i64::from(data_type::FLOAT)),
        r#type: attribute_type::INT,
        ..AttributeProto::default()
    }
}

/// Weights in 8 bits: names of their numbers and of the scales of their outputs.
#[derive(Clone)]
struct Quantised {
    numbers: String,
    scales: String,
}

/// What is multiplied, and how its weights lie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Weights {
    /// `[inputs, outputs]`, as `MatMulInteger` takes them.
    ByInput,
    /// `[outputs, inputs]`.
    ByOutput,
    /// `[outputs, ...]`, as `ConvInteger` takes them.
    Filters,
}

impl Weights {
    fn of(node: &NodeProto) -> Option<Self> {
        match node.op_type.as_str() {
            "Gemm" if node.attribute.iter().any(|a| a.name == "transB" && a.i == Some(1)) => {
                Some(Weights::ByOutput)
            }
            "MatMul" | "Gemm" => Some(Weights::ByInput),
            "Conv" => Some(Weights::Filters),
            _ => None,
        }
    }

    fn output_axis(self) -> i64 {
        match self {
            Weights::ByInput => 1,
            Weights::ByOutput | Weights::Filters => 0,
        }
    }
}

/// Weights rounded to 8 bits where they lie, with a scale for each output.
struct Rounded {
    bytes: Vec<i8>,
    scales: Vec<f32>,
}

impl Rounded {
    /// `None` where weights stay as they are.
    fn of(kind: Weights, tensor: &TensorProto) -> Option<Self> {
        let dims: Vec<usize> = tensor.dims.iter().map(|&dim| dim as usize).collect();
        let elements: usize = dims.iter().product();
        let is_raw = tensor.raw_data.len() == elements * size_of::<f32>();
        if tensor.data_type != data_type::FLOAT || elements < SMALLEST || !is_raw {
            return None;
        }
        // How many outputs there are, and how many elements on the next one begins.
        let (outputs, step) = match (kind, dims.as_slice()) {
            (Weights::ByInput, &[_, outputs]) => (outputs, 1),
            (Weights::ByOutput, &[outputs, inputs]) => (outputs, inputs),
            (Weights::Filters, &[outputs, ..]) => (outputs, elements / outputs.max(1)),
            _ => return None,
        };
        let (chunks, _) = tensor.raw_data.as_chunks::<4>();
        let numbers = || chunks.iter().map(|chunk| f32::from_le_bytes(*chunk));
        let output = |place: usize| place / step % outputs;
        let mut scales = vec![0.0_f32; outputs];
        for (place, number) in numbers().enumerate() {
            let scale = &mut scales[output(place)];
            *scale = scale.max(number.abs() / 127.0);
        }
        scales.iter_mut().filter(|scale| **scale == 0.0).for_each(|scale| *scale = 1.0);
        let byte = |(place, number): (usize, f32)| {
            (number / scales[output(place)]).round().clamp(-127.0, 127.0) as i8
        };
        let bytes = numbers().enumerate().map(byte).collect();
        Some(Rounded { bytes, scales })
    }
}

/// The quantised weights of a node, made on first use; `None` where the node stays as it is.
fn weights(
    graph: &mut GraphProto,
    done: &mut HashMap<String, Quantised>,
    node: &NodeProto,
) -> Option<Quantised> {
    let kind = Weights::of(node)?;
    let name = node.input.get(1)?;
    if let Some(found) = done.get(name) {
        return Some(found.clone());
    }
    let tensor = graph.initializer.iter().find(|tensor| tensor.name == *name)?;
    let Rounded { bytes, scales } = Rounded::of(kind, tensor)?;
    let dims: Vec<usize> = tensor.dims.iter().map(|&dim| dim as usize).collect();
    let outputs = scales.len();
    let (bytes, dims, scale_dims) = match kind {
        Weights::ByInput => (bytes, dims, vec![outputs]),
        Weights::ByOutput => {
            let inputs = bytes.len() / outputs.max(1);
            let turned = |input: usize| bytes.iter().skip(input).step_by(inputs).copied();
            ((0..inputs).flat_map(turned).collect(), vec![inputs, outputs], vec![outputs])
        }
        Weights::Filters => (bytes, dims, vec![outputs, 1, 1]),
    };
    let bytes: Vec<u8> = bytes.into_iter().map(|byte| byte as u8).collect();
    let quantised = Quantised { numbers: format!("{name}_int8"), scales: format!("{name}_scales") };
    let mut push = |name: &str, dims: &[usize], data_type, raw_data| {
        let dims = dims.iter().map(|&dim| dim as i64).collect();
        let name = name.to_owned();
        graph.initializer.push(TensorProto { dims, data_type, name, raw_data, ..TensorProto::default() });
    };
    push(&quantised.numbers, &dims, data_type::INT8, bytes);
    let scales = scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
    push(&quantised.scales, &scale_dims, data_type::FLOAT, scales);
    done.insert(name.clone(), quantised.clone());
    Some(quantised)
}

fn replace(graph: &mut GraphProto, node: &NodeProto, weights: &Quantised) {
    let of = |part: &str| format!("{}_{part}", node.name);
    let is_conv = node.op_type == "Conv";
    let pads = if is_conv { padding(graph, node) } else { None };
    let bias = node.input.get(2).map(|bias| if is_conv { by_channel(graph, bias) } else { bias.clone() });
    let mut push = |op: &str, part: &str, inputs: Vec<String>, outputs: Vec<String>, attributes| {
        graph.node.push(NodeProto {
            name: of(part),
            op_type: op.to_owned(),
            input: inputs,
            output: outputs,
            attribute: attributes,
            ..NodeProto::default()
        });
    };
    let mut x = node.input[0].clone();
    if let Some(pads) = pads {
        push("Pad", "pad", vec![x, pads], vec![of("padded")], Vec::new());
        x = of("padded");
    }
    let quantised = vec![of("x"), of("x_scale"), of("x_zero")];
    push("DynamicQuantizeLinear", "quantise", vec![x], quantised, Vec::new());
    let operands = vec![of("x"), weights.numbers.clone(), of("x_zero")];
    if is_conv {
        let attributes =
            node.attribute.iter().filter(|attribute| attribute.name != "pads").cloned().collect();
        push("ConvInteger", "product", operands, vec![of("sums")], attributes);
    } else {
        push("MatMulInteger", "product", operands, vec![of("sums")], Vec::new());
    }
    push("Cast", "float", vec![of("sums")], vec![of("floats")], vec![to_float()]);
    push("Mul", "scale", vec![of("x_scale"), weights.scales.clone()], vec![of("scales")], Vec::new());
    let result = if bias.is_some() { of("scaled") } else { node.output[0].clone() };
    push("Mul", "rescale", vec![of("floats"), of("scales")], vec![result.clone()], Vec::new());
    if let Some(bias) = bias {
        push("Add", "bias", vec![result, bias], node.output.clone(), Vec::new());
    }
}

/// The name of a convolution's padding as `Pad` takes it. Zeros are put around a board before it is quantised: what integer
/// convolutions pad with differs from one runtime to the next.
fn padding(graph: &mut GraphProto, node: &NodeProto) -> Option<String> {
    let pads = &node.attribute.iter().find(|attribute| attribute.name == "pads")?.ints;
    let &[top, left, bottom, right] = pads.as_slice() else { return None };
    let name = format!("pads_{top}_{left}_{bottom}_{right}");
    if graph.initializer.iter().all(|tensor| tensor.name != name) {
        let numbers = [0, 0, top, left, 0, 0, bottom, right];
        graph.initializer.push(TensorProto {
            dims: vec![numbers.len() as i64],
            data_type: data_type::INT64,
            name: name.clone(),
            raw_data: numbers.iter().flat_map(|number| number.to_le_bytes()).collect(),
            ..TensorProto::default()
        });
    }
    Some(name)
}

/// The bias of a convolution in the shape in which it adds to every square: a copy under another name.
fn by_channel(graph: &mut GraphProto, bias: &str) -> String {
    let name = format!("{bias}_by_channel");
    if let Some(tensor) = graph.initializer.iter().find(|tensor| tensor.name == bias)
        && graph.initializer.iter().all(|tensor| tensor.name != name)
    {
        let dims = [tensor.dims.as_slice(), &[1, 1]].concat();
        let copy = TensorProto { dims, name: name.clone(), ..tensor.clone() };
        graph.initializer.push(copy);
    }
    name
}
