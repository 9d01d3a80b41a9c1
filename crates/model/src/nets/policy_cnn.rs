//! The convolutional policy network of Learning a Chess Policy, with each of its heads.
//!
//! Features are `[channels, rank, file]`, so square `s` (a1 = 0) is place `s` of a flattened plane.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::Recognised;
use super::layers::Layers;
use crate::card::StateDict;
use crate::onnx::build::Node;
use crate::tensors::TensorMap;
use crate::{LoadError, LoadErrorKind};

pub(super) const NAME: &str = "the convolutional policy network";

const SQUARES: usize = 64;
const CANONICAL_MOVES: usize = 1968;
/// Outputs at a from-square: one for every to-square, and one for each piece to promote to.
const MOVE_PLANES: usize = SQUARES + 4;
/// No promotion, knight, bishop, rook, queen.
const PROMOTION_KINDS: usize = 5;
/// What `nn.RMSNorm` takes when it is given no eps: the machine epsilon of its 32-bit input.
const RMS_EPS: f32 = f32::EPSILON;
const LAYER_EPS: f32 = 1e-5;

/// What turns the features into one number a move.
#[derive(Clone, Copy, Debug)]
enum Head {
    /// A norm, if there is one, and a linear layer on all features: `out_ln`, `output`.
    Output,
    /// The same two under `head`.
    Flatten,
    /// The same after a convolution to fewer channels.
    Reduce,
    /// One decoder for all from-squares.
    SpatialShared,
    /// A decoder for each from-square.
    SpatialUnshared,
    /// The dot product of a from-vector and a to-vector.
    Bilinear,
    /// The sum of a from-number and a to-number.
    Factored,
}

impl Head {
    /// The head whose tensor is present.
    const MARKS: [(&str, Head); 7] = [
        ("output.weight", Head::Output),
        ("head.reduce.0.weight", Head::Reduce),
        ("head.out.weight", Head::Flatten),
        ("head.conv.weight", Head::SpatialShared),
        ("head.weight", Head::SpatialUnshared),
        ("head.from_proj.weight", Head::Bilinear),
        ("head.from_head.weight", Head::Factored),
    ];

    fn of(tensors: &TensorMap) -> Result<Self, LoadError> {
        let mark = Head::MARKS.iter().find(|(mark, _)| tensors.contains(mark));
        mark.map(|&(_, head)| head).ok_or_else(|| {
            let marks: Vec<&str> = Head::MARKS.iter().map(|(mark, _)| *mark).collect();
            let message = format!("no known head; one of these tensors is needed: {}", marks.join(", "));
            tensors.error(LoadErrorKind::UnknownNetwork, message)
        })
    }
}

pub(super) fn fits(tensors: &TensorMap) -> bool {
    tensors.shape("layers.0.weight").is_some_and(|shape| shape.len() == 4)
}

pub(super) fn build(tensors: &mut TensorMap, _: &StateDict) -> Result<Recognised, LoadError> {
    let [channels, planes, kernel, _] = tensors.dims("layers.0.weight")?;
    let (encoding, vocabulary) = match planes {
        17 => ("policy-planes-17", "canonical-1968-mover"),
        18 => ("policy-planes-18", "canonical-1968"),
        _ => {
            let message = format!("{planes} input planes; 17 (side to move's view) and 18 are known");
            return Err(tensors.error(LoadErrorKind::Shape, message).at_tensor("layers.0.weight"));
        }
    };
    let head = Head::of(tensors)?;
    // The input convolution and its activation are places 0 and 1.
    let blocks = (2..).take_while(|i| tensors.contains(&format!("layers.{i}.conv1.weight"))).count();

    let mut net = Layers::new("policy_cnn", tensors);
    let board = net.input("board", &[planes, 8, 8]);
    let x = net.conv(&board, "layers.0", [channels, planes, kernel])?;
    let mut x = net.gelu(&x);
    for block in 2..2 + blocks {
        let y = conv_step(&mut net, &x, block, 1, [channels, kernel])?;
        let y = conv_step(&mut net, &y, block, 2, [channels, kernel])?;
        x = net.binary("Add", &x, &y);
    }
    let (logits, moves) = decode(&mut net, &x, channels, head)?;
    net.output(&logits, "policy", moves);

    Ok(Recognised {
        graph: net.finish(),
        apart: None,
        encoding: Some(encoding),
        vocabulary: (moves == CANONICAL_MOVES).then_some(vocabulary),
        architecture: format!(
            "policy CNN: {planes} planes, {blocks} residual blocks, {channels} channels, kernel {kernel}, \
             {head:?} head, {moves} moves"
        ),
    })
}

