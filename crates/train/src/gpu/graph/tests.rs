//! Every network in emulation against its plain version.

use super::super::check::{
    self, Compared, GRADIENT_TOLERANCE, LOSS_TOLERANCE, STEP_HYPER, STEP_TOLERANCE, UPDATE_TOLERANCE,
    compare_gradients, compare_update, stirred, with_momentum,
};
use super::super::training::Arena;
use super::*;
use crate::synthetic;
use crate::{Backend, CpuBackend, Examples, OptimiserKind, Weights};
use tabia_gpu::Emulated;
use tabia_gpu::{Argument, Launch};

const ROWS: usize = 3;

fn config(net: &str, loss: &str) -> TrainConfig {
    let text = format!("name = 'small'\n[net]\n{net}\n[loss]\n{loss}\n[data]\nbatch = {}", ROWS + 1);
    TrainConfig::parse(&text).unwrap()
}

/// Losses, every gradient and the scores, in emulation against the plain network.
fn compare(config: &TrainConfig) {
    compare_on(config, &synthetic::examples(&config.net, config.data.batch - 1, 7));
}

/// The same on these examples.
fn compare_on(config: &TrainConfig, examples: &Examples) {
    let recorded = Recorded::new(config).unwrap();
    let Some(device) = Emulated::open(&recorded.sources(), &recorded.defines()) else { return };
    let mut fused = recorded.on(device, config, 5).unwrap();
    fused.load(&stirred(&fused, &config.net, 5)).unwrap();
    let mut plain = CpuBackend::plain(config, 5);
    let (gradients, losses) = compare_gradients(&mut fused, &mut plain, examples).unwrap();
    for compared in losses {
        assert!(compared.error < LOSS_TOLERANCE, "{}: {compared:?}", config.net.encoding());
    }
    for compared in &gradients {
        assert!(compared.error < GRADIENT_TOLERANCE, "{:?}: {gradients:#?}", config.net);
    }
    let (a, b) = (
        fused.evaluate(examples, Weights::Averaged).unwrap(),
        plain.evaluate(examples, Weights::Averaged).unwrap(),
    );
    let columns = [
        (&a.policy, &b.policy),
        (&a.promotion, &b.promotion),
        (&a.outcome, &b.outcome),
        (&a.think, &b.think),
        (&a.value, &b.value),
        (&a.value_loss, &b.value_loss),
    ];
    for (a, b) in columns {
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(b) {
            assert!(a.is_nan() == b.is_nan() && (a.is_nan() || (a - b).abs() < 0.05), "{a} against {b}");
        }
    }
    assert_eq!(a.rank.len(), b.rank.len());
}

#[test]
fn dense_networks_have_the_gradients_of_the_plain_ones() {
    let nets = [
        ("kind = 'challenge'\nbody = 'dense'\nhidden = [24, 10]", "value_kind = 'chance'"),
        ("kind = 'value-mlp'\nencoding = 'rusty-774'\nhidden = [12, 16]", "value_kind = 'l1'"),
        ("kind = 'value-mlp'\nencoding = 'challenge-1540'\nhidden = [8]", "value_kind = 'squared'"),
        ("kind = 'value-mlp'\nencoding = 'rusty-902'\nhidden = []", "value_kind = 'squared'"),
        ("kind = 'pair'\nfirst = 12\nhidden = [20, 9]", "value_kind = 'cross-entropy'"),
        ("kind = 'policy-mlp'\nhidden = [20]", "policy = 0.7"),
    ];
    for (net, loss) in nets {
        compare(&config(net, loss));
    }
}

#[test]
fn ranked_siblings_have_the_gradients_of_the_plain_ones() {
    for kind in ["cross-entropy", "chance", "l1"] {
        let text = format!(
            "name = 'small'\n[net]\nkind = 'challenge'\nbody = 'dense'\nhidden = [24, 10]\n\
             [loss]\nvalue_kind = '{kind}'\nranking = 0.5\nranking_temperature = 0.6\n\
             [data]\nbatch = 8\npositions = 'children'\nsiblings = 4"
        );
        let config = TrainConfig::parse(&text).unwrap();
        let mut examples = synthetic::examples(&config.net, 8, 7);
        // The second group has three members that choose the other way, and padding.
        examples.siblings = vec![1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, 0.0];
        examples.weights[7] = 0.0;
        examples.values = [0.1, 0.8, 0.55, 0.5, 0.3, 0.9, 0.2, f32::NAN].to_vec();
        compare_on(&config, &examples);
    }
}

#[test]
fn perspective_networks_have_the_gradients_of_the_plain_ones() {
    let nets = [
        "kind = 'nnue'\nwidth = 16\nbuckets = 8",
        "kind = 'nnue'\nwidth = 12\nbuckets = 5",
        "kind = 'challenge'\nbody = 'perspective'\nwidth = 8\nbuckets = 1",
    ];
    for net in nets {
        compare(&config(net, ""));
    }
}

