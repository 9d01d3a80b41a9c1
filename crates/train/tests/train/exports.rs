//! What an exported file's card says: where it comes from, and what rounding cost.

use std::fs;
use std::path::PathBuf;

use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess};
use tabia_encoding::Situation;
use tabia_model::{Figures, HeldOut, Model, Source, Training, Unit};
use tabia_nets::{ChallengeConfig, ValueAttentionConfig};
use tabia_train::checkpoint::{Checkpoint, CheckpointHead};
use tabia_train::export::{
    Agreement, ExportError, ExportFormat, ExportWork, Exported, Measurement, Precision, Provenance, export,
    export_measured, from_file,
};
use tabia_train::{
    NetConfig, Start, TrainConfig, TrainerState, Weights, Window, add_start, initial_weights, metrics_path,
    starts_path,
};
use tempfile::{TempDir, tempdir};

use crate::configs::{From, config};
use crate::sets;

const MOST: u64 = 90;

/// A network as it is before training, and the set it would learn from.
struct Untrained {
    config: TrainConfig,
    arena: Vec<f32>,
    set: PathBuf,
}

impl Untrained {
    fn new(folder: &TempDir, name: &str) -> Self {
        let (config, from) = config(name);
        let set = folder.path().join(if from == From::Games { "games" } else { "evaluations" });
        if !set.exists() {
            if from == From::Games { sets::games(&set) } else { sets::evaluations(&set) }
        }
        let arena = config.net.table().initial(1);
        Untrained { config, arena, set }
    }

    fn measured(&self, format: ExportFormat, precision: Precision) -> Result<(Exported, u64), ExportError> {
        let mut heard = 0;
        let mut progress = |work| {
            if let ExportWork::Measuring(done) = work {
                heard = done;
            }
        };
        let sets = [self.set.clone()];
        let mut measurement =
            Measurement { config: &self.config, sets: &sets, positions: MOST, progress: &mut progress };
        let provenance = Provenance::default();
        let exported = export_measured(&self.arena, format, precision, &provenance, &mut measurement)?;
        Ok((exported, heard))
    }
}

fn worst(a: &Figures, b: &Figures) -> f64 {
    let all = |f: &Figures| {
        [
            f.log_loss,
            f.top1,
            f.top5,
            f.result_loss,
            f.think_loss,
            f.value_loss,
            f.value_error,
            f.value_correlation,
        ]
    };
    let apart = |(a, b): (Option<f64>, Option<f64>)| {
        assert_eq!(a.is_some(), b.is_some(), "a figure of one side alone");
        a.zip(b).map_or(0.0, |(a, b)| (a - b).abs())
    };
    all(a).into_iter().zip(all(b)).map(apart).fold(0.0, f64::max)
}

#[test]
fn an_exact_file_loses_nothing_and_8_bits_lose_little() {
    let folder = tempdir().unwrap();
    for name in ["human", "humchess-68", "policy-cnn", "policy-mlp", "value-mlp", "nnue", "value-cnn", "pair"]
    {
        let network = Untrained::new(&folder, name);
        let (exact, heard) = network.measured(ExportFormat::Onnx, Precision::F32).unwrap();
        let accuracy = exact.accuracy.unwrap();
        assert_eq!((accuracy.positions, heard), (MOST, MOST), "{name}");
        assert!(worst(&accuracy.trained, &accuracy.written) < 1e-3, "{name}: {accuracy:?}");
        assert!(accuracy.value_difference.is_none_or(|difference| difference < 1e-3), "{name}: {accuracy:?}");
        assert!(accuracy.other_choices.is_none_or(|share| share == 0.0), "{name}: {accuracy:?}");

        let (rounded, _) = network.measured(ExportFormat::Onnx, Precision::Int8).unwrap();
        let again = rounded.accuracy.unwrap();
        assert_eq!(again.trained, accuracy.trained, "{name}: other positions");
        assert!(worst(&again.trained, &again.written) < 0.2, "{name}: {again:?}");
        // What the file says of itself is what was measured.
        let rounding = Model::from_bytes(&rounded.bytes).unwrap().card().rounding.clone().unwrap();
        assert_eq!((rounding.weights.as_str(), rounding.accuracy), ("int8", Some(again)), "{name}");
    }
}

