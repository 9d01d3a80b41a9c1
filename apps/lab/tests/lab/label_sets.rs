//! `data label` with a set as output.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroI32;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use shakmaty::{Chess, Move, Position, uci::UciMove};
use tabia_data::{EvaluationRecord, Session, Set, SourceKind};
use tabia_encoding::{ForMover, Score, Situation};
use tabia_game::position_from_fen;

use crate::label::{epd, label, lines_file, scripted, table, until_noted, walk};
use crate::program::{Folder, data, fail, files, succeed};
use crate::sets::{games, write_set};

/// Every record of a set, by its position.
fn read(set: &Path) -> BTreeMap<String, EvaluationRecord> {
    let set = Set::open(set).expect("a whole set");
    set.iter()
        .map(|record| EvaluationRecord::from_bytes(&record.expect("a record").1).expect("an evaluation"))
        .map(|record| (epd(&record.position), record))
        .collect()
}

/// What the engine with a value for every move thinks of one: its place in the alphabet, and no two the same.
fn values(position: &Chess) -> Vec<(Move, i32)> {
    let mut moves: Vec<(String, Move)> =
        position.legal_moves().iter().map(|&m| (UciMove::from_standard(m).to_string(), m)).collect();
    moves.sort_by(|(one, _), (other, _)| one.cmp(other));
    moves.into_iter().zip((-100..=100).rev().step_by(5)).map(|((_, m), value)| (m, value)).collect()
}

fn table_of_values(folder: &Folder, positions: &[Chess]) -> PathBuf {
    let lines = |position: &Chess| {
        let lines = values(position).into_iter();
        lines.map(|(m, value)| json!([UciMove::from_standard(m).to_string(), value])).collect::<Vec<_>>()
    };
    let entries: serde_json::Map<String, serde_json::Value> =
        positions.iter().map(|position| (epd(position), json!(lines(position)))).collect();
    let path = folder.file("values.json");
    std::fs::write(&path, serde_json::to_vec(&entries).expect("plain JSON")).expect("a writable folder");
    path
}

#[test]
fn every_legal_move_is_labelled() {
    let folder = Folder::new();
    let positions = walk(40);
    let engine = scripted(&table_of_values(&folder, &positions), "0");
    let (input, out) = (lines_file(&folder, &positions), folder.file("set"));
    // So many nodes a position make small chunks.
    let settings = ["--multipv", "all", "--nodes", "1000000", "--shards", "3"];
    let said = succeed(&mut label(&input, &out, &engine, &[&settings[..], &["--jobs", "3"]].concat()));
    let records = read(&out);
    assert_eq!(records.keys().cloned().collect::<BTreeSet<_>>(), positions.iter().map(epd).collect());
    let mut rows = 0;
    for position in &positions {
        let lines = values(position).into_iter().map(|(first, value)| tabia_data::Line {
            first,
            score: ForMover(Score::Centipawns(value)).for_white(position.turn()),
        });
        let session = Session { depth: 7, knodes: 12, lines: lines.collect() };
        assert_eq!(session.lines.len(), position.legal_moves().len());
        rows += session.lines.len();
        assert_eq!(records[&epd(position)].sessions, [session], "{}", epd(position));
    }
    assert!(said.contains(&format!("{rows} rows of 40 positions")), "{said}");

    let alone = folder.file("alone");
    succeed(&mut label(&input, &alone, &engine, &[&settings[..], &["--jobs", "1"]].concat()));
    assert!(files(&alone) == files(&out), "the number of engines makes no difference");
    fail(&mut label(&input, &out, &engine, &settings));
}

