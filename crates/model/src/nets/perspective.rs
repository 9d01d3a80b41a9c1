//! Our evaluations for searches: the board as each side sees it goes through one layer, both halves side by side through
//! an output layer chosen by how many men are left. `(768 -> width) x 2 -> 1`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use tabia_encoding::{SparseEncoding, encoding};

use super::Recognised;
use super::layers::Layers;
use crate::card::StateDict;
use crate::onnx::build::Node;
use crate::tensors::TensorMap;
use crate::{LoadError, LoadErrorKind};

pub(super) const NAME: &str = "a perspective network";

const ENCODING: &str = "challenge-768";
const MOST_MEN: usize = 32;
/// Says to which power the clipped sums are raised, where it is not the first.
const POWER: &str = "activation.power";

pub(super) fn fits(tensors: &TensorMap) -> bool {
    tensors.contains("features.weight") && tensors.contains("output.weight")
}

pub(super) fn build(tensors: &mut TensorMap, _: &StateDict) -> Result<Recognised, LoadError> {
    let [width, inputs] = tensors.dims("features.weight")?;
    let [buckets, _] = tensors.dims("output.weight")?;
    let sparse = encoding(ENCODING).and_then(|encoding| encoding.sparse());
    let other_view = sparse.and_then(SparseEncoding::other_view).filter(|view| view.len() == inputs);
    let Some(other_view) = other_view else {
        let message = format!("has {inputs} inputs; perspective networks see the 768 of {ENCODING}");
        return Err(tensors.error(LoadErrorKind::Shape, message).at_tensor("features.weight"));
    };
    if buckets > MOST_MEN {
        let message = format!("has {buckets} outputs; there are at most {MOST_MEN} men to choose one by");
        return Err(tensors.error(LoadErrorKind::Shape, message).at_tensor("output.weight"));
    }
    let squared = squared(tensors)?;

    let mut net = Layers::new("perspective", tensors);
    let board = net.input("board", &[inputs]);
    let places = net.ints(&other_view.iter().map(|&place| i64::from(place)).collect::<Vec<_>>());
    let theirs = net.gather(&board, &places, 1);
    let weight = net.weight("features.weight", &[width, inputs])?;
    let bias = net.weight("features.bias", &[width])?;
    let mut half = |view: &Node| {
        let sums = net.gemm(view, &weight, &bias);
        let clipped = net.clipped_relu(&sums);
        if squared { net.binary("Mul", &clipped, &clipped) } else { clipped }
    };
    let (own, theirs) = (half(&board), half(&theirs));
    let both = net.concat(&[&own, &theirs], 1);
    let mut value = net.linear(&both, "output", buckets, 2 * width)?;
    if buckets > 1 {
        let men = net.row_sum(&board);
        let chosen = net.look_up(&men, &bucket_rows(buckets), buckets);
        let counted = net.binary("Mul", &value, &chosen);
        value = net.row_sum(&counted);
    }
    net.output(&value, "value", 1);
    let activation = if squared { ", squared" } else { "" };
    Ok(Recognised {
        graph: net.finish(),
        apart: None,
        encoding: Some(ENCODING),
        vocabulary: None,
        architecture: format!(
            "perspective network ({inputs} -> {width}) x 2 -> 1, {buckets} buckets{activation}"
        ),
    })
}

fn squared(tensors: &mut TensorMap) -> Result<bool, LoadError> {
    if !tensors.contains(POWER) {
        return Ok(false);
    }
    match tensors.take(POWER, &[1])?.data() {
        [1.0] => Ok(false),
        [2.0] => Ok(true),
        other => {
            let message = format!("is {other:?}; known are 1 and 2");
            Err(tensors.error(LoadErrorKind::UnknownNetwork, message).at_tensor(POWER))
        }
    }
}

/// For each number of men, from none to 32, a one at its bucket: men are spread evenly.
fn bucket_rows(buckets: usize) -> Vec<i64> {
    let bucket = |men: usize| men.saturating_sub(1) * buckets / MOST_MEN;
    (0..=MOST_MEN).flat_map(|men| (0..buckets).map(move |at| i64::from(at == bucket(men)))).collect()
}
