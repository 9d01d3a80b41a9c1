//! The `vocab.npy` of Learning a Chess Policy: the moves of a head that does not have all 1968.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tabia_encoding::{CANONICAL_1968_ROWS, MoveSubset, PolicyIndex};
use tabia_nets::vocabulary::{self, TENSOR};
use tabia_onnx::proto::{
    AttributeProto, DimensionProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, attribute_type,
    data_type,
};
use tabia_onnx::tensors::TensorMap;
use tabia_onnx::{ErrorKind, TensorError};

/// The first operator set in which `Pad` takes its amounts as an input.
const PAD_BY_INPUT: i64 = 11;
/// The logit of a move that a head does not have.
const UNKNOWN_MOVE: f32 = -10_000.0;

/// The moves of a head, in the order of its logits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeadMoves(Vec<PolicyIndex>);

impl HeadMoves {
    /// Reads a `vocab.npy`.
    ///
    /// # Errors
    /// If it is not one.
    pub(crate) fn read(bytes: &[u8]) -> Result<HeadMoves, TensorError> {
        let moves = MoveSubset::read_npy(bytes);
        moves.map(HeadMoves).map_err(|e| TensorError::new(ErrorKind::Malformed, format!("vocab.npy: {e}")))
    }

    /// Whether a head of this many logits has these moves, and they are not all of `canonical-1968` in its order.
    pub(crate) fn are_of(&self, logits: usize) -> bool {
        let canonical = self.0.len() == CANONICAL_1968_ROWS.len() && self.0.is_sorted();
        logits == self.0.len() && !canonical
    }

    /// Adds them to a state dict.
    ///
    /// # Errors
    /// If the state dict is too large.
    pub(crate) fn add_to(&self, tensors: &mut TensorMap) -> Result<(), TensorError> {
        tensors.insert(TENSOR, &[self.0.len()], self.0.iter().map(|index| f32::from(index.0)).collect())
    }

    /// Widens the output of a graph that has one logit for each of these moves to all 1968.
    pub(crate) fn widen(&self, model: &mut ModelProto) {
        let opset = model.opset_import.iter().find(|set| set.domain.is_empty()).map_or(0, |set| set.version);
        let Some(graph) = model.graph.as_mut().filter(|_| opset >= PAD_BY_INPUT) else { return };
        let fits = |output: &mut ValueInfoProto| {
            let logits = last_dimension(output).and_then(|dimension| dimension.dim_value);
            logits.and_then(|logits| usize::try_from(logits).ok()).is_some_and(|logits| self.are_of(logits))
        };
        let Some(at) = graph.output.iter_mut().position(fits) else { return };
        let Some(output) = graph.output.get_mut(at) else { return };
        if let Some(dimension) = last_dimension(output) {
            dimension.dim_value = Some(CANONICAL_1968_ROWS.len() as i64);
        }
        let name = output.name.clone();
        let part = |what: &str| format!("{name}/{what}");
        let renamed = part("known");
        for node in &mut graph.node {
            for value in node.input.iter_mut().chain(&mut node.output).filter(|value| **value == name) {
                value.clone_from(&renamed);
            }
        }
        let moves: Vec<i64> = self.0.iter().map(|index| i64::from(index.0)).collect();
        let places: Vec<i64> = vocabulary::places(&moves).into_iter().map(i64::from).collect();
        graph.initializer.push(integers(part("pads"), &[0, 0, 0, 1]));
        graph.initializer.push(TensorProto {
            name: part("unknown"),
            data_type: data_type::FLOAT,
            raw_data: UNKNOWN_MOVE.to_le_bytes().to_vec(),
            ..TensorProto::default()
        });
        graph.initializer.push(integers(part("moves"), &places));
        graph.node.push(NodeProto {
            op_type: "Pad".to_owned(),
            input: vec![renamed, part("pads"), part("unknown")],
            output: vec![part("padded")],
            ..NodeProto::default()
        });
        graph.node.push(NodeProto {
            op_type: "Gather".to_owned(),
            input: vec![part("padded"), part("moves")],
            output: vec![name.clone()],
            attribute: vec![AttributeProto {
                name: "axis".to_owned(),
                i: Some(1),
                r#type: attribute_type::INT,
                ..AttributeProto::default()
            }],
            ..NodeProto::default()
        });
    }
}

fn last_dimension(output: &mut ValueInfoProto) -> Option<&mut DimensionProto> {
    let shape = output.r#type.as_mut()?.tensor_type.as_mut()?.shape.as_mut()?;
    shape.dim.last_mut()
}

fn integers(name: String, values: &[i64]) -> TensorProto {
    TensorProto {
        name,
        dims: vec![values.len() as i64],
        data_type: data_type::INT64,
        raw_data: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        ..TensorProto::default()
    }
}
