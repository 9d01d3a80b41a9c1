//! Products in 8 bits: weights with a scale for each output, activations quantised as they come.
//!
//! `x W` becomes `DynamicQuantizeLinear(x)`, `MatMulInteger`, and a product with both scales. Small matrices stay as they
//! are: they cost little and lose most.

use std::collections::HashMap;

use tabia_model::onnx::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, attribute_type, data_type,
};

/// Matrices with fewer elements stay in 32 bits.
const SMALLEST: usize = 1024;

/// Rewrites every product with a large constant matrix.
pub(super) fn quantise(model: &mut ModelProto) {
    let Some(graph) = &mut model.graph else { return };
    let nodes = std::mem::take(&mut graph.node);
    let mut done: HashMap<String, Quantised> = HashMap::new();
    for node in nodes {
        match product(graph, &mut done, &node) {
            Some(weight) => replace(graph, &node, &weight),
            None => graph.node.push(node),
        }
    }
    // The matrices themselves are gone, unless something else reads them.
    let still_read: Vec<&String> = graph.node.iter().flat_map(|node| &node.input).collect();
    let gone: Vec<String> = done.keys().filter(|name| !still_read.contains(name)).cloned().collect();
    graph.initializer.retain(|tensor| !gone.contains(&tensor.name));
}

/// A matrix in 8 bits: names of its numbers and of their scales.
#[derive(Clone)]
struct Quantised {
    numbers: String,
    scales: String,
}

/// The quantised right side of a product, made on first use; `None` where the node stays as it is.
fn product(
    graph: &mut GraphProto,
    done: &mut HashMap<String, Quantised>,
    node: &NodeProto,
) -> Option<Quantised> {
    let transposed = match node.op_type.as_str() {
        "MatMul" => false,
        "Gemm" => node.attribute.iter().any(|a| a.name == "transB" && a.i == Some(1)),
        _ => return None,
    };
    let name = node.input.get(1)?;
    if let Some(found) = done.get(name) {
        return Some(found.clone());
    }
    let tensor = graph.initializer.iter().find(|tensor| tensor.name == *name)?;
    let &[first, second] = tensor.dims.as_slice() else { return None };
    let (first, second) = (first as usize, second as usize);
    if tensor.data_type != data_type::FLOAT || first * second < SMALLEST {
        return None;
    }
    let (chunks, _) = tensor.raw_data.as_chunks::<4>();
    let numbers: Vec<f32> = chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect();
    let (inputs, outputs) = if transposed { (second, first) } else { (first, second) };
    let at = |input: usize, output: usize| {
        numbers[if transposed { output * inputs + input } else { input * outputs + output }]
    };
    let scales: Vec<f32> = (0..outputs)
        .map(|output| (0..inputs).map(|input| at(input, output).abs()).fold(0.0, f32::max) / 127.0)
        .map(|scale| if scale > 0.0 { scale } else { 1.0 })
        .collect();
    let mut bytes = Vec::with_capacity(numbers.len());
    for input in 0..inputs {
        for (output, scale) in scales.iter().enumerate() {
            bytes.push((at(input, output) / scale).round().clamp(-127.0, 127.0) as i8 as u8);
        }
    }
    let quantised = Quantised { numbers: format!("{name}_int8"), scales: format!("{name}_scales") };
    graph.initializer.push(TensorProto {
        dims: vec![inputs as i64, outputs as i64],
        data_type: data_type::INT8,
        name: quantised.numbers.clone(),
        raw_data: bytes,
        ..TensorProto::default()
    });
    graph.initializer.push(TensorProto {
        dims: vec![outputs as i64],
        data_type: data_type::FLOAT,
        name: quantised.scales.clone(),
        raw_data: scales.iter().flat_map(|scale| scale.to_le_bytes()).collect(),
        ..TensorProto::default()
    });
    done.insert(name.clone(), quantised.clone());
    Some(quantised)
}

fn replace(graph: &mut GraphProto, node: &NodeProto, weight: &Quantised) {
    let of = |part: &str| format!("{}_{part}", node.name);
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
    let x = node.input[0].clone();
    let quantised = vec![of("x"), of("x_scale"), of("x_zero")];
    push("DynamicQuantizeLinear", "quantise", vec![x], quantised, Vec::new());
    let operands = vec![of("x"), weight.numbers.clone(), of("x_zero")];
    push("MatMulInteger", "product", operands, vec![of("sums")], Vec::new());
    let to_float = AttributeProto {
        name: "to".to_owned(),
        i: Some(i64::from(data_type::FLOAT)),
        r#type: attribute_type::INT,
        ..AttributeProto::default()
    };
    push("Cast", "float", vec![of("sums")], vec![of("floats")], vec![to_float]);
    push("Mul", "scale", vec![of("x_scale"), weight.scales.clone()], vec![of("scales")], Vec::new());
    let bias = node.input.get(2).cloned();
    let result = if bias.is_some() { of("scaled") } else { node.output[0].clone() };
    push("Mul", "rescale", vec![of("floats"), of("scales")], vec![result.clone()], Vec::new());
    if let Some(bias) = bias {
        push("Add", "bias", vec![result, bias], node.output.clone(), Vec::new());
    }
}
