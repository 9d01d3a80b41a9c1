//! The convolutional policy network of Learning a Chess Policy, with each of its heads.
//!
//! Features are `[channels, rank, file]`, so square `s` (a1 = 0) is place `s` of a flattened plane.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde::{Deserialize, Serialize};
use tabia_encoding::{CANONICAL_1968_ROWS, MoveSubset, PolicyIndex};

use crate::detect::{DetectError, Detected, Detector, Hints, Input, NamedTensors, contains, dims};
use crate::parameters::{Decay, Initial, ParameterTable};
use crate::vocabulary::{self, CANONICAL_MOVES};
use crate::{Architecture, Heads, Layers, NetConfig, Outputs};

pub(crate) const DETECTOR: Detector = Detector {
    name: "the convolutional policy network",
    fits: |tensors| trunk_of(tensors).is_some(),
    detect,
};

const SQUARES: usize = 64;
/// Numbers of metadata that [`PolicyCnnHead::Joined`] takes: the turn and the castling rights.
const META: usize = 5;
/// Outputs at a from-square: one for every to-square, and one for each piece to promote to.
const MOVE_PLANES: usize = SQUARES + 4;
/// No promotion, knight, bishop, rook, queen.
const PROMOTION_KINDS: usize = 5;
/// What `nn.RMSNorm` takes when it is given no eps: the machine epsilon of its 32-bit input.
const RMS_EPS: f32 = f32::EPSILON;
const LAYER_EPS: f32 = 1e-5;

/// The convolutional policy of Learning a Chess Policy: residual blocks over planes, 1968 moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyCnnConfig {
    /// Whose point of view the board is seen from.
    pub view: PolicyView,
    /// Channels of the blocks.
    pub channels: usize,
    /// Residual blocks.
    pub blocks: usize,
    /// Size of the square kernels; odd.
    pub kernel: usize,
    /// How moves are read off the features.
    pub head: PolicyCnnHead,
    /// The moves of the head, if they are not all 1968.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<MoveSubset>,
    /// How many moves the head has without a vocabulary; only files have another number than 1968.
    #[serde(skip, default = "canonical_moves")]
    pub moves: usize,
}

fn canonical_moves() -> usize {
    CANONICAL_MOVES
}

/// Whose point of view a convolutional policy sees the board from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyView {
    /// The side to move: 17 planes, moves flipped for Black.
    Mover,
    /// White: 18 planes, one of them the turn.
    White,
    /// White: 13 planes. The turn and the castling rights are joined at the head, [`PolicyCnnHead::Joined`].
    #[serde(rename = "white-13")]
    White13,
}

/// The name of the trunk's modules in a file.
fn trunk_of(tensors: &dyn NamedTensors) -> Option<&'static str> {
    let is_trunk =
        |name: &&str| tensors.shape(&format!("{name}.0.weight")).is_some_and(|shape| shape.len() == 4);
    ["layers", "backbone"].into_iter().find(is_trunk)
}

/// How a convolutional policy turns features into one logit per move. Some heads are read from files only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyCnnHead {
    /// A norm and a linear layer on all features.
    Flatten,
    /// The product of a from-vector and a to-vector of this depth.
    Bilinear(usize),
    /// A linear layer on all features and the metadata of [`PolicyView::White13`].
    Joined,
    /// [`Flatten`](PolicyCnnHead::Flatten) under other names, the norm optional: `out_ln`, `output`.
    #[serde(skip)]
    Output,
    /// [`Flatten`](PolicyCnnHead::Flatten) after a convolution to this many channels.
    #[serde(skip)]
    Reduce(usize),
    /// One decoder for all from-squares.
    #[serde(skip)]
    SpatialShared,
    /// A decoder for each from-square.
    #[serde(skip)]
    SpatialUnshared,
    /// The sum of a from-logit and a to-logit.
    #[serde(skip)]
    Factored,
}

impl PolicyCnnHead {
    /// Tensors that only one head has.
    const MARKS: [&str; 7] = [
        "output.weight",
        "head.reduce.0.weight",
        "head.out.weight",
        "head.conv.weight",
        "head.weight",
        "head.from_proj.weight",
        "head.from_head.weight",
    ];