#[test]
fn a_network_judges_the_position_after_every_move() {
    let folder = Folder::new();
    let positions = walk(40);
    let input = lines_file(&folder, &positions);
    let network = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/models/challenge-mlp.onnx");
    let judged = |name: &str, rest: &[&str]| {
        let out = folder.file(name);
        let mut command = data("label");
        command.arg(&input).arg("--out").arg(&out).arg("--network").arg(&network).args(rest);
        let said = succeed(&mut command);
        assert!(said.contains(" of 40 positions"), "{said}");
        read(&out)
    };
    let all = judged("all", &["--multipv", "all", "--jobs", "2"]);
    let best = judged("best", &["--jobs", "1"]);
    let model = tabia_model::Model::open(&network).unwrap();
    for position in &positions {
        let [session] = all[&epd(position)].sessions.as_slice() else { panic!("one session") };
        let turn = position.turn();
        assert_eq!((session.depth, session.lines.len()), (1, position.legal_moves().len()));
        for line in &session.lines {
            let mut after = position.clone();
            after.play_unchecked(line.first);
            let expected = if after.is_checkmate() {
                Score::Mate(NonZeroI32::new(1).unwrap())
            } else if after.is_stalemate() || after.is_insufficient_material() {
                Score::Centipawns(0)
            } else {
                let value = model.evaluate(&[Situation::of(&after)]).unwrap()[0].score.unwrap().0;
                Score::Centipawns(-value.round() as i32)
            };
            let found = line.score.for_mover(turn).0;
            match (found, expected) {
                // Batches may round otherwise.
                (Score::Centipawns(found), Score::Centipawns(expected)) => {
                    assert!((found - expected).abs() <= 1, "{}: {found} {expected}", epd(position));
                }
                (found, expected) => assert_eq!(found, expected),
            }
        }
        let [top] = best[&epd(position)].sessions[0].lines.as_slice() else { panic!("one line") };
        assert_eq!(top, &session.lines[0]);
    }
    let mut command = data("label");
    command.arg(&input).arg("--out").arg(folder.file("gpu")).arg("--network").arg(&network);
    let (_, error) = fail(command.args(["--device", "gpu"]));
    assert!(error.contains("--device gpu needs --config"), "{error}");
}

#[test]
fn a_killed_run_can_be_resumed_or_completed() {
    let folder = Folder::new();
    let positions = walk(360);
    let table = table(&folder, &positions, &[]);
    let input = lines_file(&folder, &positions);
    let (fast, slow) = (scripted(&table, "0"), scripted(&table, "0.01"));
    let (whole, out) = (folder.file("whole"), folder.file("out"));
    let settings = ["--nodes", "1000000", "--multipv", "3"];
    succeed(&mut label(&input, &whole, &fast, &[&settings[..], &["--jobs", "1"]].concat()));
    assert_eq!(read(&whole).len(), 360);

    for signal in [Signal::KILL, Signal::INT] {
        let journal = out.join("labels.journal");
        let before = std::fs::metadata(&journal).map_or(0, |about| about.len());
        let mut run = label(&input, &out, &slow, &[&settings[..], &["--jobs", "3"]].concat())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until_noted(&mut run, &journal, before);
        kill_process(Pid::from_child(&run), signal).unwrap();
        let ended = run.wait_with_output().unwrap();
        assert!(!out.join("set.json").exists(), "killed before its end");
        assert_eq!(ended.status.code(), (signal == Signal::INT).then_some(1), "{ended:?}");
    }
    fail(&mut label(&input, &out, &fast, &["--nodes", "1000000", "--multipv", "2"]));

    // A set of what there is, in a copy of the folder, is whole but smaller.
    let some = folder.file("some");
    std::fs::create_dir(&some).unwrap();
    for (name, bytes) in files(&out) {
        std::fs::write(some.join(name), bytes).unwrap();
    }
    succeed(&mut label(&input, &some, &fast, &[&settings[..], &["--max-seconds", "0"]].concat()));
    let (some_records, all) = (read(&some), read(&whole));
    assert!((1..360).contains(&some_records.len()));
    assert!(some_records.iter().all(|(position, record)| all[position] == *record));
    // A run that was killed while it made such a set left a shard of too few positions.
    std::fs::copy(some.join("shard-00000.tabia"), out.join("shard-00000.tabia")).unwrap();

    succeed(&mut label(&input, &out, &fast, &[&settings[..], &["--jobs", "2"]].concat()));
    assert!(files(&out) == files(&whole));
    fail(&mut label(&input, &folder.file("none"), &fast, &["--max-seconds", "0"]));
}

