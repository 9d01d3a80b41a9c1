//! Products and convolutions in 8 bits: weights with a scale for each output, activations quantised as they come.
//!
//! `x W` becomes `DynamicQuantizeLinear(x)`, `MatMulInteger`, and a product with both scales; a convolution becomes
//! `ConvInteger` alike. Small weights stay as they are: they cost little and lose most.

use std::collections::HashMap;

use tabia_model::onnx::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, attribute_type, data_type,
};

/// Weights with fewer elements stay in 32 bits.
const SMALLEST: usize = 1024;

/// Rewrites every product and convolution with large constant weights.
pub(super) fn quantise(model: &mut ModelProto) {
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
    let dims: Vec<usize> = tensor.dims.iter().map(|&dim| dim as usize).collect();
    let elements: usize = dims.iter().product();
    let (inputs, outputs) = match (kind, dims.as_slice()) {
        (Weights::ByInput, &[inputs, outputs]) | (Weights::ByOutput, &[outputs, inputs]) => (inputs, outputs),
        (Weights::Filters, &[outputs, ..]) => (elements / outputs.max(1), outputs),
        _ => return None,
    };
    if tensor.data_type != data_type::FLOAT || elements < SMALLEST {
        return None;
    }
    let (chunks, _) = tensor.raw_data.as_chunks::<4>();
    let numbers: Vec<f32> = chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect();
    let at = |input: usize, output: usize| match kind {
        Weights::ByInput => numbers[input * outputs + output],
        Weights::ByOutput | Weights::Filters => numbers[output * inputs + input],
    };
    let scales: Vec<f32> = (0..outputs)
        .map(|output| (0..inputs).map(|input| at(input, output).abs()).fold(0.0, f32::max) / 127.0)
        .map(|scale| if scale > 0.0 { scale } else { 1.0 })
        .collect();
    let byte = |input: usize, output: usize| {
        (at(input, output) / scales[output]).round().clamp(-127.0, 127.0) as i8 as u8
    };
    let (bytes, dims, scale_dims): (Vec<u8>, Vec<usize>, Vec<usize>) = match kind {
        Weights::ByInput | Weights::ByOutput => {
            let bytes = (0..inputs).flat_map(|input| (0..outputs).map(move |output| (input, output)));
            (bytes.map(|(input, output)| byte(input, output)).collect(), vec![inputs, outputs], vec![outputs])
        }
        Weights::Filters => {
            let bytes = (0..outputs).flat_map(|output| (0..inputs).map(move |input| (input, output)));
            (bytes.map(|(input, output)| byte(input, output)).collect(), dims, vec![outputs, 1, 1])
        }
    };
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
    let to_float = AttributeProto {
        name: "to".to_owned(),
        i: Some(i64::from(data_type::FLOAT)),
        r#type: attribute_type::INT,
        ..AttributeProto::default()
    };
    push("Cast", "float", vec![of("sums")], vec![of("floats")], vec![to_float]);
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
