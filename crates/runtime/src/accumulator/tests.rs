//! Networks against `f64` arithmetic, and paths and levels against each other.

use std::sync::Arc;

use shakmaty::{CastlingMode, Chess, Move, Position, fen::Fen};
use tabia_encoding::{Batch, Encoding, Situation, encoding};
use tabia_onnx::{
    build::{Attribute, GraphBuilder, Node},
    proto::ModelProto,
};

use super::{AccumulatorNet, AccumulatorState, Activation, Level, Linear, MlpGraph};

/// Xorshift: enough for weights and random games, the same everywhere.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    /// Evenly spread in -1..1.
    pub(super) fn weight(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn linear(&mut self, inputs: usize, outputs: usize, activation: Activation) -> Linear {
        // About as many inputs as are not zero set the size of a sum.
        let scale = 1.0 / (inputs.min(64) as f32).sqrt();
        let mut weights = |n: usize| (0..n).map(|_| scale * self.weight()).collect::<Vec<_>>();
        Linear { inputs, weights: weights(inputs * outputs), bias: weights(outputs), activation }
    }

    fn chain(&mut self, widths: &[usize], hidden: Activation, last: Activation) -> MlpGraph {
        let count = widths.len() - 1;
        let activation = |i| if i + 1 == count { last } else { hidden };
        let mut layers = widths.windows(2).enumerate().map(|(i, w)| self.linear(w[0], w[1], activation(i)));
        let first = layers.next().unwrap();
        MlpGraph { context_first: None, first, rest: layers.collect() }
    }

    fn pair(&mut self, width: usize, rest: &[usize]) -> MlpGraph {
        let mut graph = self.chain(rest, Activation::Relu, Activation::Sigmoid);
        let tail = [&graph.first].into_iter().chain(&graph.rest).cloned().collect();
        graph.rest = tail;
        graph.context_first = Some(self.linear(width, rest[0] / 2, Activation::Relu));
        graph.first = self.linear(width, rest[0] / 2, Activation::Relu);
        graph
    }
}

fn reference_activation(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Identity => x,
        Activation::Relu => x.max(0.0),
        Activation::Clamp { low, high } => x.clamp(low.into(), high.into()),
        Activation::LeakyRelu { slope } => {
            if x > 0.0 {
                x
            } else {
                x * f64::from(slope)
            }
        }
        Activation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        Activation::Tanh => x.tanh(),
    }
}

fn reference_layer(linear: &Linear, inputs: &[f64]) -> Vec<f64> {
    assert_eq!(inputs.len(), linear.inputs);
    let sum = |output: usize| -> f64 {
        let weights = linear.weights.iter().skip(output).step_by(linear.outputs());
        f64::from(linear.bias[output]) + weights.zip(inputs).map(|(&w, x)| f64::from(w) * x).sum::<f64>()
    };
    (0..linear.outputs()).map(|output| reference_activation(linear.activation, sum(output))).collect()
}

/// The outputs in `f64`, from the rows of `Encoding::encode`.
fn reference(
    graph: &MlpGraph,
    encoding: &'static dyn Encoding,
    position: &Chess,
    context: &Chess,
) -> Vec<f64> {
    let mut batch = Batch::new(encoding);
    batch.push(&Situation { context: Some(context), ..Situation::of(position) });
    let input = |i| batch.values(i).iter().map(|&x| f64::from(x)).collect::<Vec<_>>();
    let mut values = match &graph.context_first {
        None => reference_layer(&graph.first, &input(0)),
        Some(first) => [reference_layer(first, &input(0)), reference_layer(&graph.first, &input(1))].concat(),
    };
    for layer in &graph.rest {
        values = reference_layer(layer, &values);
    }
    values
}

fn net(graph: &MlpGraph, encoding_id: &str) -> Arc<AccumulatorNet> {
    let encoding = encoding(encoding_id).unwrap();
    Arc::new(AccumulatorNet::new(graph, encoding.sparse().unwrap()).unwrap())
}

fn bits(evaluator: &mut AccumulatorState) -> Vec<u32> {
    let mut out = vec![0.0; evaluator.net().outputs()];
    evaluator.evaluate(&mut out);
    out.into_iter().map(f32::to_bits).collect()
}

