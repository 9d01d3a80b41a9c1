//! Detecting a card from the names and shapes of a graph's inputs and outputs.

use tabia_encoding::{
    ElementKind, Encoding, InputSpec, TIME_BINS, ValueConvention, encodings, vocabularies, vocabulary,
};
use tabia_onnx::check::{self, GraphInfo, TensorInfo};
use tabia_onnx::proto::ModelProto;

use crate::action_values;
use crate::card::{ModelCard, PolicyHead, Side, ThinkTimeHead, ValueHead, WdlHead, WdlScale};

/// The first encoding whose inputs have the graph's shapes.
pub(crate) fn encoding_of(graph: &GraphInfo) -> Option<&'static dyn Encoding> {
    encodings().find(|e| inputs_fit(*e, graph))
}

/// Whether the inputs of graph and encoding agree in number, shape and type.
pub(crate) fn inputs_fit(encoding: &dyn Encoding, graph: &GraphInfo) -> bool {
    let specs = encoding.inputs();
    specs.len() == graph.inputs.len() && specs.iter().zip(&graph.inputs).all(|(s, t)| input_fits(s, t))
}

/// A shape fits without its batch dimension, or flattened. Exporters declare ids as integers or as floats.
fn input_fits(spec: &InputSpec, tensor: &TensorInfo) -> bool {
    let Some((_batch, shape)) = tensor.shape.split_first() else { return false };
    let same = shape.len() == spec.shape.len() && shape.iter().zip(spec.shape).all(|(a, b)| *a == Some(*b));
    let flat = shape.len() == 1 && shape[0] == Some(spec.len());
    let kind = match spec.kind {
        ElementKind::Id => matches!(tensor.kind, check::ElementKind::Int | check::ElementKind::Float),
        ElementKind::Value => tensor.kind == check::ElementKind::Float,
    };
    (same || flat) && kind
}

/// Elements of one position in `tensor`, when all dimensions but the batch are known.
pub(crate) fn row_len(tensor: &TensorInfo) -> Option<usize> {
    match tensor.shape.split_first() {
        None => Some(1),
        Some((_batch, rest)) => rest.iter().copied().product::<Option<usize>>(),
    }
}

/// The card of a graph over `encoding`, with heads detected by the widths of the outputs. `graph` describes `model`.
pub(crate) fn card(encoding: &dyn Encoding, graph: &GraphInfo, model: &ModelProto) -> ModelCard {
    let ValueConvention { unit, perspective } = encoding.value_convention();
    let mut card = ModelCard::of_encoding(encoding.id().0);
    let with_width = |width: usize| {
        graph.outputs.iter().filter(move |t| row_len(t) == Some(width)).map(|t| t.name.clone())
    };

    let preferred = encoding.default_vocabulary().and_then(|id| vocabulary(id.0));
    if let (Some(_), Some(moves)) = (encoding.move_token(), preferred) {
        let is_binned = |t: &&TensorInfo| row_len(t).is_some_and(action_values::has_bins);
        let output = graph.outputs.iter().find(is_binned).map(|t| t.name.clone());
        let vocabulary = moves.id().0.to_owned();
        card.policy = output.map(|output| PolicyHead {
            output,
            vocabulary,
            promotion_output: None,
            action_values: true,
        });
        return card;
    }
    for moves in preferred.into_iter().chain(vocabularies()) {
        let Some(output) = with_width(moves.width()).next() else { continue };
        let promotion_output = match moves.promotion_width() {
            0 => None,
            width => with_width(width).chain(with_width(8 * width)).next(),
        };
        if moves.promotion_width() == 0 || promotion_output.is_some() {
            card.policy = Some(PolicyHead {
                output,
                vocabulary: moves.id().0.to_owned(),
                promotion_output,
                action_values: false,
            });
            break;
        }
    }
    if let Some(output) = with_width(3).next() {
        let scale = if is_softmax(model, &output) { WdlScale::Probabilities } else { WdlScale::Logits };
        card.wdl = Some(WdlHead { output, scale, perspective: Side::Mover, order: encoding.outcome_order() });
    }
    let is_think_time = |t: &&TensorInfo| t.name == "think_time" && row_len(t) == Some(TIME_BINS);
    if let Some(output) = graph.outputs.iter().find(is_think_time) {
        card.think_time = Some(ThinkTimeHead { output: output.name.clone() });
    }
    // Leela networks may have a moves-left head beside the value.
    if encoding.has_value_heads()
        && let Some(output) = with_width(1).find(|name| !name.contains("moves_left") && !name.contains("mlh"))
    {
        card.value = Some(ValueHead { output, index: None, unit, perspective });
    }
    let headless = card.policy.is_none() && card.wdl.is_none() && card.value.is_none();
    let is_board = matches!(graph.inputs.as_slice(), [input] if input.name == "board");
    if headless && is_board && encoding.is_challenge() {
        let first = graph.outputs.first().filter(|output| row_len(output).is_some_and(|width| width > 0));
        card.value =
            first.map(|output| ValueHead { output: output.name.clone(), index: Some(0), unit, perspective });
    }
    card
}

/// Whether `value` is the output of a softmax, possibly renamed or reshaped.
fn is_softmax(model: &ModelProto, value: &str) -> bool {
    let nodes = model.graph.as_ref().map_or(&[][..], |graph| &graph.node);
    let mut value = value;
    // A longer walk would be a cycle.
    for _ in 0..nodes.len() {
        let Some(node) = nodes.iter().find(|node| node.output.iter().any(|output| output == value)) else {
            return false;
        };
        match (node.op_type.as_str(), node.input.first()) {
            ("Softmax", _) => return true,
            ("Identity" | "Reshape" | "Flatten" | "Squeeze" | "Cast", Some(input)) => value = input,
            _ => return false,
        }
    }
    false
}

/// The inputs and outputs of a graph, for messages.
pub(crate) fn describe(graph: &GraphInfo) -> String {
    let list = |tensors: &[TensorInfo]| {
        let shape = |t: &TensorInfo| {
            let dims: Vec<_> = t.shape.iter().map(|d| d.map_or("?".to_owned(), |d| d.to_string())).collect();
            format!("{:?} [{}]", t.name, dims.join(","))
        };
        tensors.iter().map(shape).collect::<Vec<_>>().join(", ")
    };
    format!("inputs {}; outputs {}", list(&graph.inputs), list(&graph.outputs))
}