#[test]
fn a_state_dict_in_8_bits_is_smaller_and_loses_little() {
    let folder = tempdir().unwrap();
    for name in ["human", "policy-mlp", "nnue"] {
        let network = Untrained::new(&folder, name);
        let (halves, _) = network.measured(ExportFormat::Safetensors, Precision::F16).unwrap();
        let (bytes, _) = network.measured(ExportFormat::Safetensors, Precision::Int8).unwrap();
        assert_eq!(bytes.parameters, halves.parameters, "{name}");
        assert!(bytes.bytes.len() < halves.bytes.len(), "{name}: {}", bytes.bytes.len());
        let accuracy = bytes.accuracy.unwrap();
        assert!(worst(&accuracy.trained, &accuracy.written) < 0.05, "{name}: {accuracy:?}");
        // Rounding by what the network meets is the same every time.
        let (again, _) = network.measured(ExportFormat::Safetensors, Precision::Int8).unwrap();
        assert!(again.bytes == bytes.bytes, "{name}: other bytes");
        // Without positions to round by, no number is further off than half a step of its row.
        let Untrained { config, arena, .. } = &network;
        let provenance = Provenance::default();
        let plain =
            export(&config.net, arena, ExportFormat::Safetensors, Precision::Int8, &provenance).unwrap();
        assert_eq!(plain.parameters, bytes.parameters, "{name}");
        let state = Source::state_dict(&plain.bytes).unwrap();
        let table = network.config.net.table();
        for entry in table.entries() {
            let (exact, read) = (entry.of(&network.arena), state[&entry.name].data());
            let row_len = exact.len() / entry.shape[0];
            for (exact, read) in exact.chunks(row_len).zip(read.chunks(row_len)) {
                let largest = exact.iter().fold(0.0_f32, |largest, v| largest.max(v.abs()));
                let step = largest / 127.0 + 1e-7;
                let near = exact.iter().zip(read).all(|(a, b)| (a - b).abs() <= 0.501 * step);
                assert!(near, "{name}: {}", entry.name);
            }
        }
    }
}

#[test]
fn training_starts_from_a_graph_of_any_precision() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("network.onnx");
    for name in ["human", "policy-cnn", "value-mlp", "nnue", "challenge-conv", "challenge-relative"] {
        let net = config(name).0.net;
        let arena = net.table().initial(3);
        for (precision, step) in [
            (Precision::F32, 0.0),
            (Precision::F16, 1e-3),
            (Precision::Int8Weights, 1.0 / 127.0),
            (Precision::Int8, 1.0 / 127.0),
        ] {
            let exported =
                export(&net, &arena, ExportFormat::Onnx, precision, &Provenance::default()).unwrap();
            fs::write(&path, &exported.bytes).unwrap();
            let read = initial_weights(&path, &net).unwrap();
            for entry in net.table().entries() {
                let (exact, read) = (entry.of(&arena), entry.of(&read));
                let largest = exact.iter().fold(0.0_f32, |largest, v| largest.max(v.abs()));
                let near = exact.iter().zip(read).all(|(a, b)| (a - b).abs() <= largest * step);
                assert!(near, "{name} in {precision}: {}", entry.name);
            }
        }
        let other = config("pair").0.net;
        let error = initial_weights(&path, &other).unwrap_err().to_string();
        assert!(error.contains("nor is it an ONNX file"), "{name}: {error}");
    }
}