pub(super) fn positions() -> impl Iterator<Item = Chess> {
    let lines = include_str!("../../../../fixtures/positions.fen").lines();
    lines.map(|line| line.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap())
}

/// Named networks of the shapes seen in the wild, each with its encoding.
fn networks() -> Vec<(&'static str, &'static str, MlpGraph)> {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (relu, identity) = (Activation::Relu, Activation::Identity);
    let clamp = Activation::Clamp { low: 0.0, high: 1.0 };
    let leaky = Activation::LeakyRelu { slope: 0.1 };
    vec![
        ("768-256-32-1", "challenge-768", random.chain(&[768, 256, 32, 1], relu, identity)),
        ("774-16-8-1", "rusty-774", random.chain(&[774, 16, 8, 1], clamp, identity)),
        ("774-50-33-20-1", "rusty-774", random.chain(&[774, 50, 33, 20, 1], leaky, Activation::Tanh)),
        ("769x2-60-40-1", "pair-769", random.pair(769, &[120, 40, 1])),
        ("769x2-9-3", "pair-769", random.pair(769, &[18, 3])),
        ("837-16-1968", "policy-837", random.chain(&[837, 16, 1968], relu, identity)),
        ("837-24-17-9", "policy-837", random.chain(&[837, 24, 17, 9], Activation::Sigmoid, identity)),
        ("1540-40-1", "challenge-1540", random.chain(&[1540, 40, 1], Activation::Tanh, identity)),
        ("768-1", "challenge-768", random.chain(&[768, 1], relu, identity)),
    ]
}

#[test]
fn outputs_match_f64_arithmetic() {
    for (name, id, graph) in networks() {
        let context = Chess::default();
        let mut evaluator = AccumulatorState::new(net(&graph, id), &context);
        let mut out = vec![0.0; evaluator.net().outputs()];
        for position in positions().step_by(10) {
            evaluator.set_position(&position);
            evaluator.evaluate(&mut out);
            let expected = reference(&graph, encoding(id).unwrap(), &position, &context);
            assert_eq!(out.len(), expected.len(), "{name}");
            for (got, expected) in out.iter().zip(expected) {
                let error = (f64::from(*got) - expected).abs();
                assert!(error <= 1e-5, "{name}: {got}, not {expected}");
            }
        }
    }
}

/// Plays random games with takebacks on one evaluator per level, evaluating now and then, and compares every
/// result with an evaluator that only knows the position.
#[test]
fn bits_do_not_depend_on_path_or_level() {
    let mut seen = Seen::default();
    let starts: Vec<Chess> = positions().step_by(20).chain(special_starts()).collect();
    for (name, id, graph) in networks() {
        let net = net(&graph, id);
        let mut random = Random(0x2545_f491_4f6c_dd1d);
        for start in &starts {
            let context = Chess::default();
            let mut evaluators: Vec<_> = Level::available()
                .map(|level| AccumulatorState::at_level(net.clone(), &context, level))
                .collect();
            let mut scratch =
                AccumulatorState::at_level(net.clone(), &context, Level::available().next().unwrap());
            evaluators.iter_mut().for_each(|e| e.set_position(start));
            let mut line = vec![start.clone()];
            for _ in 0..24 {
                let position = line.last().unwrap();
                let moves = position.legal_moves();
                if line.len() > 1 && (moves.is_empty() || random.below(4) == 0) {
                    line.pop();
                    evaluators.iter_mut().for_each(AccumulatorState::pop);
                } else if !moves.is_empty() {
                    let m = pick(&mut random, &moves, &mut seen);
                    let mut after = position.clone();
                    after.play_unchecked(m);
                    evaluators.iter_mut().for_each(|e| e.push(m, &after));
                    line.push(after);
                }
                if random.below(3) > 0 {
                    scratch.set_position(line.last().unwrap());
                    let expected = bits(&mut scratch);
                    for evaluator in &mut evaluators {
                        assert_eq!(bits(evaluator), expected, "{name} at {:?}", evaluator.level());
                    }
                }
            }
        }
    }
    assert!(seen.castling > 0 && seen.en_passant > 0 && seen.promotion > 0, "{seen:?}");
}

