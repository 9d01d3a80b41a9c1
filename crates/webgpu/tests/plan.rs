//! The steps of a plan compute what the runtime on the processor computes, to the bit.

use fastrand::Rng;
use tabia_nets::{HumanConfig, Maia3Config, NetConfig};
use tabia_onnx::tensors::TensorMap;
use tabia_runtime::transformer::{Level, TransformerSession};
use tabia_runtime::{InputData, InputTensor};
use tabia_webgpu::{Buffer, Features, Plan, Program};

#[path = "steps/mod.rs"]
mod steps;

/// How the matrices of a network are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Weights {
    Floats,
    Bytes,
}

/// Random weights; matrices in 8 bits if wanted, however small.
fn tensors(net: &NetConfig, weights: Weights) -> TensorMap {
    let mut rng = Rng::with_seed(7);
    let mut tensors = TensorMap::new();
    for entry in net.table().entries() {
        let count: usize = entry.shape.iter().product();
        let outputs = entry.shape[0];
        if weights == Weights::Bytes && entry.shape.len() == 2 {
            let all = (0..count).map(|_| rng.i8(..)).collect();
            let share = 1.0 / (90.0 * (entry.shape[1] as f32).sqrt());
            let scales = (0..outputs).map(|_| share * (0.5 + rng.f32())).collect();
            tensors.insert_quantised(&entry.name, &entry.shape, all, scales).expect("it fits");
        } else {
            // Vectors are norms or biases.
            let share = if entry.shape.len() > 1 { 2.0 / (count / outputs) as f32 } else { 0.7 };
            let floats = (0..count).map(|_| share.sqrt() * (2.0 * rng.f32() - 0.7)).collect();
            tensors.insert(&entry.name, &entry.shape, floats).expect("it fits");
        }
    }
    tensors
}

fn plan(net: &NetConfig, weights: Weights) -> Plan {
    let plan = Plan::new(net, &mut tensors(net, weights)).expect("the tensors fit");
    plan.expect("there are steps for it")
}

/// Asserts that the plan of a network and the session on the processor agree on some random inputs.
fn assert_agreement(net: &NetConfig, weights: Weights) {
    let outputs: Vec<String> = (0..4).map(|at| format!("output {at}")).collect();
    let session = TransformerSession::new(net, &mut tensors(net, weights), outputs, Level::best());
    let session = session.expect("the tensors fit").expect("the processor runs it");
    let plan = plan(net, weights);
    let mut rng = Rng::with_seed(11);
    for round in 0..3 {
        // Ratings go up to thousands; the other inputs are small, and mostly zero.
        let inputs: Vec<Vec<f32>> = plan
            .inputs
            .iter()
            .map(|port| match port.width {
                1 => vec![rng.f32() * 3000.0],
                width => (0..width).map(|_| if rng.bool() { 0.0 } else { rng.f32() }).collect(),
            })
            .collect();
        let shapes: Vec<[usize; 2]> = inputs.iter().map(|input| [1, input.len()]).collect();
        let given: Vec<InputTensor<'_>> = inputs
            .iter()
            .zip(&shapes)
            .map(|(values, shape)| InputTensor { shape, data: InputData::Values(values) })
            .collect();
        let expected = session.run(&given).expect("the inputs fit");
        let found = steps::run(&plan, &inputs);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert!(expected.values.iter().any(|value| value.abs() > 1e-3), "an output that says something");
            for (at, (found, expected)) in found.iter().zip(&expected.values).enumerate() {
                // A zero may have either sign.
                let same = found == expected;
                assert!(same, "{net:?} in {weights:?}, round {round}, number {at}: {found} {expected}");
            }
        }
    }
}

fn human(width: usize, heads: usize, inner: usize, pair: usize) -> HumanConfig {
    HumanConfig { width, heads, layers: 2, inner, pair, hidden: 20, sites: false }
}

fn maia3() -> Maia3Config {
    Maia3Config {
        boards: 8,
        width: 48,
        heads: 3,
        layers: 2,
        inner: 80,
        rating: 12,
        head: 32,
        bias_square: 16,
        bias_hidden: 32,
        bias_width: 16,
        layer_norm: false,
    }
}

#[test]
fn the_human_network_computes_the_same_numbers() {
    // 48 and 80 inputs end in a partial span.
    for weights in [Weights::Floats, Weights::Bytes] {
        assert_agreement(&NetConfig::Human(human(48, 3, 80, 24)), weights);
        assert_agreement(&NetConfig::Human(HumanConfig { sites: true, ..human(64, 2, 96, 32) }), weights);
    }
}

#[test]
fn maia3_computes_the_same_numbers() {
    for weights in [Weights::Floats, Weights::Bytes] {
        assert_agreement(&NetConfig::Maia3(maia3()), weights);
        let other = Maia3Config { boards: 1, bias_square: 0, layer_norm: true, ..maia3() };
        assert_agreement(&NetConfig::Maia3(other), weights);
    }
}

#[test]
fn other_sizes_and_networks_have_no_plan() {
    let net = NetConfig::Human(human(24, 3, 80, 24));
    let mut all = tensors(&net, Weights::Floats);
    let before = all.names().count();
    assert!(Plan::new(&net, &mut all).unwrap().is_none());
    assert_eq!(all.names().count(), before, "nothing was taken");
}

#[test]
fn no_step_writes_what_it_reads() {
    for net in [NetConfig::Human(human(48, 3, 80, 24)), NetConfig::Maia3(maia3())] {
        for weights in [Weights::Floats, Weights::Bytes] {
            let program = Program::new(plan(&net, weights), Features::default());
            for dispatch in &program.dispatches {
                let shader = &program.shaders[dispatch.shader];
                for (at, id) in dispatch.bindings.iter().enumerate() {
                    let writes = shader.contains(&format!("@binding({at}) var<storage, read_write>"));
                    let uses = dispatch.bindings.iter().filter(|other| *other == id).count();
                    assert!(!writes || uses == 1, "{shader}");
                    assert!(!writes || matches!(program.buffers[*id], Buffer::PerPosition(_)), "{shader}");
                }
                assert!(!shader.contains("@binding(10)"), "browsers bind at least ten buffers");
            }
            assert!(program.dispatches.len() > program.shaders.len(), "blocks share their shaders");
        }
    }
}
