//! `data verify`: valid sets pass, and damage is reported.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tabia_data::{RecordKind, SourceKind};

use crate::program::{Folder, data, fail, succeed};
use crate::sets::{games, records, write_records, write_set};

fn shard_files(set: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(set)
        .expect("a set")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "tabia"))
        .collect();
    files.sort();
    files
}

fn change(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).expect("a file");
    change(&mut bytes);
    std::fs::write(path, bytes).expect("a file");
}

#[test]
fn a_valid_set_passes() {
    let folder = Folder::new();
    let set = folder.file("set");
    write_set(&set, SourceKind::Pgn, &games(40, 30), 4);
    let said = succeed(data("verify").arg(&set).args(["--held-out", "0.25"]));
    for part in [
        "40 records (games), 1,200 positions",
        "all checksums, records, moves, counts and keys are valid",
        "no record is on both sides of the split",
        "held-out positions from ply 10 on occur in training games too",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let json = succeed(data("verify").arg(&set).args(["--held-out", "0.25", "--json"]));
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["sound"], &json["leaks"]), (&Value::Bool(true), &Value::from(0)));
    let set = &json["sets"][0];
    assert_eq!(set["records"], 40);
    let held_out = set["held_out"].as_u64().unwrap();
    assert!(held_out > 0 && set["training"].as_u64().unwrap() == 40 - held_out);
    assert_eq!(json["overlap"]["held_out"], 20 * held_out);
}

#[test]
fn a_damaged_shard_is_reported() {
    let folder = Folder::new();
    let set = folder.file("set");
    write_set(&set, SourceKind::Pgn, &games(60, 24), 3);
    let files = shard_files(&set);
    change(&files[1], |bytes| {
        let middle = bytes.len() / 3;
        bytes[middle] ^= 0x40;
    });
    let (said, _) = fail(data("verify").arg(&set));
    assert!(said.contains("WRONG") && said.contains("shard-00001.tabia: "), "{said}");
    assert!(said.contains("set.json says 60"), "{said}");

    change(&files[2], |bytes| bytes.truncate(bytes.len() / 2));
    std::fs::remove_file(&files[0]).unwrap();
    let (said, _) = fail(data("verify").arg(&set));
    assert!(said.contains("shard-00000.tabia: ") && said.contains("shard-00002.tabia: "), "{said}");
}

#[test]
fn a_shard_of_another_set_is_reported() {
    let folder = Folder::new();
    let (set, other) = (folder.file("set"), folder.file("other"));
    write_set(&set, SourceKind::Pgn, &games(40, 24), 2);
    write_set(&other, SourceKind::Pgn, &games(30, 24), 2);
    std::fs::copy(&shard_files(&other)[1], &shard_files(&set)[0]).unwrap();
    let (said, _) = fail(data("verify").arg(&set));
    for part in ["is shard 1 of 2 (expected 0 of 2)", "checksum ", "belongs to another shard"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let (_, complaint) = fail(data("verify").arg(folder.file("nothing")));
    assert!(complaint.contains("set.json"), "{complaint}");
}

#[test]
fn leaks_of_held_out_records_are_reported() {
    let folder = Folder::new();
    let (one, two, test) = (folder.file("one"), folder.file("two"), folder.file("test"));
    let all: Vec<Vec<u8>> = records(&games(30, 40)).iter().map(|game| game.to_bytes().unwrap()).collect();
    write_records(&one, RecordKind::Games, &all[..20], 2);
    write_records(&two, RecordKind::Games, &all[15..25], 1);
    write_records(&test, RecordKind::Games, &all[24..], 1);
    // The same split for both: the games they share are on the same side.
    let said = succeed(data("verify").args([&one, &two]).args(["--held-out", "0.3"]));
    assert!(said.contains("share 5 records"), "{said}");
    let said = succeed(data("verify").arg(&one).arg("--against").arg(&test).args(["--held-out", "0"]));
    assert!(said.contains("0 of 180 held-out positions"), "{said}");
    let (said, _) = fail(data("verify").arg(&two).arg("--against").arg(&test).args(["--held-out", "0"]));
    assert!(said.contains("WRONG 1 of them are in the training records of one"), "{said}");
    assert!(said.contains("30 of 180 held-out positions"), "{said}");
}

#[test]
fn labels_of_evaluations_are_counted() {
    let folder = Folder::new();
    let set = folder.file("set");
    let rows = [
        r#"{"fen":"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -","line":"e2e4","depth":22,"knodes":9,"cp":30,"mate":null}"#,
        r#"{"fen":"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -","line":"d2d4","depth":22,"knodes":9,"cp":30,"mate":null}"#,
        r#"{"fen":"4k3/8/4K3/8/8/8/8/7R w - -","line":"h1h8","depth":41,"knodes":5,"cp":null,"mate":1}"#,
    ];
    write_set(&set, SourceKind::EvaluationsJsonl, &rows.join("\n"), 2);
    let said = succeed(data("verify").arg(&set));
    for part in [
        "soft labels   1 (50.0%)",
        "hard labels   1 (50.0%)",
        "2+ deepest    1 (50.0%)",
        "20-24",
        "40-44",
        "mates         1 lines",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