#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) castling: usize,
    pub(super) en_passant: usize,
    pub(super) promotion: usize,
}

/// A random move; half the time a special one, where there is any.
pub(super) fn pick(random: &mut Random, moves: &[Move], seen: &mut Seen) -> Move {
    let special: Vec<Move> =
        moves.iter().copied().filter(|m| m.is_castle() || m.is_en_passant() || m.is_promotion()).collect();
    let from = if !special.is_empty() && random.below(2) == 0 { &special } else { moves };
    let m = from[random.below(from.len())];
    seen.castling += usize::from(m.is_castle());
    seen.en_passant += usize::from(m.is_en_passant());
    seen.promotion += usize::from(m.is_promotion());
    m
}

/// Castling both ways, en passant and promotions with and without capture, for both sides.
pub(super) fn special_starts() -> impl Iterator<Item = Chess> {
    let fens = [
        "r3k2r/pppq1ppp/2n2n2/3pp3/3PP3/2N2N2/PPPQ1PPP/R3K2R w KQkq - 0 1",
        "r3k2r/pppq1ppp/2n2n2/3pp3/3PP3/2N2N2/PPPQ1PPP/R3K2R b KQkq - 0 1",
        "4k3/8/8/1pPp4/4pP2/8/6P1/4K3 b - f3 0 1",
        "4k3/8/8/1pPp4/8/8/6P1/4K3 w - b6 0 1",
        "1n2k1n1/P6P/8/8/8/8/p6p/1N2K1N1 w - - 0 1",
        "1n2k1n1/P6P/8/8/8/8/p6p/1N2K1N1 b - - 0 1",
    ];
    fens.into_iter().map(|fen| fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap())
}

/// One number stands for all outputs: every target that runs this test has the same bits.
#[test]
fn bits_are_the_same_on_every_target() {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (_, id, graph) in networks() {
        let mut evaluator = AccumulatorState::new(net(&graph, id), &Chess::default());
        for position in positions().step_by(8) {
            evaluator.set_position(&position);
            for byte in bits(&mut evaluator).into_iter().flat_map(u32::to_le_bytes) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        }
    }
    assert_eq!(hash, 0xb55d_8438_3dda_b0d1, "{hash:#x}");
}

/// Special values go through every operation the same way on every level.
#[test]
fn levels_agree_on_extreme_numbers() {
    let mut random = Random(0x1234_5678_9abc_def1);
    let huge = |w: &mut f32| *w *= 1e37;
    let tiny = |w: &mut f32| *w *= 1e-38;
    for activation in [
        Activation::Relu,
        Activation::Clamp { low: -1.0, high: 1e30 },
        Activation::LeakyRelu { slope: 1e-30 },
        Activation::Sigmoid,
        Activation::Tanh,
        Activation::Identity,
    ] {
        for stretch in [&huge as &dyn Fn(&mut f32), &tiny] {
            let mut graph = random.chain(&[768, 48, 35, 20, 2], activation, activation);
            graph.first.weights.iter_mut().for_each(stretch);
            graph.rest[0].weights.iter_mut().step_by(3).for_each(stretch);
            graph.rest[1].bias.iter_mut().for_each(|b| *b *= -0.0);
            let net = net(&graph, "challenge-768");
            for position in positions().step_by(40) {
                let outputs = |level| {
                    let mut out = [0.0; 2];
                    AccumulatorState::at_level(net.clone(), &position, level).evaluate(&mut out);
                    // Which NaN it is, IEEE 754 does not say.
                    out.map(|x| if x.is_nan() { u32::MAX } else { x.to_bits() })
                };
                let all: Vec<_> = Level::available().map(outputs).collect();
                assert!(all.iter().all(|bits| *bits == all[0]), "{activation:?}: {all:x?}");
            }
        }
    }
}