    /// The head that the tensors have, and how many moves it knows.
    fn detect(tensors: &dyn NamedTensors) -> Result<(Self, usize), DetectError> {
        let Some(mark) = PolicyCnnHead::MARKS.into_iter().find(|mark| contains(tensors, mark)) else {
            let marks = PolicyCnnHead::MARKS.join(", ");
            let message = format!("no known head; one of these tensors is needed: {marks}");
            return Err(DetectError::unknown(None, message));
        };
        let rows = |name| dims::<2>(tensors, name).map(|[moves, _]| moves);
        let entries = |name| dims::<1>(tensors, name).map(|[moves]| moves);
        let channels = |name| dims::<4>(tensors, name).map(|[channels, ..]| channels);
        Ok(match mark {
            "output.weight" => (PolicyCnnHead::Output, rows(mark)?),
            "head.reduce.0.weight" => (PolicyCnnHead::Reduce(channels(mark)?), rows("head.out.weight")?),
            "head.out.weight" => (PolicyCnnHead::Flatten, rows(mark)?),
            "head.conv.weight" => (PolicyCnnHead::SpatialShared, entries("head.base_idx")?),
            "head.weight" if tensors.shape(mark).is_some_and(|shape| shape.len() == 2) => {
                (PolicyCnnHead::Joined, rows(mark)?)
            }
            "head.weight" => (PolicyCnnHead::SpatialUnshared, entries("head.base_idx")?),
            "head.from_proj.weight" => (PolicyCnnHead::Bilinear(channels(mark)?), entries("head.from_idx")?),
            _ => (PolicyCnnHead::Factored, entries("head.from_idx")?),
        })
    }

    /// The moves of a head whose index tables say from where to where each goes.
    fn listed_moves(self, tensors: &dyn NamedTensors) -> Option<(MoveSubset, Vec<i64>)> {
        let tables = self.index_tables();
        let [from, to, promotion] = tables else { return None };
        let values = |&(name, _): &(&str, usize)| tensors.values(name).unwrap_or_default();
        let [from, to, promotion] = [from, to, promotion].map(values);
        let rows = from.iter().zip(&to).zip(&promotion);
        let index = |((from, to), promotion): ((&f32, &f32), &f32)| {
            let row = [*from as u8, *to as u8, *promotion as u8];
            CANONICAL_1968_ROWS.binary_search(&row).ok().map(|index| PolicyIndex(index as u16))
        };
        let indices: Vec<PolicyIndex> = rows.map(index).collect::<Option<_>>()?;
        let subset = MoveSubset::of(&indices).ok()?;
        Some((subset, indices.iter().map(|index| i64::from(index.0)).collect()))
    }

    /// Its index tables, and the number of places each chooses from.
    fn index_tables(self) -> &'static [(&'static str, usize)] {
        match self {
            PolicyCnnHead::Output
            | PolicyCnnHead::Flatten
            | PolicyCnnHead::Reduce(_)
            | PolicyCnnHead::Joined => &[],
            PolicyCnnHead::SpatialShared | PolicyCnnHead::SpatialUnshared => {
                &[("head.base_idx", SQUARES * MOVE_PLANES), ("head.promo_idx", SQUARES * MOVE_PLANES)]
            }
            PolicyCnnHead::Bilinear(_) | PolicyCnnHead::Factored => {
                &[("head.from_idx", SQUARES), ("head.to_idx", SQUARES), ("head.promo_idx", PROMOTION_KINDS)]
            }
        }
    }

    fn name(self) -> &'static str {
        match self {
            PolicyCnnHead::Flatten => "Flatten",
            PolicyCnnHead::Bilinear(_) => "Bilinear",
            PolicyCnnHead::Joined => "Joined",
            PolicyCnnHead::Output => "Output",
            PolicyCnnHead::Reduce(_) => "Reduce",
            PolicyCnnHead::SpatialShared => "SpatialShared",
            PolicyCnnHead::SpatialUnshared => "SpatialUnshared",
            PolicyCnnHead::Factored => "Factored",
        }
    }
}

