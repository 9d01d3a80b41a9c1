//! Lowering the opset a graph declares, for runtimes that do not know a newer one.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use crate::proto::{GraphProto, ModelProto, NodeProto};
use crate::{ErrorKind, GraphError};

/// The oldest opset that a graph can be lowered to. The forms of operators below it are not told apart.
pub const OLDEST: i64 = 14;

/// Declares `opset` instead of a newer one. The operators stay as they are.
///
/// # Errors
/// If `opset` is older than [`OLDEST`] or newer than the graph's, or an operator has another form there, or none.
pub fn lower(model: &mut ModelProto, opset: i64) -> Result<(), GraphError> {
    let error = |message: String| GraphError::new(ErrorKind::Unsupported, message);
    let declared = model.opset_import.iter_mut().find(|set| matches!(set.domain.as_str(), "" | "ai.onnx"));
    let Some(declared) = declared else { return Err(error("the graph declares no opset".to_owned())) };
    if !(OLDEST..=declared.version).contains(&opset) {
        let message = format!("opset {opset} (expected {OLDEST} to {}, the graph's own)", declared.version);
        return Err(error(message));
    }
    if let Some((node, first)) = model.graph.as_ref().and_then(|graph| newest(graph, opset)) {
        let message = format!("opset {opset}: this form of {} needs at least opset {first}", node.op_type);
        return Err(error(message).at_operator(&node.name));
    }
    declared.version = opset;
    Ok(())
}

/// The first operator that needs an opset above `opset`, and which.
fn newest(graph: &GraphProto, opset: i64) -> Option<(&NodeProto, i64)> {
    graph.node.iter().map(|node| (node, first_opset(node))).find(|(_, first)| *first > opset)
}

/// The first opset, from [`OLDEST`] on, in which an operator has this form.
fn first_opset(node: &NodeProto) -> i64 {
    let has = |name: &str| node.attribute.iter().any(|attribute| attribute.name == name);
    let inputs = node.input.iter().filter(|input| !input.is_empty()).count();
    match node.op_type.as_str() {
        "Shape" if has("start") || has("end") => 15,
        "Bernoulli" | "CastLike" => 15,
        "ScatterND" | "ScatterElements" if has("reduction") => 16,
        "GridSample" => 16,
        "LayerNormalization" | "DFT" | "STFT" => 17,
        "ReduceMean" | "ReduceMax" | "ReduceMin" | "ReduceProd" | "ReduceL1" | "ReduceL2"
        | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceSumSquare"
            if inputs > 1 =>
        {
            18
        }
        "Split" if has("num_outputs") => 18,
        "Pad" if inputs > 3 => 18,
        "Mish" | "GroupNormalization" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" | "BitwiseNot"
        | "CenterCropPad" | "Col2Im" => 18,
        "AveragePool" if has("dilations") => 19,
        "Gelu" | "AffineGrid" => 20,
        "QuantizeLinear" | "DequantizeLinear" if has("block_size") => 21,
        "RMSNormalization" | "RotaryEmbedding" | "Attention" => 23,
        "Swish" => 24,
        _ => OLDEST,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::{GraphBuilder, Node, OPSET};

    fn graph(op: &str) -> ModelProto {
        let mut b = GraphBuilder::new("test");
        let x = b.input("x", &[8]);
        let gain = b.weight("gain", &[8], &[1.0; 8]);
        let inputs: &[&Node] = if op == "LayerNormalization" { &[&x, &gain] } else { &[&x] };
        let y = b.op(op, inputs, &[]);
        b.output(&y, "y", &[8]);
        b.finish()
    }

    #[test]
    fn graph_of_old_operators_is_lowered() {
        let mut model = graph("Relu");
        lower(&mut model, 14).unwrap();
        assert_eq!(model.opset_import[0].version, 14);
    }

    #[test]
    fn newer_operators_and_opsets_are_refused() {
        let mut model = graph("LayerNormalization");
        assert_eq!(lower(&mut model, 16).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(model.opset_import[0].version, OPSET);
        lower(&mut model, 17).unwrap();
        for opset in [13, OPSET + 1] {
            assert_eq!(lower(&mut graph("Relu"), opset).unwrap_err().kind(), ErrorKind::Unsupported);
        }
    }
}