/// Norm, convolution and activation: one half of a residual block.
fn conv_step(
    net: &mut Layers<'_>,
    x: &Node,
    block: usize,
    half: usize,
    [channels, kernel]: [usize; 2],
) -> Result<Node, LoadError> {
    let normal = norm_planes(net, x, &format!("layers.{block}.ln{half}"), channels)?;
    let y = net.conv(&normal, &format!("layers.{block}.conv{half}"), [channels, channels, kernel])?;
    Ok(net.gelu(&y))
}

/// A norm over all features of a position, on their planes.
fn norm_planes(net: &mut Layers<'_>, x: &Node, layer: &str, channels: usize) -> Result<Node, LoadError> {
    let flat = net.reshape(x, &[-1, (channels * SQUARES) as i64]);
    let normal = norm(net, &flat, layer, &[channels, 8, 8])?;
    Ok(net.reshape(&normal, &[-1, channels as i64, 8, 8]))
}

/// A norm over the last dimension: with a bias it is a LayerNorm, without an RMSNorm.
fn norm(net: &mut Layers<'_>, x: &Node, layer: &str, shape: &[usize]) -> Result<Node, LoadError> {
    if net.tensors.contains(&format!("{layer}.bias")) {
        net.layer_norm(x, layer, shape, LAYER_EPS)
    } else {
        net.rms_norm(x, &format!("{layer}.weight"), shape, RMS_EPS)
    }
}

/// The logits and how many they are.
fn decode(net: &mut Layers<'_>, x: &Node, channels: usize, head: Head) -> Result<(Node, usize), LoadError> {
    let features = channels * SQUARES;
    match head {
        Head::Output => {
            let mut flat = net.reshape(x, &[-1, features as i64]);
            if net.tensors.contains("out_ln.weight") {
                flat = norm(net, &flat, "out_ln", &[features])?;
            }
            dense(net, &flat, "output", features)
        }
        Head::Flatten => {
            let flat = net.reshape(x, &[-1, features as i64]);
            let flat = norm(net, &flat, "head.norm", &[features])?;
            dense(net, &flat, "head.out", features)
        }
        Head::Reduce => {
            let [fewer, ..] = net.tensors.dims::<4>("head.reduce.0.weight")?;
            let y = net.conv(x, "head.reduce.0", [fewer, channels, 1])?;
            let y = net.gelu(&y);
            let flat = net.reshape(&y, &[-1, (fewer * SQUARES) as i64]);
            let flat = norm(net, &flat, "head.norm", &[fewer * SQUARES])?;
            dense(net, &flat, "head.out", fewer * SQUARES)
        }
        Head::SpatialShared => {
            let y = norm_planes(net, x, "head.norm", channels)?;
            let y = net.conv(&y, "head.conv", [MOVE_PLANES, channels, 1])?;
            let by_square = squares_first(net, &y, MOVE_PLANES);
            gather_spatial(net, &by_square)
        }
        Head::SpatialUnshared => {
            let y = norm_planes(net, x, "head.norm", channels)?;
            let y = squares_first(net, &y, channels);
            let rows = net.reshape(&y, &[-1, SQUARES as i64, 1, channels as i64]);
            let weight = net.weight("head.weight", &[SQUARES, channels, MOVE_PLANES])?;
            let y = net.binary("MatMul", &rows, &weight);
            let y = net.reshape(&y, &[-1, SQUARES as i64, MOVE_PLANES as i64]);
            let bias = net.weight("head.bias", &[SQUARES, MOVE_PLANES])?;
            let y = net.binary("Add", &y, &bias);
            gather_spatial(net, &y)
        }
        Head::Bilinear => {
            let [depth, ..] = net.tensors.dims::<4>("head.from_proj.weight")?;
            let y = norm_planes(net, x, "head.norm", channels)?;
            let from = net.conv(&y, "head.from_proj", [depth, channels, 1])?;
            let from = squares_first(net, &from, depth);
            let to = net.conv(&y, "head.to_proj", [depth, channels, 1])?;
            let to = net.reshape(&to, &[-1, depth as i64, SQUARES as i64]);
            let pairs = net.binary("MatMul", &from, &to);
            let pairs = net.reshape(&pairs, &[-1, (SQUARES * SQUARES) as i64]);

            let [moves] = net.tensors.dims("head.from_idx")?;
            let from = indices(net, "head.from_idx", moves, SQUARES)?;
            let to = indices(net, "head.to_idx", moves, SQUARES)?;
            let places: Vec<i64> = from.iter().zip(&to).map(|(f, t)| f * SQUARES as i64 + t).collect();
            let places = net.ints(&places);
            let scores = net.gather(&pairs, &places, 1);
            add_promotion_bias(net, &scores, moves)
        }
        Head::Factored => {
            let flat = net.reshape(x, &[-1, features as i64]);
            let flat = norm(net, &flat, "head.norm", &[features])?;
            let from = net.linear(&flat, "head.from_head", SQUARES, features)?;
            let to = net.linear(&flat, "head.to_head", SQUARES, features)?;
            let [moves] = net.tensors.dims("head.from_idx")?;
            let from_squares = indices(net, "head.from_idx", moves, SQUARES)?;
            let to_squares = indices(net, "head.to_idx", moves, SQUARES)?;
            let places = net.ints(&from_squares);
            let from = net.gather(&from, &places, 1);
            let places = net.ints(&to_squares);
            let to = net.gather(&to, &places, 1);
            let scores = net.binary("Add", &from, &to);
            add_promotion_bias(net, &scores, moves)
        }
    }
}