fn detect(tensors: &dyn NamedTensors, _: &Hints) -> Result<Detected, DetectError> {
    let trunk = trunk_of(tensors).unwrap_or("layers");
    let first = format!("{trunk}.0.weight");
    let [channels, planes, kernel, _] = dims(tensors, &first)?;
    let view = match planes {
        13 => PolicyView::White13,
        17 => PolicyView::Mover,
        18 => PolicyView::White,
        _ => {
            let message = format!(
                "{planes} input planes; 17 (side to move's view), 18 and 13 (with metadata joined at the head) are known"
            );
            return Err(DetectError::shape(&first, message));
        }
    };
    if trunk != view.trunk() {
        let message = format!("{planes} input planes; such a network has modules {}.N", view.trunk());
        return Err(DetectError::shape(&first, message));
    }
    let (head, moves) = PolicyCnnHead::detect(tensors)?;
    if (view == PolicyView::White13) != (head == PolicyCnnHead::Joined) {
        let message = format!("{planes} input planes do not go with a {} head", head.name());
        return Err(DetectError::shape(&first, message));
    }
    // The input convolution and its activation are places 0 and 1.
    let blocks = (2..).take_while(|i| contains(tensors, &format!("{trunk}.{i}.conv1.weight"))).count();
    let known = match vocabulary::detect(tensors, moves)? {
        None if moves != CANONICAL_MOVES => head.listed_moves(tensors),
        found => found,
    };
    let moves = if known.is_some() { CANONICAL_MOVES } else { moves };
    let vocabulary = known.as_ref().map(|(subset, _)| *subset);
    let config = PolicyCnnConfig { view, channels, blocks, kernel, head, vocabulary, moves };

    let whole = config.table();
    let optional = |name: &str| name == "out_ln.weight" || whole.is_linear_bias(name);
    let mut table = whole.filtered(|entry| !optional(&entry.name) || contains(tensors, &entry.name));
    // A norm with a bias is a LayerNorm, one without an RMSNorm.
    for entry in whole.entries() {
        let layer = entry.name.strip_suffix(".weight").filter(|layer| is_norm(layer));
        let bias = layer.map(|layer| format!("{layer}.bias")).filter(|bias| contains(tensors, bias));
        if let (Some(bias), true) = (bias, table.get(&entry.name).is_some()) {
            table.push(bias, &entry.shape, Initial::Zeros, Decay::Exempt);
        }
    }
    for &(name, bound) in head.index_tables() {
        let Some(values) = tensors.values(name) else {
            return Err(DetectError::Missing { tensor: name.to_owned() });
        };
        // Below 2^24 a 32-bit float holds every whole number.
        let inside = |v: &f32| v.fract() == 0.0 && *v >= 0.0 && *v < bound as f32;
        if let Some(at) = values.iter().position(|v| !inside(v)) {
            let message = format!("entry {at} is not a whole number below {bound}");
            return Err(DetectError::Index { tensor: name.to_owned(), message });
        }
        if values.len() != config.head_moves() {
            let message =
                format!("has {} entries, but the network has {} moves", values.len(), config.head_moves());
            return Err(DetectError::shape(name, message));
        }
        table.set_buffer(name, values.iter().map(|&v| v as i64).collect());
    }
    if let Some((_, indices)) = known {
        table.set_buffer(vocabulary::TENSOR, indices);
    }
    let mut detected = Detected::new(NetConfig::PolicyCnn(config), table);
    // The planes were named so before they had a second input beside them.
    if let [Input { name, .. }] = detected.inputs.as_mut_slice() {
        *name = "board";
    }
    Ok(detected)
}

fn is_norm(layer: &str) -> bool {
    layer == "out_ln" || layer == "head.norm" || layer.ends_with(".ln1") || layer.ends_with(".ln2")
}

impl PolicyView {
    fn planes(self) -> usize {
        match self {
            PolicyView::Mover => 17,
            PolicyView::White => 18,
            PolicyView::White13 => 13,
        }
    }

    fn trunk(self) -> &'static str {
        match self {
            PolicyView::Mover | PolicyView::White => "layers",
            PolicyView::White13 => "backbone",
        }
    }
}

impl PolicyCnnConfig {
    /// Logits of the head.
    fn head_moves(&self) -> usize {
        self.vocabulary.map_or(self.moves, |subset| subset.len())
    }

    fn is_canonical(&self) -> bool {
        self.vocabulary.is_some() || self.moves == CANONICAL_MOVES
    }