#[test]
fn a_file_is_exported_again_and_keeps_its_history() {
    let folder = tempdir().unwrap();
    let (config, _) = config("nnue-squared");
    let arena = config.net.table().initial(3);
    let figures = Figures { value_loss: Some(0.25), ..Figures::default() };
    let training =
        Training { commands: vec!["train".to_owned()], seed: 7, positions: 10, ..Training::default() };
    let provenance = Provenance {
        name: "small".to_owned(),
        data: "60 games of somebody".to_owned(),
        training: Some(training.clone()),
        held_out: vec![HeldOut { group: "all".to_owned(), positions: 9, figures }],
        value_unit_cp: Some(50.0),
        ..Provenance::default()
    };
    let path = folder.path().join("small.safetensors");
    let first = export(&config.net, &arena, ExportFormat::Safetensors, Precision::F16, &provenance).unwrap();
    fs::write(&path, &first.bytes).unwrap();
    // The sidecar is part of what a file says.
    fs::write(folder.path().join("small.safetensors.card.json"), r#"{"licence": "MIT", "authors": "us"}"#)
        .unwrap();
    let (read, found) = from_file(&path, &config.net).unwrap();
    let furthest = arena.iter().zip(&read).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(furthest > 0.0 && furthest < 1e-3, "{furthest}");

    let rounded = export(&config.net, &read, ExportFormat::Safetensors, Precision::Int8, &found).unwrap();
    let model = Model::from_bytes(&rounded.bytes).unwrap();
    let card = model.card();
    let said = [&card.name, &card.training_data, &card.licence, &card.authors].map(Option::as_deref);
    assert_eq!(said, [Some("small"), Some("60 games of somebody"), Some("MIT"), Some("us")]);
    assert_eq!((card.training.as_ref(), &card.held_out), (Some(&training), &provenance.held_out));
    assert_eq!(card.value.as_ref().unwrap().unit, Unit::Centipawns(50.0));
    assert_eq!(card.rounding.as_ref().unwrap().weights, "int8");
    let notes = card.notes.as_deref().unwrap();
    let origin = Model::from_bytes(&first.bytes).unwrap().sha256().to_owned();
    assert!(notes.contains(&format!("{origin} in f16")), "{notes}");

    // 8 bits are read again, too.
    fs::write(&path, &rounded.bytes).unwrap();
    let (again, _) = from_file(&path, &config.net).unwrap();
    let state = Source::state_dict(&rounded.bytes).unwrap();
    for entry in config.net.table().entries() {
        assert_eq!(entry.of(&again), state[&entry.name].data());
    }
    // Tensors of the same shapes do not make the same network.
    let error = from_file(&path, &crate::configs::config("nnue").0.net).unwrap_err().to_string();
    assert!(error.contains("another network"), "{error}");
    let error = from_file(&path, &crate::configs::config("human").0.net).unwrap_err().to_string();
    assert!(error.contains("tabia-human-1") && error.contains("challenge-768"), "{error}");
}

/// A player one move ahead repeats won positions unless it is told what progress is.
#[test]
fn the_term_for_progress_is_added_to_a_file_without_it() {
    let folder = tempdir().unwrap();
    let (config, _) = config("challenge-progress");
    let NetConfig::Challenge(ChallengeConfig::Attention(with)) = &config.net else {
        panic!("another network")
    };
    let without = ValueAttentionConfig { progress: false, ..*with };
    let without = NetConfig::Challenge(ChallengeConfig::Attention(without));
    let mut arena = without.table().initial(3);
    // A queen up, says this network of every position.
    without.table().get("output.bias").unwrap().of_mut(&mut arena)[0] = 5.0;
    let provenance = Provenance { name: "small".to_owned(), ..Provenance::default() };
    let path = folder.path().join("small.onnx");
    let plain = export(&without, &arena, ExportFormat::Onnx, Precision::F32, &provenance).unwrap();
    fs::write(&path, &plain.bytes).unwrap();

    let (read, found) = from_file(&path, &config.net).unwrap();
    assert!(
        found.notes.contains("progress.weight, progress.kings.weight, progress.threshold"),
        "{}",
        found.notes
    );
    let exported = export(&config.net, &read, ExportFormat::Onnx, Precision::F32, &found).unwrap();
    // The places that slices cut at count, too.
    assert_eq!(exported.parameters, plain.parameters + 5_633 + 13);
    let value = |bytes: &[u8], fen: &str| {
        let model = Model::from_bytes(bytes).unwrap();
        let position: Chess = fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap();
        // Centipawns; a unit of the value is a pawn.
        model.evaluate(&[Situation::of(&position)]).unwrap()[0].score.unwrap().0 / 100.0
    };
    let gain = |fen: &str| value(&exported.bytes, fen) - value(&plain.bytes, fen);
    let (near, far) = (gain("4k3/8/4K3/8/8/8/4P3/8 w - - 0 1"), gain("4k3/8/8/8/8/4K3/4P3/8 w - - 0 1"));
    assert!((near - far - 3.0 * 0.02).abs() < 1e-4, "kings that are close to each other: {near} {far}");
    let (home, advanced) = (gain("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"), gain("4k3/8/4P3/8/8/8/8/4K3 w - - 0 1"));
    assert!((advanced - home - 4.0 * 0.02).abs() < 1e-4, "{advanced} {home}");
}

#[test]
fn what_was_not_measured_is_not_in_the_card() {
    let (config, _) = config("policy-mlp");
    let arena = config.net.table().initial(3);
    for (format, precision) in [
        (ExportFormat::Onnx, Precision::Int8),
        (ExportFormat::Safetensors, Precision::F16),
        (ExportFormat::Safetensors, Precision::Int8),
    ] {
        let exported = export(&config.net, &arena, format, precision, &Provenance::default()).unwrap();
        let model = Model::from_bytes(&exported.bytes).unwrap();
        let rounding = model.card().rounding.clone().unwrap();
        assert_eq!((rounding.weights, rounding.accuracy), (precision.to_string(), None));
    }
}

#[test]
fn a_set_that_holds_nothing_out_is_refused() {
    let folder = tempdir().unwrap();
    let mut network = Untrained::new(&folder, "nnue");
    network.config.data.held_out_ppm = 0;
    let error = network.measured(ExportFormat::Onnx, Precision::Int8).unwrap_err().to_string();
    assert!(error.contains("games") && error.contains("held out"), "{error}");
}

#[test]
fn convolutions_are_in_8_bits_too() {
    // Wide enough that a convolution is worth it; the norms before it give numbers of both signs.
    let text = "name = 'wide'\n[net]\nkind = 'policy-cnn'\nview = 'mover'\nchannels = 16\nblocks = 1\nkernel = 3\nhead = { bilinear = 8 }";
    let wide = TrainConfig::parse(text).unwrap();
    let arena = wide.net.table().initial(3);
    let exported =
        export(&wide.net, &arena, ExportFormat::Onnx, Precision::Int8, &Provenance::default()).unwrap();
    let Agreement { positions, probability, .. } = exported.agreement;
    assert!(positions > 50 && probability > 0.0 && probability < 0.1, "{}", exported.agreement);
    let exact =
        export(&wide.net, &arena, ExportFormat::Onnx, Precision::F32, &Provenance::default()).unwrap();
    assert!(exported.bytes.len() < exact.bytes.len(), "{}", exported.bytes.len());
    let graph = Source::read(&exported.bytes).unwrap().into_graph().unwrap().graph.unwrap();
    let count = |op: &str| graph.node.iter().filter(|node| node.op_type == op).count();
    assert!(count("ConvInteger") >= 2, "{}", count("ConvInteger"));
    let read: Vec<&String> = graph.node.iter().flat_map(|node| &node.input).collect();
    assert!(
        graph.initializer.iter().all(|tensor| read.contains(&&tensor.name)),
        "an initializer nobody reads"
    );
}

#[test]
fn a_run_fills_the_card() {
    let folder = tempdir().unwrap();
    let run = folder.path();
    let (config, _) = config("nnue");
    let arena = config.net.table().initial(1);
    let head = CheckpointHead {
        config: config.clone(),
        seed: 7,
        positions: 480,
        seconds: 90.0,
        evaluations: 1,
        window: Window::default(),
        supply: serde_json::Value::Null,
        data: "60 games of somebody".to_owned(),
    };
    let checkpoint =
        Checkpoint { head, state: TrainerState { step: 30, ..TrainerState::fresh(arena.clone()) } };
    let start = |step, device: &str| Start {
        step,
        command: format!("train --from {step}"),
        device: device.to_owned(),
    };
    let path = starts_path(run);
    // The second start was undone by the third, which went on from an earlier step.
    for start in [start(0, "CPU"), start(20, "CPU"), start(10, "H200"), start(40, "H200")] {
        add_start(&path, &start).unwrap();
    }
    let line = |step: u64, loss: f64| {
        format!(
            "{{\"kind\":\"evaluation\",\"step\":{step},\"positions\":1,\"seconds\":1.0,\"groups\":{{\"all\":{{\"count\":9,\"value\":{loss}}}}}}}\n"
        )
    };
    fs::write(metrics_path(run), line(15, 0.3) + &line(30, 0.25) + &line(40, 0.1)).unwrap();

    let provenance = Provenance::of_run(run, &checkpoint, Weights::Averaged).unwrap();
    let exported = export(&config.net, &arena, ExportFormat::Onnx, Precision::F32, &provenance).unwrap();
    let model = Model::from_bytes(&exported.bytes).unwrap();
    let card = model.card();
    assert_eq!(card.name.as_deref(), Some("nnue"));
    assert_eq!(card.training_data.as_deref(), Some("60 games of somebody"));
    let training = card.training.as_ref().unwrap();
    assert_eq!(training.commands, ["train --from 0", "train --from 10"]);
    assert_eq!(training.device.as_deref(), Some("CPU, then H200"));
    assert_eq!((training.seed, training.steps, training.positions, training.minutes), (7, 30, 480, 1.5));
    let [all] = card.held_out.as_slice() else { panic!("{:?}", card.held_out) };
    assert_eq!((all.group.as_str(), all.positions, all.figures.value_loss), ("all", 9, Some(0.25)));
    assert!(matches!(card.value.as_ref().unwrap().unit, Unit::Centipawns(_)));
    // The figures are those of the averaged weights.
    assert!(Provenance::of_run(run, &checkpoint, Weights::Live).unwrap().held_out.is_empty());
    let twice = export(&config.net, &arena, ExportFormat::Onnx, Precision::F32, &provenance).unwrap();
    assert_eq!(twice.bytes, exported.bytes);
}

#[test]
fn the_human_network_in_8_bits_can_be_written_anew() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let config = fs::read_to_string(root.join("configs/human.toml")).unwrap();
    let config = TrainConfig::parse(&config).unwrap();
    let (arena, provenance) = from_file(&root.join("models/human.safetensors"), &config.net).unwrap();
    assert_eq!(arena.len(), config.net.table().arena_len());
    assert_eq!(provenance.name, "human");
}
