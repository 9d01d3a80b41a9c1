//! Quantised values against `f64` arithmetic, and paths and levels against each other.

use std::sync::Arc;

use shakmaty::{Chess, Color, EnPassantMode, Position};
use tabia_encoding::{FeatureList, SparseEncoding, encoding};
use tabia_nets::detect::{Hints, detect};
use tabia_onnx::lower::take_graph;
use tabia_onnx::proto::ModelProto;
use tabia_onnx::tensors::TensorMap;

use super::{ActivationPower, Nnue, NnueGraph, NnueState};
use crate::accumulator::tests::{Random, Seen, pick, positions, special_starts};
use crate::accumulator::{Activation, Level, Linear};

const CLIP: Activation = Activation::Clamp { low: 0.0, high: 1.0 };

fn sparse() -> &'static dyn SparseEncoding {
    encoding("challenge-768").unwrap().sparse().unwrap()
}

/// A network whose clipped sums and evaluations are about as large as those of trained ones.
fn graph(random: &mut Random, width: usize, outputs: usize, power: ActivationPower) -> NnueGraph {
    let mut weights =
        |count: usize, scale: f32| (0..count).map(|_| scale * random.weight()).collect::<Vec<_>>();
    let first = Linear {
        inputs: 768,
        weights: weights(768 * width, 0.3),
        bias: weights(width, 0.5),
        activation: CLIP,
    };
    let output = Linear {
        inputs: 2 * width,
        weights: weights(2 * width * outputs, 8.0 / (width as f32).sqrt()),
        bias: weights(outputs, 0.5),
        activation: Activation::Identity,
    };
    let buckets = (0..=32_usize).map(|pieces| pieces.saturating_sub(1) * outputs / 32).collect();
    NnueGraph { first, power, output, buckets }
}

fn networks() -> Vec<(&'static str, NnueGraph)> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    vec![
        ("256, 8 buckets", graph(&mut random, 256, 8, ActivationPower::One)),
        ("256, 8 buckets, squared", graph(&mut random, 256, 8, ActivationPower::Two)),
        ("50, 5 buckets, squared", graph(&mut random, 50, 5, ActivationPower::Two)),
        ("16, 1 bucket", graph(&mut random, 16, 1, ActivationPower::One)),
    ]
}

fn net(graph: &NnueGraph) -> Arc<Nnue> {
    Arc::new(Nnue::new(graph, sparse()).unwrap())
}

/// The network's own number, in `f64`.
fn reference(graph: &NnueGraph, position: &Chess) -> f64 {
    let width = graph.first.outputs();
    let half = |perspective: Color| {
        let mut features = FeatureList::new();
        sparse().features(position, perspective, &mut features);
        let mut sums: Vec<f64> = graph.first.bias.iter().map(|&b| f64::from(b)).collect();
        for feature in features {
            let row = &graph.first.weights[usize::from(feature.index) * width..][..width];
            sums.iter_mut().zip(row).for_each(|(sum, &w)| *sum += f64::from(w));
        }
        sums.into_iter()
            .map(|sum| sum.clamp(0.0, 1.0))
            .map(|x| if graph.power == ActivationPower::Two { x * x } else { x })
    };
    let outputs = graph.output.outputs();
    let bucket = graph.buckets[position.board().occupied().count()];
    let weights = graph.output.weights.iter().skip(bucket).step_by(outputs).map(|&w| f64::from(w));
    let inputs = half(position.turn()).chain(half(!position.turn()));
    f64::from(graph.output.bias[bucket]) + weights.zip(inputs).map(|(w, x)| w * x).sum::<f64>()
}

/// Positions of random games besides those of the fixture.
fn many_positions() -> Vec<Chess> {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut all: Vec<Chess> = positions().chain(special_starts()).collect();
    for start in all.clone().into_iter().step_by(4) {
        let mut position = start;
        for _ in 0..20 {
            let moves = position.legal_moves();
            if moves.is_empty() {
                break;
            }
            position.play_unchecked(moves[random.below(moves.len())]);
            all.push(position.clone());
        }
    }
    all
}