    fn head<L: Layers>(&self, net: &mut L, x: &L::Value) -> Result<L::Value, L::Error> {
        let features = self.channels * SQUARES;
        match self.head {
            PolicyCnnHead::Output => {
                let mut flat = net.reshape(x, &[features])?;
                if net.has("out_ln.weight") {
                    flat = norm(net, &flat, "out_ln")?;
                }
                net.linear(&flat, "output")
            }
            PolicyCnnHead::Flatten => {
                let flat = net.reshape(x, &[features])?;
                let flat = norm(net, &flat, "head.norm")?;
                net.linear(&flat, "head.out")
            }
            PolicyCnnHead::Joined => {
                let flat = net.reshape(x, &[features])?;
                let meta = net.input(1)?;
                let joined = net.concat(&[&flat, &meta], 1)?;
                net.linear(&joined, "head")
            }
            PolicyCnnHead::Reduce(fewer) => {
                let y = net.conv(x, "head.reduce.0")?;
                let y = net.gelu(&y)?;
                let flat = net.reshape(&y, &[fewer * SQUARES])?;
                let flat = norm(net, &flat, "head.norm")?;
                net.linear(&flat, "head.out")
            }
            PolicyCnnHead::SpatialShared => {
                let y = norm_planes(net, x, "head.norm", self.channels)?;
                let y = net.conv(&y, "head.conv")?;
                let by_square = squares_first(net, &y, MOVE_PLANES)?;
                gather_spatial(net, &by_square)
            }
            PolicyCnnHead::SpatialUnshared => {
                let y = norm_planes(net, x, "head.norm", self.channels)?;
                let y = squares_first(net, &y, self.channels)?;
                let rows = net.reshape(&y, &[SQUARES, 1, self.channels])?;
                let weight = net.parameter("head.weight")?;
                let y = net.matmul(&rows, &weight)?;
                let y = net.reshape(&y, &[SQUARES, MOVE_PLANES])?;
                let bias = net.parameter("head.bias")?;
                let y = net.add(&y, &bias)?;
                gather_spatial(net, &y)
            }
            PolicyCnnHead::Bilinear(depth) => {
                let y = norm_planes(net, x, "head.norm", self.channels)?;
                let from = net.conv(&y, "head.from_proj")?;
                let from = squares_first(net, &from, depth)?;
                let to = net.conv(&y, "head.to_proj")?;
                let to = net.reshape(&to, &[depth, SQUARES])?;
                let pairs = net.matmul(&from, &to)?;
                let pairs = net.reshape(&pairs, &[SQUARES * SQUARES])?;
                let (from, to) = (indices(net, "head.from_idx")?, indices(net, "head.to_idx")?);
                let places: Vec<u32> =
                    from.iter().zip(to).map(|(from, to)| from * SQUARES as u32 + to).collect();
                let scores = net.select(&pairs, 1, &places)?;
                add_promotion_bias(net, &scores)
            }
            PolicyCnnHead::Factored => {
                let flat = net.reshape(x, &[features])?;
                let flat = norm(net, &flat, "head.norm")?;
                let from = net.linear(&flat, "head.from_head")?;
                let to = net.linear(&flat, "head.to_head")?;
                let places = indices(net, "head.from_idx")?;
                let from = net.select(&from, 1, &places)?;
                let places = indices(net, "head.to_idx")?;
                let to = net.select(&to, 1, &places)?;
                let scores = net.add(&from, &to)?;
                add_promotion_bias(net, &scores)
            }
        }
    }
}

/// A norm over the last dimension: with a bias it is a LayerNorm, without an RMSNorm.
fn norm<L: Layers>(net: &mut L, x: &L::Value, layer: &str) -> Result<L::Value, L::Error> {
    if net.has(&format!("{layer}.bias")) {
        net.layer_norm(x, layer, LAYER_EPS)
    } else {
        net.rms_norm(x, &format!("{layer}.weight"), RMS_EPS)
    }
}

/// A norm over all features of a position, on their planes.
fn norm_planes<L: Layers>(
    net: &mut L,
    x: &L::Value,
    layer: &str,
    channels: usize,
) -> Result<L::Value, L::Error> {
    let flat = net.reshape(x, &[channels * SQUARES])?;
    let normal = norm(net, &flat, layer)?;
    net.reshape(&normal, &[channels, 8, 8])
}