#[test]
fn null_moves_and_contexts_preserve_bits() {
    let mut random = Random(77);
    for (id, graph) in [
        ("rusty-774", random.chain(&[774, 32, 1], Activation::Relu, Activation::Identity)),
        ("pair-769", random.pair(769, &[64, 16, 1])),
    ] {
        let net = net(&graph, id);
        let (start, other) = (Chess::default(), positions().next().unwrap());
        let passed = start.clone().swap_turn().unwrap();
        let mut evaluator = AccumulatorState::new(net.clone(), &start);
        let at_start = bits(&mut evaluator);
        evaluator.push_position(&passed);
        let m = passed.legal_moves()[3];
        let mut after = passed.clone();
        after.play_unchecked(m);
        evaluator.push(m, &after);
        let mut scratch = AccumulatorState::new(net.clone(), &start);
        scratch.set_position(&after);
        assert_eq!(bits(&mut evaluator), bits(&mut scratch));
        evaluator.pop();
        scratch.set_position(&passed);
        assert_eq!(bits(&mut evaluator), bits(&mut scratch));
        evaluator.pop();
        evaluator.set_context(&other);
        assert_eq!(net.takes_context(), bits(&mut evaluator) != at_start);
        evaluator.set_context(&start);
        assert_eq!(bits(&mut evaluator), at_start);
    }
}

/// The graph with `Gemm`s that keep their weights transposed.
fn gemm_model(graph: &MlpGraph) -> ModelProto {
    let mut b = GraphBuilder::new("dense");
    let mut count = 0;
    let mut layer = |b: &mut GraphBuilder, x: &Node, linear: &Linear| {
        count += 1;
        let (inputs, outputs) = (linear.inputs, linear.outputs());
        let transposed: Vec<f32> =
            (0..outputs).flat_map(|o| linear.weights.iter().skip(o).step_by(outputs)).copied().collect();
        let weights = b.weight(&format!("w{count}"), &[outputs, inputs], &transposed);
        let bias = b.weight(&format!("b{count}"), &[outputs], &linear.bias);
        let sums = b.op("Gemm", &[x, &weights, &bias], &[("transB", Attribute::Int(1))]);
        activate(b, &sums, linear.activation)
    };
    let mut x = match &graph.context_first {
        None => {
            let input = b.input("board", &[graph.first.inputs]);
            layer(&mut b, &input, &graph.first)
        }
        Some(context) => {
            let (one, two) = (b.input("context", &[context.inputs]), b.input("position", &[context.inputs]));
            let (one, two) = (layer(&mut b, &one, context), layer(&mut b, &two, &graph.first));
            b.op("Concat", &[&one, &two], &[("axis", Attribute::Int(1))])
        }
    };
    for linear in &graph.rest {
        x = layer(&mut b, &x, linear);
    }
    b.output(&x, "out", &[graph.rest.last().unwrap_or(&graph.first).outputs()]);
    b.finish()
}

fn activate(b: &mut GraphBuilder, x: &Node, activation: Activation) -> Node {
    match activation {
        Activation::Identity => x.clone(),
        Activation::Relu => b.op("Relu", &[x], &[]),
        Activation::Sigmoid => b.op("Sigmoid", &[x], &[]),
        Activation::Tanh => b.op("Tanh", &[x], &[]),
        Activation::LeakyRelu { slope } => b.op("LeakyRelu", &[x], &[("alpha", Attribute::Float(slope))]),
        Activation::Clamp { low, high } => {
            let name = format!("{x:?}");
            let (low, high) = (b.weight(&format!("{name} low"), &[], &[low]), b.weight(&name, &[], &[high]));
            b.op("Clip", &[x, &low, &high], &[])
        }
    }
}

#[test]
fn gemm_graphs_are_recognised() {
    for (name, _, graph) in networks() {
        assert!(MlpGraph::recognise(&gemm_model(&graph)).as_ref() == Some(&graph), "{name}");
    }
}