#[test]
fn attention_has_the_gradients_of_the_plain_one() {
    let net = |width, bias| {
        let sizes = format!("width = {width}\nheads = 2\nlayers = 2\ninner = 40\nhidden = 12");
        config(&format!("kind = 'challenge'\nbody = 'attention'\nbias = '{bias}'\n{sizes}"), "")
    };
    // Heads the kernels know, and heads they do not.
    for width in [32, 24] {
        for bias in ["each-layer", "shared", "relative", "none"] {
            compare(&net(width, bias));
        }
    }
}

#[test]
fn weights_used_by_several_layers_get_the_gradients_of_all() {
    let sizes = "width = 32\nheads = 2\nlayers = 5\ndistinct = 2\ninner = 40\nhidden = 12\nbias = 'relative'";
    compare(&config(&format!("kind = 'challenge'\nbody = 'attention'\n{sizes}"), ""));
}

#[test]
fn the_term_for_progress_has_the_gradients_of_the_plain_one() {
    let sizes = "width = 32\nheads = 2\nlayers = 1\ninner = 40\nhidden = 12\nbias = 'none'";
    compare(&config(&format!("kind = 'challenge'\nbody = 'attention'\nprogress = true\n{sizes}"), ""));
}

#[test]
fn convolutions_have_the_gradients_of_the_plain_ones() {
    let value = "channels = 12\nblocks = 1\nsqueeze = 3\nhidden = 8";
    let policy = "kind = 'policy-cnn'\nchannels = 12\nblocks = 1\nkernel = 3";
    let nets = [
        format!("kind = 'challenge'\nbody = 'conv'\n{value}"),
        format!("kind = 'value-cnn'\nencoding = 'rusty-planes-15'\n{value}"),
        format!("{policy}\nview = 'mover'\nhead = {{ bilinear = 8 }}"),
        format!("{policy}\nview = 'white'\nhead = 'flatten'"),
    ];
    let loss = "value_kind = 'squared'";
    for net in &nets {
        compare(&config(net, loss));
    }
}

#[test]
fn transformers_over_tokens_have_the_gradients_of_the_plain_ones() {
    let sizes = "kind = 'humchess'\nwidth = 32\nheads = 2\nlayers = 1\ninner = 24";
    for rest in ["tokens = 'board'\nmoves = 'class-token'", "tokens = 'history'\nmoves = 'square-pairs'"] {
        let config = config(&format!("{sizes}\n{rest}"), "");
        compare(&config);
    }
}

#[test]
fn human_networks_have_the_gradients_of_the_plain_ones() {
    let sizes = "layers = 2\nheads = 2\ninner = 40\npair = 24\nhidden = 12";
    // Heads the attention kernels know, and heads they do not.
    for width in [64, 40] {
        compare(&config(&format!("kind = 'human'\nwidth = {width}\n{sizes}"), ""));
    }
}

#[test]
#[ignore = "takes minutes: networks of full size"]
fn every_configuration_passes_the_check_in_emulation() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs");
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let mut config = TrainConfig::parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        config.data.batch = 16;
        let recorded = Recorded::new(&config).unwrap();
        let Some(device) = Emulated::open(&recorded.sources(), &recorded.defines()) else { return };
        let fused = recorded.on(device, &config, 1).unwrap();
        let mut out = Vec::new();
        let bad = check::compare(&config, fused, &mut out).unwrap();
        assert_eq!(bad, 0, "{}\n{}", path.display(), String::from_utf8_lossy(&out));
    }
}

#[test]
fn steps_follow_the_plain_network_and_leave_padding_alone() {
    let config = config("kind = 'pair'\nfirst = 12\nhidden = [20, 9]", "value_kind = 'cross-entropy'");
    let recorded = Recorded::new(&config).unwrap();
    let Some(device) = Emulated::open(&recorded.sources(), &recorded.defines()) else { return };
    let mut fused = recorded.on(device, &config, 5).unwrap();
    let state = stirred(&fused, &config.net, 5);
    let mut plain = CpuBackend::plain(&config, 5);
    fused.load(&state).unwrap();
    plain.load(&state).unwrap();
    for step in 1..=3 {
        let examples = synthetic::examples(&config.net, ROWS, step);
        let mut reports = fused.step(&examples, &STEP_HYPER).unwrap();
        reports.extend(fused.finish().unwrap());
        let expected = plain.step(&examples, &STEP_HYPER).unwrap();
        assert_eq!((reports[0].step, expected[0].step), (step, step));
        let error = (reports[0].losses.value / expected[0].losses.value - 1.0).abs();
        assert!(error < 0.05, "{reports:?} {expected:?}");
    }
    let (a, b) = (fused.state().unwrap(), plain.state().unwrap());
    let moved = |after: &[f32]| after.iter().zip(&state.weights).map(|(a, b)| a - b).collect::<Vec<f32>>();
    for (a, b) in [(&a.weights, &b.weights), (&a.ema, &b.ema)] {
        let compared = Compared::new("moved", &moved(a), &moved(b));
        assert!(compared.error < STEP_TOLERANCE, "{compared:?}");
    }
    // What lies between parameters on the device is not in their table; it shows in what the device holds.
    let training = fused.net().training();
    let held = training.read_held(Arena::Weights).unwrap();
    assert_eq!(training.layout.to_device(&training.layout.to_table(&held)), held);
}

