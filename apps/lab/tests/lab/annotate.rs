//! `data annotate`: evaluations of the right plies, and killed or timed-out runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use shakmaty::{Chess, Position};
use tabia_data::{GameRecord, Set, SourceKind};
use tabia_encoding::{ForMover, ForWhite, Score};

use crate::label::{epd, opinion, scripted, table};
use crate::program::{Folder, data, fail, files, succeed};
use crate::sets::{games, records, write_set};

fn annotate(set: &Path, out: &Path, engine: &str, more: &[&str]) -> Command {
    let mut command = data("annotate");
    command.arg(set).arg("--out").arg(out).args(["--engine", engine, "--shards", "3"]).args(more);
    command
}

/// Every position of the games, once.
fn positions(games: &[GameRecord]) -> Vec<Chess> {
    let mut seen = BTreeMap::new();
    for game in games {
        let mut position = game.start.clone();
        for ply in &game.plies {
            position.play_unchecked(ply.played);
            seen.entry(epd(&position)).or_insert_with(|| position.clone());
        }
    }
    seen.into_values().filter(|position| !position.legal_moves().is_empty()).collect()
}

fn read(set: &Path) -> Vec<GameRecord> {
    let set = Set::open(set).expect("a whole set");
    set.iter().map(|record| GameRecord::from_bytes(&record.expect("a record").1).expect("a game")).collect()
}

#[test]
fn evaluations_are_of_quiet_plies_and_replace_existing_ones() {
    let folder = Folder::new();
    let text = games(6, 60);
    let before = records(&text);
    assert!(before.iter().any(|game| game.plies.iter().any(|ply| ply.evaluation.is_some())));
    let (set, out) = (folder.file("set"), folder.file("out"));
    write_set(&set, SourceKind::Pgn, &text, 2);
    let engine = scripted(&table(&folder, &positions(&before), &[]), "0");
    let said = succeed(&mut annotate(&set, &out, &engine, &[]));

    let mut evaluated = 0;
    let after = read(&out);
    for game in &after {
        let mut position = game.start.clone();
        for (ply, next) in game.plies.iter().zip(game.plies.iter().skip(1).map(Some).chain([None])) {
            position.play_unchecked(ply.played);
            let quiet = !position.is_check()
                && next.is_some_and(|next| !next.played.is_capture() && !next.played.is_promotion());
            let score = quiet.then(|| ForMover(Score::Centipawns(opinion(&position)[0].1)));
            let expected: Option<ForWhite<Score>> = score.map(|score| score.for_white(position.turn()));
            assert_eq!(ply.evaluation, expected, "{}", epd(&position));
            evaluated += u32::from(quiet);
        }
    }
    assert!(
        evaluated > 0 && said.contains(&format!("6 games, {evaluated} positions evaluated, 0 without")),
        "{said}"
    );
    // Nothing but the evaluations is different.
    let bare = |games: &[GameRecord]| {
        let mut games = games.to_vec();
        games.iter_mut().flat_map(|game| &mut game.plies).for_each(|ply| ply.evaluation = None);
        let mut bytes: Vec<Vec<u8>> = games.iter().map(|game| game.to_bytes().unwrap()).collect();
        bytes.sort();
        bytes
    };
    assert_eq!(bare(&after), bare(&before));

    let everywhere = folder.file("everywhere");
    succeed(&mut annotate(&set, &everywhere, &engine, &["--positions", "all"]));
    for game in read(&everywhere) {
        let mut position = game.start.clone();
        for ply in &game.plies {
            position.play_unchecked(ply.played);
            assert_eq!(ply.evaluation.is_some(), !position.legal_moves().is_empty());
        }
    }
    fail(&mut annotate(&set, &out, &engine, &[]));
}

#[test]
fn a_killed_run_resumes_and_writes_the_same_bytes() {
    let folder = Folder::new();
    // Some chunks of work.
    let text = games(500, 4);
    let (set, whole, out) = (folder.file("set"), folder.file("whole"), folder.file("out"));
    write_set(&set, SourceKind::Pgn, &text, 2);
    let table = table(&folder, &positions(&records(&text)), &[]);
    let (fast, slow) = (scripted(&table, "0"), scripted(&table, "0.003"));
    succeed(&mut annotate(&set, &whole, &fast, &["--jobs", "1"]));
    assert_eq!(read(&whole).len(), 500);

    let mut run = annotate(&set, &out, &slow, &["--jobs", "2"]).stderr(Stdio::null()).spawn().unwrap();
    let part_is_there = || {
        let names = std::fs::read_dir(out.join("parts")).into_iter().flatten().flatten();
        names.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|end| end == "tabia"))
    };
    while !part_is_there() && run.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(2));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(part_is_there() && !out.join("set.json").exists(), "killed before its end");

    // Results of other settings are not reused.
    let other = ["--hash", "32", "--max-seconds", "0"];
    fail(&mut annotate(&set, &out, &fast, &other));
    // And a set of what there is, in a copy of the folder, is whole but smaller.
    let some = folder.file("some");
    std::fs::create_dir_all(some.join("parts")).unwrap();
    for (name, bytes) in files(&out.join("parts")) {
        std::fs::write(some.join("parts").join(name), bytes).unwrap();
    }
    succeed(&mut annotate(&set, &some, &fast, &["--max-seconds", "0"]));
    assert!((1..500).contains(&read(&some).len()));
    // A run that was killed while it made such a set left a shard of too few games.
    std::fs::copy(some.join("shard-00000.tabia"), out.join("shard-00000.tabia")).unwrap();

    succeed(&mut annotate(&set, &out, &fast, &["--jobs", "2"]));
    assert!(files(&out) == files(&whole));
}

#[test]
fn no_set_is_written_without_results() {
    let folder = Folder::new();
    let text = games(4, 30);
    let (set, out) = (folder.file("set"), folder.file("out"));
    write_set(&set, SourceKind::Pgn, &text, 1);
    let all = positions(&records(&text));
    let dead: Vec<(usize, &str)> = (0..all.len()).map(|index| (index, "crash")).collect();
    let engine = scripted(&table(&folder, &all, &dead), "0");
    fail(&mut annotate(&set, &out, &engine, &["--max-seconds", "0"]));
    let (_, dead) = fail(&mut annotate(&set, &out, &engine, &["--jobs", "1"]));
    assert!(dead.contains("no answer"), "{dead}");
    assert!(!out.join("set.json").exists());
}
