//! `data vocab`, and a network trained over the moves it counts.

use std::fs;
use std::path::Path;

use shakmaty::Chess;
use tabia_encoding::{MoveSubset, PolicyIndex, Situation};
use tabia_model::Model;

use crate::program::{Folder, data, lab, succeed};

fn evaluations() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/shards/evaluations")
}

const CONFIG: &str = "name = 'counted'\n\
    [net]\nkind = 'policy-cnn'\nview = 'white-13'\nchannels = 4\nblocks = 1\nkernel = 3\nhead = 'joined'\n\
    vocabulary = 'vocab.npy'\n\
    [data]\nbatch = 16\nlanes = 2\nseats = 8\nheld_out_ppm = 200000\n\
    [evaluation]\ntimes = 1\npositions = 20\nfinal_positions = 20\n";

#[test]
fn a_network_over_counted_moves_trains_and_plays_without_the_vocabulary_file() {
    let folder = Folder::new();
    let vocabulary = folder.file("vocab.npy");
    let said = succeed(data("vocab").arg(evaluations()).arg("--out").arg(&vocabulary));
    let moves = MoveSubset::read_npy(&fs::read(&vocabulary).unwrap()).unwrap();
    assert!(moves.len() < 1968 && said.contains(&format!("{} of 1968 moves", moves.len())), "{said}");

    fs::write(folder.file("config.toml"), CONFIG).unwrap();
    let train = ["train", "config.toml", "--device", "cpu", "--max-positions", "320", "--out", "run"];
    let rules = ["--strategy", "best", "--min-depth", "1", "--eval-min-depth", "2", "--num-samples", "1k"];
    succeed(lab().args(train).args(rules).arg("--data").arg(evaluations()).current_dir(folder.path()));
    let config = fs::read_to_string(folder.file("run/config.toml")).unwrap();
    assert!(!config.contains("vocab.npy") && config.contains("labels = \"best\""), "{config}");
    fs::remove_file(&vocabulary).unwrap();

    for out in ["counted.safetensors", "counted.onnx"] {
        succeed(lab().args(["train", "export", "run", "--out", out]).current_dir(folder.path()));
        let model = Model::open(folder.file(out)).unwrap();
        let architecture = model.card().architecture.clone().unwrap();
        assert!(
            architecture.contains("13 planes") && architecture.contains(&format!("{} moves", moves.len()))
        );
        let start = Chess::default();
        let evaluation = model.evaluate(&[Situation::of(&start)]).unwrap().remove(0);
        let known = MoveSubset::of(&moves).unwrap();
        let moves = tabia_encoding::vocabulary("canonical-1968").unwrap();
        for candidate in evaluation.policy.unwrap().candidates() {
            let PolicyIndex(index) = moves.slot(shakmaty::Color::White, candidate.mv).index;
            assert_eq!(
                candidate.probability > 0.0,
                known.contains(PolicyIndex(index)),
                "{out}: {}",
                candidate.mv
            );
        }
    }
    let score = |arguments: &[&str]| {
        let mut command = lab();
        command
            .args(["train", "eval", "counted.safetensors"])
            .args(arguments)
            .arg("--data")
            .arg(evaluations());
        succeed(command.current_dir(folder.path()))
    };
    let said = score(&["--all", "--eval-min-depth", "2", "--temperature", "30"]);
    assert!(said.contains("(deepest:30)") && said.contains("depth>=2:") && said.contains("top-5"), "{said}");
}