fn dense(net: &mut Layers<'_>, x: &Node, layer: &str, inputs: usize) -> Result<(Node, usize), LoadError> {
    let [moves, _] = net.tensors.dims(&format!("{layer}.weight"))?;
    Ok((net.linear(x, layer, moves, inputs)?, moves))
}

/// `[planes, 8, 8]` as `[64, planes]`.
fn squares_first(net: &mut Layers<'_>, x: &Node, planes: usize) -> Node {
    let x = net.reshape(x, &[-1, planes as i64, SQUARES as i64]);
    net.transpose(&x, &[0, 2, 1])
}

/// From `[from, plane]`, the number of each move's to-square, and of its promotion where it has one.
fn gather_spatial(net: &mut Layers<'_>, x: &Node) -> Result<(Node, usize), LoadError> {
    let flat = net.reshape(x, &[-1, (SQUARES * MOVE_PLANES) as i64]);
    let [moves] = net.tensors.dims("head.base_idx")?;
    let base = indices(net, "head.base_idx", moves, SQUARES * MOVE_PLANES)?;
    let promotion = indices(net, "head.promo_idx", moves, SQUARES * MOVE_PLANES)?;
    let mask = net.weight("head.promo_mask", &[moves])?;
    let places = net.ints(&base);
    let plain = net.gather(&flat, &places, 1);
    let places = net.ints(&promotion);
    let extra = net.gather(&flat, &places, 1);
    let extra = net.binary("Mul", &extra, &mask);
    Ok((net.binary("Add", &plain, &extra), moves))
}

fn add_promotion_bias(net: &mut Layers<'_>, scores: &Node, moves: usize) -> Result<(Node, usize), LoadError> {
    let kinds = indices(net, "head.promo_idx", moves, PROMOTION_KINDS)?;
    let bias = net.weight("head.promo_bias", &[PROMOTION_KINDS])?;
    let kinds = net.ints(&kinds);
    let bias = net.gather(&bias, &kinds, 0);
    Ok((net.binary("Add", scores, &bias), moves))
}

/// A buffer that gives each of `moves` a place in a table of `bound` entries.
fn indices(net: &mut Layers<'_>, name: &str, moves: usize, bound: usize) -> Result<Vec<i64>, LoadError> {
    let tensor = net.tensors.take(name, &[moves])?;
    // Below 2^24 a 32-bit float holds every whole number.
    let inside = |v: &f32| v.fract() == 0.0 && *v >= 0.0 && *v < bound as f32;
    if let Some(at) = tensor.data().iter().position(|v| !inside(v)) {
        let message = format!("entry {at} is no whole number below {bound}");
        return Err(net.tensors.error(LoadErrorKind::Malformed, message).at_tensor(name));
    }
    Ok(tensor.data().iter().map(|&v| v as i64).collect())
}