#[test]
fn muon_moves_matrices_as_the_plain_optimiser_does_and_leaves_padding_alone() {
    let attention = |width: usize| {
        let sizes = format!("width = {width}\nheads = 2\nlayers = 2\ninner = 40\nhidden = 12");
        config(&format!("kind = 'challenge'\nbody = 'attention'\nbias = 'relative'\n{sizes}"), "")
    };
    // Square, tall and wide matrices, three in one; and layers whose rows have zeros between and behind their columns.
    let pair = config("kind = 'pair'\nfirst = 12\nhidden = [20, 9]", "value_kind = 'cross-entropy'");
    for (mut config, matrices) in [(attention(32), 2 * 6), (attention(20), 2 * 6), (pair, 2)] {
        config.optimiser.kind = OptimiserKind::Muon;
        let recorded = Recorded::new(&config).unwrap();
        let Some(device) = Emulated::open(&recorded.sources(), &recorded.defines()) else { return };
        let mut fused = recorded.on(device, &config, 5).unwrap();
        fused.load(&stirred(&fused, &config.net, 5)).unwrap();
        assert_eq!(fused.net().training().layout.matrices().len(), matrices);
        for step in 1..=3 {
            let state = with_momentum(fused.state().unwrap(), fused.table(), step);
            fused.load(&state).unwrap();
            let examples = synthetic::examples(&config.net, ROWS, step);
            let muon = Optimiser::of(&config.optimiser);
            for compared in compare_update(&mut fused, muon, &examples, &STEP_HYPER).unwrap() {
                assert!(compared.error < UPDATE_TOLERANCE, "{step}: {compared:?}");
            }
        }
        let training = fused.net().training();
        for arena in [Arena::Weights, Arena::First, Arena::Second, Arena::Averaged] {
            let held = training.read_held(arena).unwrap();
            assert_eq!(training.layout.to_device(&training.layout.to_table(&held)), held);
        }
        // Going on from a copy of its state is going on.
        let state = fused.state().unwrap();
        let examples = synthetic::examples(&config.net, ROWS, 4);
        fused.step(&examples, &STEP_HYPER).unwrap();
        let after = fused.state().unwrap();
        fused.load(&state).unwrap();
        fused.step(&examples, &STEP_HYPER).unwrap();
        assert_eq!(fused.state().unwrap(), after);
    }
}

#[test]
fn inputs_arrive_the_same_as_bytes_and_as_floats() {
    let config = config("kind = 'pair'\nfirst = 12\nhidden = [20, 9]", "");
    let recorded = Recorded::new(&config).unwrap();
    let Some(device) = Emulated::open(&recorded.sources(), &recorded.defines()) else { return };
    let numbers: Vec<u8> = (0..2 * 13).map(|i| i * 5).collect();
    let rows = |kernel, sent: &[u8]| {
        let (from, to) = (device.allocate(sent.len()).unwrap(), device.allocate(2 * 16 * 2).unwrap());
        device.write(from, sent).unwrap();
        let launch = Launch { kernel, blocks: 1, threads: 256, shared: 0 };
        let sizes = [2, 13, 16].map(Argument::Int);
        let arguments: Vec<Argument> = [from, to].map(Argument::At).into_iter().chain(sizes).collect();
        device.launch(launch, &arguments).unwrap();
        let mut bits = [0_u16; 2 * 16];
        device.read(to, bytemuck::cast_slice_mut(&mut bits)).unwrap();
        bits.map(|bits| half::bf16::from_bits(bits).to_f32())
    };
    let floats: Vec<f32> = numbers.iter().map(|&number| f32::from(number)).collect();
    let as_bytes = rows("bytes_to_rows", &numbers);
    assert_eq!(as_bytes, rows("floats_to_rows", bytemuck::cast_slice(&floats)));
    assert_eq!((&as_bytes[..13], &as_bytes[13..16]), (&floats[..13], &[0.0; 3][..]));
    assert_eq!(as_bytes[16..29], floats[13..]);
}