/// `[planes, 8, 8]` as `[64, planes]`.
fn squares_first<L: Layers>(net: &mut L, x: &L::Value, planes: usize) -> Result<L::Value, L::Error> {
    let x = net.reshape(x, &[planes, SQUARES])?;
    net.permute(&x, &[0, 2, 1])
}

/// From `[from, plane]`, the logit of each move's to-square plus, where it promotes, that of its promotion.
fn gather_spatial<L: Layers>(net: &mut L, x: &L::Value) -> Result<L::Value, L::Error> {
    let flat = net.reshape(x, &[SQUARES * MOVE_PLANES])?;
    let mask = net.parameter("head.promo_mask")?;
    let places = indices(net, "head.base_idx")?;
    let plain = net.select(&flat, 1, &places)?;
    let places = indices(net, "head.promo_idx")?;
    let extra = net.select(&flat, 1, &places)?;
    let extra = net.mul(&extra, &mask)?;
    net.add(&plain, &extra)
}

fn add_promotion_bias<L: Layers>(net: &mut L, scores: &L::Value) -> Result<L::Value, L::Error> {
    let kinds = indices(net, "head.promo_idx")?;
    let bias = net.parameter("head.promo_bias")?;
    let bias = net.select(&bias, 0, &kinds)?;
    net.add(scores, &bias)
}

/// The entries of an index table.
fn indices<L: Layers>(net: &L, name: &str) -> Result<Vec<u32>, L::Error> {
    let entries = net.table().buffer(name).ok_or_else(|| L::error(format!("no index table {name}")))?;
    Ok(entries.iter().map(|&index| index as u32).collect())
}