#[test]
fn quantisation_error_is_about_a_centipawn() {
    let positions = many_positions();
    assert!(positions.len() > 1000, "{}", positions.len());
    for (name, graph) in networks() {
        let mut evaluator = NnueState::new(net(&graph), &Chess::default());
        let (mut worst, mut squares, mut spread) = (0.0_f64, 0.0, 0.0_f64);
        for position in &positions {
            evaluator.set_position(position);
            let expected = reference(&graph, position);
            // One unit is a pawn.
            let off = 100.0 * (f64::from(evaluator.evaluate()) - expected).abs();
            worst = worst.max(off);
            squares += off * off;
            spread = spread.max(expected.abs());
        }
        let usual = (squares / positions.len() as f64).sqrt();
        assert!(spread > 1.0, "{name}: no evaluation is larger than {spread} pawns");
        assert!(worst <= 5.0 && usual <= 1.5, "{name}: {worst} centipawns at worst, {usual} as a rule");
    }
}

/// Plays random games with takebacks and passes on one evaluator per level, evaluating now and then, and compares every
/// result with an evaluator that only knows the position.
#[test]
fn bits_do_not_depend_on_path_or_level() {
    let (mut seen, mut passes) = (Seen::default(), 0);
    let starts: Vec<Chess> = positions().step_by(20).chain(special_starts()).collect();
    for (name, graph) in networks() {
        let net = net(&graph);
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        for start in &starts {
            let at = |level| NnueState::at_level(Arc::clone(&net), &Chess::default(), level);
            let mut evaluators: Vec<_> = Level::available().map(at).collect();
            let mut scratch = at(Level::available().next().unwrap());
            evaluators.iter_mut().for_each(|e| e.set_position(start));
            let mut line = vec![start.clone()];
            for _ in 0..60 {
                let position = line.last().unwrap();
                let moves = position.legal_moves();
                let passed = (random.below(8) == 0).then(|| position.clone().swap_turn().ok()).flatten();
                if line.len() > 1 && (moves.is_empty() || random.below(4) == 0) {
                    line.pop();
                    evaluators.iter_mut().for_each(NnueState::pop);
                } else if let Some(after) = passed {
                    passes += 1;
                    evaluators.iter_mut().for_each(|e| e.push_pass(&after));
                    line.push(after);
                } else if !moves.is_empty() {
                    let m = pick(&mut random, &moves, &mut seen);
                    let mut after = position.clone();
                    after.play_unchecked(m);
                    evaluators.iter_mut().for_each(|e| e.push(m, &after));
                    line.push(after);
                }
                if random.below(3) > 0 {
                    scratch.set_position(line.last().unwrap());
                    let expected = scratch.evaluate().to_bits();
                    for evaluator in &mut evaluators {
                        let found = evaluator.evaluate().to_bits();
                        assert_eq!(found, expected, "{name} at {:?}", evaluator.level());
                    }
                }
            }
        }
    }
    let special = [seen.castling, seen.en_passant, seen.promotion, passes];
    assert!(special.iter().all(|&times| times > 0), "{special:?}");
}

/// One number stands for all: every target that runs this test has the same bits.
#[test]
fn bits_are_the_same_on_every_target() {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (_, graph) in networks() {
        let mut evaluator = NnueState::new(net(&graph), &Chess::default());
        for position in positions().step_by(4) {
            evaluator.set_position(&position);
            for byte in evaluator.evaluate().to_bits().to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        }
    }
    assert_eq!(hash, 0x4b67_1cb7_a893_ea1d, "{hash:#x}");
}

/// The heaviest weights that are taken push every sum to the ends of its range and no further.
#[test]
fn large_weights_are_scaled_or_rejected() {
    let mut random = Random(7);
    for power in [ActivationPower::One, ActivationPower::Two] {
        let mut graph = graph(&mut random, 32, 2, power);
        graph
            .first
            .weights
            .iter_mut()
            .enumerate()
            .for_each(|(i, w)| *w = if i % 2 == 0 { 7.5 } else { -7.5 });
        graph.output.weights.fill(1000.0);
        let mut evaluator = NnueState::new(net(&graph), &Chess::default());
        let expected = reference(&graph, &Chess::default());
        let error = (f64::from(evaluator.evaluate()) / expected - 1.0).abs();
        assert!(error < 1e-3, "{power:?}: {error}");

        graph.first.weights.iter_mut().for_each(|w| *w *= 10.0);
        assert!(Nnue::new(&graph, sparse()).is_none(), "too coarse");
        graph.first.weights[0] = f32::NAN;
        assert!(Nnue::new(&graph, sparse()).is_none());
    }
}

