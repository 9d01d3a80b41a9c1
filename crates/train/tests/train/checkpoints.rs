//! Checkpoints as files: those of this version and earlier ones, and those a crash left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tabia_train::checkpoint::{self, Checkpoint, CheckpointHead};
use tabia_train::{TrainConfig, TrainerState, Window};
use tempfile::tempdir;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/train/checkpoint")
}

fn checkpoint(net: &str, step: u64) -> Checkpoint {
    let config = TrainConfig::parse(&format!("name = 'golden'\n[net]\n{net}")).unwrap();
    let weights = config.net.table().initial(3);
    let mut state = TrainerState { step, ..TrainerState::fresh(weights) };
    state.m[0] = 0.25;
    state.v[0] = 0.5;
    state.ema[0] = -1.0;
    let head = CheckpointHead {
        config,
        seed: 11,
        positions: 4096,
        seconds: 1.5,
        evaluations: 2,
        window: Window::default(),
        supply: serde_json::json!({ "lanes": [1, 2] }),
        data: "three games".to_owned(),
    };
    Checkpoint { head, state }
}

const TINY: &str = "kind = 'nnue'\nwidth = 1\nbuckets = 1";

#[test]
fn the_first_version_is_still_read() {
    let found = checkpoint::read(&checkpoint::list(&golden()).unwrap()[0]).unwrap();
    assert_eq!(found, checkpoint(TINY, 3));
}

/// Writes the golden checkpoint: only for a new version of the layout.
#[test]
#[ignore = "writes a fixture"]
fn write_the_golden_checkpoint() {
    checkpoint::write(&golden(), &checkpoint(TINY, 3)).unwrap();
}

#[test]
fn a_large_checkpoint_comes_in_parts() {
    let folder = tempdir().unwrap();
    let large = checkpoint("kind = 'nnue'\nwidth = 2000\nbuckets = 1", 1);
    let written = checkpoint::write(folder.path(), &large).unwrap();
    let sizes: Vec<u64> =
        fs::read_dir(&written).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).collect();
    assert_eq!(sizes.len(), 2);
    assert!(sizes.iter().all(|&size| size <= checkpoint::MAX_PART as u64));
    assert_eq!(checkpoint::read(&written).unwrap(), large);
}

/// What the next test starts as a process of its own and kills.
#[test]
#[ignore = "takes long by itself"]
fn writes_checkpoints_until_it_is_killed() {
    for step in 1..=500 {
        let large = checkpoint("kind = 'nnue'\nwidth = 600\nbuckets = 1", step);
        checkpoint::write(Path::new("."), &large).unwrap();
        checkpoint::prune(Path::new("."), 2).unwrap();
    }
}

#[test]
fn killed_writer_leaves_existing_checkpoints_intact() {
    let folder = tempdir().unwrap();
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "checkpoints::writes_checkpoints_until_it_is_killed"])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let whole = || checkpoint::list(folder.path()).unwrap();
    let is_writing = || {
        let mut entries = fs::read_dir(folder.path()).unwrap();
        entries.any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with("unfinished-"))
    };
    while whole().is_empty() || !is_writing() {
        assert!(writer.try_wait().unwrap().is_none(), "the writer ended by itself");
        std::thread::sleep(Duration::from_millis(1));
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    for folder in whole() {
        checkpoint::read(&folder).unwrap();
    }
    assert!(!whole().is_empty());
}