#[test]
fn replacements_are_one_or_two_moves_from_the_game() {
    let folder = Folder::new();
    let start = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1";
    let game = ["e2e4", "e8d7", "e1d2", "d7c6", "d2c3", "c6d6", "c3d4", "d6c6", "e4e5", "c6d7"];
    let input = folder.file("game.pgn");
    let text = "1. e4 Kd7 2. Kd2 Kc6 3. Kc3 Kd6 4. Kd4 Kc6 5. e5 Kd7 *";
    std::fs::write(&input, format!("[SetUp \"1\"]\n[FEN \"{start}\"]\n\n{text}\n\n")).unwrap();
    let mut positions = vec![position_from_fen(start).unwrap()];
    for text in game {
        let mut position = positions.last().unwrap().clone();
        let played = text.parse::<UciMove>().unwrap().to_move(&position).unwrap();
        position.play_unchecked(played);
        positions.push(position);
    }
    let after = |positions: &[Chess]| -> Vec<Chess> {
        let moves = |position: &Chess| -> Vec<Chess> {
            position.legal_moves().iter().map(|&m| position.clone().play(m).unwrap()).collect()
        };
        positions.iter().flat_map(moves).collect()
    };
    let one = after(&positions[4..]);
    let two = after(&one);
    let known: BTreeMap<String, Chess> =
        positions.iter().chain(&one).chain(&two).map(|position| (epd(position), position.clone())).collect();
    let engine = scripted(&table(&folder, &known.into_values().collect::<Vec<_>>(), &[]), "0");

    let settings = ["--first-ply", "4", "--depth", "1"];
    let run = |name: &str, more: &[&str]| {
        let out = folder.file(name);
        let said = succeed(&mut label(&input, &out, &engine, &[&settings[..], more].concat()));
        (read(&out).into_keys().collect::<BTreeSet<_>>(), said)
    };
    let from_the_fourth: BTreeSet<String> = positions[4..].iter().map(epd).collect();
    assert_eq!(run("plain", &[]).0, from_the_fourth);
    let names = |positions: &[Chess]| positions.iter().map(epd).collect::<BTreeSet<_>>();
    let (perturbed, said) = run("perturbed", &["--random-moves", "1"]);
    assert!(said.contains(&format!("{} positions chosen that are a random move", perturbed.len())), "{said}");
    assert!(perturbed.len() > 3 && perturbed.is_subset(&(&names(&one) | &names(&two))), "{perturbed:?}");
    assert_ne!(perturbed, from_the_fourth);
    let (half, _) = run("half", &["--random-moves", "0.5", "--seed", "3"]);
    assert!(half.intersection(&from_the_fourth).next().is_some());
    assert!(half.difference(&from_the_fourth).next().is_some(), "{half:?}");
    assert_eq!(half, run("half-again", &["--stray", "0.5", "--seed", "3", "--jobs", "1"]).0);
}

#[test]
fn stockfish_labels_every_move_of_a_set_of_games() {
    let Some(stockfish) = tabia_requires::stockfish() else { return };
    let folder = Folder::new();
    let (input, out) = (folder.file("games"), folder.file("values"));
    write_set(&input, SourceKind::Pgn, &games(8, 60), 2);
    let settings =
        ["--multipv", "all", "--depth", "3", "--per-game", "4", "--first-ply", "6", "--random-moves", "0.5"];
    let said = succeed(&mut label(&input, &out, stockfish, &settings));
    let records = read(&out);
    assert!(records.len() > 25 && !said.contains("fewer lines"), "{said}");
    for (name, EvaluationRecord { position, sessions }) in records {
        let [Session { depth: 3, lines, .. }] = sessions.as_slice() else { panic!("{name}: {sessions:?}") };
        let moves: BTreeSet<String> = lines.iter().map(|line| format!("{:?}", line.first)).collect();
        let legal: BTreeSet<String> = position.legal_moves().iter().map(|m| format!("{m:?}")).collect();
        assert_eq!(moves, legal, "{name}");
    }
}