#[test]
fn matmul_and_reshape_graphs_are_recognised() {
    let mut random = Random(5);
    let graph = random.chain(&[768, 6, 2], Activation::Relu, Activation::Identity);
    let mut b = GraphBuilder::new("dense");
    let input = b.input("board", &[12, 8, 8]);
    let weights = b.weight("w0", &[768, 6], &graph.first.weights);
    let bias = b.weight("b0", &[1, 6], &graph.first.bias);
    let x = b.op("Cast", &[&input], &[("to", Attribute::Int(1))]);
    let x = b.op("Flatten", &[&x], &[]);
    let x = b.op("MatMul", &[&x, &weights], &[]);
    let x = b.op("Add", &[&bias, &x], &[]);
    let x = b.op("Relu", &[&x], &[]);
    let shape = b.ints("shape", &[2], &[-1, 6]);
    let x = b.op("Reshape", &[&x, &shape], &[]);
    // Weights halved and bias doubled, to be undone by the factors; stored transposed, behind an operator.
    let halved: Vec<f32> =
        (0..2).flat_map(|o| graph.rest[0].weights.iter().skip(o).step_by(2)).map(|w| w / 2.0).collect();
    let doubled: Vec<f32> = graph.rest[0].bias.iter().map(|b| b * 2.0).collect();
    let weights = b.weight("w1", &[2, 6], &halved);
    let weights = b.op("Transpose", &[&weights], &[("perm", Attribute::Ints(vec![1, 0]))]);
    let bias = b.weight("b1", &[2], &doubled);
    let factors = [("alpha", Attribute::Float(2.0)), ("beta", Attribute::Float(0.5))];
    let x = b.op("Gemm", &[&x, &weights, &bias], &factors);
    b.output(&x, "out", &[2]);
    assert_eq!(MlpGraph::recognise(&b.finish()), Some(graph));
}

#[test]
fn concat_order_is_normalised() {
    let mut random = Random(6);
    let graph = random.pair(769, &[6, 2, 1]);
    let mut swapped = gemm_model(&graph);
    let proto = swapped.graph.as_mut().unwrap();
    let concat = proto.node.iter_mut().find(|n| n.op_type == "Concat").unwrap();
    concat.input.swap(0, 1);
    let weights = proto.initializer.iter_mut().find(|t| t.dims == [2, 6]).unwrap();
    // Each output's row of six: the context's three numbers now come last.
    weights.raw_data.chunks_exact_mut(6 * 4).for_each(|row| row.rotate_left(3 * 4));
    assert!(MlpGraph::recognise(&swapped) == Some(graph));
}

#[test]
fn other_graphs_are_not_recognised() {
    let mut random = Random(7);
    let graph = random.chain(&[768, 6, 5, 1], Activation::Relu, Activation::Identity);
    let model = gemm_model(&graph);
    let changed = |change: &dyn Fn(&mut tabia_onnx::proto::GraphProto)| {
        let mut model = model.clone();
        change(model.graph.as_mut().unwrap());
        MlpGraph::recognise(&model)
    };
    assert!(changed(&|_| {}).is_some());
    assert!(changed(&|g| g.node[1].op_type = "Softmax".to_owned()).is_none(), "unknown activation");
    assert!(changed(&|g| g.node[1].domain = "com.example".to_owned()).is_none(), "someone else's Relu");
    assert!(changed(&|g| g.node[4].input[0] = g.node[1].output[0].clone()).is_none(), "5 inputs from 6");
    assert!(changed(&|g| g.node[0].input[0] = g.node[1].output[0].clone()).is_none(), "a cycle");
    assert!(changed(&|g| g.node[0].input[1] = "nowhere".to_owned()).is_none(), "a missing weight");
    assert!(changed(&|g| g.output.push(g.output[0].clone())).is_none(), "two heads");
    assert!(changed(&|g| g.initializer[0].dims = vec![6, 767]).is_none(), "a shape without its numbers");
    assert!(changed(&|g| g.node.clear()).is_none(), "nothing at all");

    let challenge = encoding("challenge-768").unwrap().sparse().unwrap();
    let with = |change: &dyn Fn(&mut MlpGraph)| {
        let mut graph = graph.clone();
        change(&mut graph);
        AccumulatorNet::new(&graph, challenge)
    };
    assert!(with(&|_| {}).is_some());
    assert!(with(&|g| g.rest[0].weights[3] = f32::NAN).is_none());
    assert!(with(&|g| g.rest[1].bias[0] = f32::INFINITY).is_none());
    assert!(with(&|g| g.first.weights[0] = f32::INFINITY).is_none());
    assert!(AccumulatorNet::new(&graph, encoding("rusty-774").unwrap().sparse().unwrap()).is_none());
    let pair = random.pair(769, &[6, 2, 1]);
    assert!(AccumulatorNet::new(&pair, challenge).is_none());
}