impl Architecture for PolicyCnnConfig {
    fn graph_name(&self) -> &'static str {
        "policy_cnn"
    }

    fn encoding(&self) -> &str {
        match self.view {
            PolicyView::Mover => "policy-planes-17",
            PolicyView::White => "policy-planes-18",
            PolicyView::White13 => "policy-planes-13",
        }
    }

    fn vocabulary(&self) -> Option<&'static str> {
        let known = match self.view {
            PolicyView::Mover => "canonical-1968-mover",
            PolicyView::White | PolicyView::White13 => "canonical-1968",
        };
        self.is_canonical().then_some(known)
    }

    fn check(&self) -> Result<(), String> {
        if self.channels == 0 || self.head == PolicyCnnHead::Bilinear(0) {
            return Err("has a size of zero".to_owned());
        }
        if self.kernel.is_multiple_of(2) {
            return Err(format!("has a kernel of {}, which is not odd", self.kernel));
        }
        if (self.view == PolicyView::White13) != (self.head == PolicyCnnHead::Joined) {
            return Err("has the view white-13 without the head joined, or the other way round".to_owned());
        }
        Ok(())
    }

    fn table(&self) -> ParameterTable {
        let PolicyCnnConfig { channels: c, blocks, kernel: k, .. } = *self;
        let (trunk, moves) = (self.view.trunk(), self.head_moves());
        let features = c * SQUARES;
        let mut table = ParameterTable::new();
        let conv = |table: &mut ParameterTable, name: &str, outputs, inputs: usize, kernel: usize| {
            let fan = inputs as f32 * kernel as f32 * kernel as f32;
            let shape = [outputs, inputs, kernel, kernel];
            table.push(format!("{name}.weight"), &shape, Initial::Normal((2.0 / fan).sqrt()), Decay::Decayed);
            table.push(format!("{name}.bias"), &[outputs], Initial::Zeros, Decay::Exempt);
        };
        let norm = |table: &mut ParameterTable, name: &str, shape: &[usize]| {
            table.push(format!("{name}.weight"), shape, Initial::Ones, Decay::Exempt);
        };
        let linear = |table: &mut ParameterTable, name: &str, outputs, inputs: usize| {
            let initial = Initial::Normal(1.0 / (inputs as f32).sqrt());
            table.push(format!("{name}.weight"), &[outputs, inputs], initial, Decay::Decayed);
            table.push(format!("{name}.bias"), &[outputs], Initial::Zeros, Decay::Exempt);
        };
        conv(&mut table, &format!("{trunk}.0"), c, self.view.planes(), k);
        for i in 2..2 + blocks {
            for half in [1, 2] {
                norm(&mut table, &format!("{trunk}.{i}.ln{half}"), &[c, 8, 8]);
                conv(&mut table, &format!("{trunk}.{i}.conv{half}"), c, c, k);
            }
        }
        match self.head {
            PolicyCnnHead::Flatten => {
                norm(&mut table, "head.norm", &[features]);
                linear(&mut table, "head.out", moves, features);
            }
            PolicyCnnHead::Joined => linear(&mut table, "head", moves, features + META),
            PolicyCnnHead::Output => {
                norm(&mut table, "out_ln", &[features]);
                linear(&mut table, "output", moves, features);
            }
            PolicyCnnHead::Reduce(fewer) => {
                conv(&mut table, "head.reduce.0", fewer, c, 1);
                norm(&mut table, "head.norm", &[fewer * SQUARES]);
                linear(&mut table, "head.out", moves, fewer * SQUARES);
            }
            PolicyCnnHead::SpatialShared | PolicyCnnHead::SpatialUnshared => {
                norm(&mut table, "head.norm", &[c, 8, 8]);
                if self.head == PolicyCnnHead::SpatialShared {
                    conv(&mut table, "head.conv", MOVE_PLANES, c, 1);
                } else {
                    let shape = [SQUARES, c, MOVE_PLANES];
                    table.push("head.weight", &shape, Initial::Zeros, Decay::Decayed);
                    table.push("head.bias", &[SQUARES, MOVE_PLANES], Initial::Zeros, Decay::Exempt);
                }
                table.push("head.promo_mask", &[moves], Initial::Zeros, Decay::Exempt);
            }
            PolicyCnnHead::Bilinear(depth) => {
                norm(&mut table, "head.norm", &[c, 8, 8]);
                conv(&mut table, "head.from_proj", depth, c, 1);
                conv(&mut table, "head.to_proj", depth, c, 1);
                table.push("head.promo_bias", &[PROMOTION_KINDS], Initial::Zeros, Decay::Exempt);
                for (at, &(name, _)) in self.head.index_tables().iter().enumerate() {
                    let known = |index: &usize| {
                        self.vocabulary.is_none_or(|subset| subset.contains(PolicyIndex(*index as u16)))
                    };
                    let rows = CANONICAL_1968_ROWS.iter().enumerate().filter(|(index, _)| known(index));
                    let column = rows.filter_map(|(_, row)| row.get(at).copied());
                    table.set_buffer(name, column.map(i64::from).collect());
                }
            }
            PolicyCnnHead::Factored => {
                norm(&mut table, "head.norm", &[features]);
                linear(&mut table, "head.from_head", SQUARES, features);
                linear(&mut table, "head.to_head", SQUARES, features);
                table.push("head.promo_bias", &[PROMOTION_KINDS], Initial::Zeros, Decay::Exempt);
            }
        }
        if let Some(subset) = &self.vocabulary {
            vocabulary::add(&mut table, subset);
        }
        table
    }

    fn forward<L: Layers>(&self, net: &mut L) -> Result<Heads<L::Value>, L::Error> {
        let trunk = self.view.trunk();
        let board = net.input(0)?;
        let x = net.conv(&board, &format!("{trunk}.0"))?;
        let mut x = net.gelu(&x)?;
        for i in 2..2 + self.blocks {
            let mut y = x.clone();
            for half in [1, 2] {
                let normal = norm_planes(net, &y, &format!("{trunk}.{i}.ln{half}"), self.channels)?;
                let z = net.conv(&normal, &format!("{trunk}.{i}.conv{half}"))?;
                y = net.gelu(&z)?;
            }
            x = net.add(&x, &y)?;
        }
        let logits = self.head(net, &x)?;
        Ok(Heads { policy: Some(vocabulary::widen(net, logits)?), ..Heads::default() })
    }

    fn outputs(&self) -> Outputs {
        Outputs::policy(if self.is_canonical() { CANONICAL_MOVES } else { self.moves })
    }

    fn describe(&self, _: &ParameterTable) -> String {
        let PolicyCnnConfig { channels, blocks, kernel, head, .. } = *self;
        let moves = self.head_moves();
        format!(
            "policy CNN: {} planes, {blocks} residual blocks, {channels} channels, kernel {kernel}, {} head, {moves} moves",
            self.view.planes(),
            head.name()
        )
    }
}