/// A state dict of a network.
fn tensors(graph: &NnueGraph) -> TensorMap {
    let transposed = |linear: &Linear| -> Vec<f32> {
        let outputs = linear.outputs();
        (0..outputs).flat_map(|o| linear.weights.iter().skip(o).step_by(outputs)).copied().collect()
    };
    let (first, output) = (&graph.first, &graph.output);
    let mut tensors = TensorMap::new();
    let mut insert = |name: &str, shape: &[usize], data: Vec<f32>| tensors.insert(name, shape, data).unwrap();
    insert("features.weight", &[first.outputs(), 768], transposed(first));
    insert("features.bias", &[first.outputs()], first.bias.clone());
    insert("output.weight", &[output.outputs(), output.inputs], transposed(output));
    insert("output.bias", &[output.outputs()], output.bias.clone());
    if graph.power == ActivationPower::Two {
        insert("activation.power", &[1], vec![2.0]);
    }
    tensors
}

/// The graph of a state dict.
fn lowered(mut tensors: TensorMap) -> ModelProto {
    let (network, _) = detect(&tensors, &Hints::default()).unwrap();
    take_graph(&network, &mut tensors).unwrap()
}

#[test]
fn networks_are_recognised_in_their_graphs() {
    let other_view = sparse().other_view().unwrap();
    for (name, mut graph) in networks() {
        let model = lowered(tensors(&graph));
        let found = NnueGraph::recognise(&model, &other_view).unwrap();
        // The clip is part of the form and no longer told apart.
        graph.first.activation = found.first.activation;
        if graph.output.outputs() == 1 {
            graph.buckets = vec![0];
        }
        assert_eq!(found, graph, "{name}");
        let again = lowered(tensors(&found));
        assert_eq!(again, model);
    }
}

#[test]
fn other_graphs_are_not_recognised() {
    let mut random = Random(5);
    let graph = graph(&mut random, 16, 4, ActivationPower::One);
    let other_view = sparse().other_view().unwrap();
    let model = lowered(tensors(&graph));
    assert!(NnueGraph::recognise(&model, &other_view).is_some());
    let changed = |change: &dyn Fn(&mut ModelProto)| {
        let mut model = model.clone();
        change(&mut model);
        NnueGraph::recognise(&model, &other_view)
    };
    let same_view: Vec<u16> = (0..768).collect();
    assert!(NnueGraph::recognise(&model, &same_view).is_none(), "another view");
    let first = |op: &str, model: &mut ModelProto| {
        let nodes = &mut model.graph.as_mut().unwrap().node;
        nodes.iter().position(|node| node.op_type == op).unwrap()
    };
    let swapped = changed(&|model| {
        let at = first("Concat", model);
        model.graph.as_mut().unwrap().node[at].input.reverse();
    });
    assert!(swapped.is_none(), "the opponent's half comes first");
    let unclipped = changed(&|model| {
        let at = first("Clip", model);
        model.graph.as_mut().unwrap().node[at].op_type = "Sigmoid".to_owned();
    });
    assert!(unclipped.is_none(), "another activation");
    let two_buckets = changed(&|model| {
        let graph = model.graph.as_mut().unwrap();
        let table = graph.initializer.iter_mut().find(|tensor| tensor.dims == [33, 4]).unwrap();
        table.raw_data[3 * 8] = 1;
    });
    assert!(two_buckets.is_none(), "two outputs at once");
}

#[test]
fn null_move_keeps_the_accumulators() {
    let position = Chess::default();
    let passed = position.clone().swap_turn().unwrap();
    assert!(passed.ep_square(EnPassantMode::Always).is_none());
    let graph = graph(&mut Random(3), 32, 1, ActivationPower::Two);
    let mut evaluator = NnueState::new(net(&graph), &position);
    evaluator.push_pass(&passed);
    let (found, expected) = (f64::from(evaluator.evaluate()), reference(&graph, &passed));
    assert!((found - expected).abs() < 0.05, "{found} {expected}");
}
