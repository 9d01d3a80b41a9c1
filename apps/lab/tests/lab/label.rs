//! `data label`: engines that crash and hang, and killed runs.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use shakmaty::{Chess, EnPassantMode, Position, fen::Epd, uci::UciMove};
use tabia_game::position_from_fen;

use crate::program::{Folder, data, succeed};

pub(crate) fn epd(position: &Chess) -> String {
    Epd::from_position(position, EnPassantMode::Legal).to_string()
}

/// The positions of a game that plays one of its moves after the other, each once.
pub(crate) fn walk(plies: usize) -> Vec<Chess> {
    let mut position = Chess::default();
    let mut seen = HashSet::new();
    let mut positions = Vec::new();
    for ply in 0_usize.. {
        let moves = position.legal_moves();
        if positions.len() == plies || moves.is_empty() {
            break;
        }
        if seen.insert(epd(&position)) {
            positions.push(position.clone());
        }
        position.play_unchecked(moves[(ply * 7 + 3) % moves.len()]);
    }
    assert_eq!(positions.len(), plies, "the game is long enough");
    positions
}

/// What the scripted engine thinks of a position: its first moves by the alphabet, the first 30 centipawns up.
pub(crate) fn opinion(position: &Chess) -> Vec<(String, i32)> {
    let mut moves: Vec<String> =
        position.legal_moves().iter().map(|&m| UciMove::from_standard(m).to_string()).collect();
    moves.sort();
    moves.into_iter().zip((0..=30).rev().step_by(10)).collect()
}

/// Writes the engine's table; `behaviours` are what it does in some positions.
pub(crate) fn table(folder: &Folder, positions: &[Chess], behaviours: &[(usize, &str)]) -> PathBuf {
    let mut entries = serde_json::Map::new();
    for (index, position) in positions.iter().enumerate() {
        let lines = json!(opinion(position));
        let behaviour = behaviours.iter().find(|(at, _)| *at == index).map(|(_, behaviour)| *behaviour);
        let entry =
            behaviour.map_or(lines.clone(), |behaviour| json!({ "lines": lines, "behaviour": behaviour }));
        entries.insert(epd(position), entry);
    }
    let path = folder.file("table.json");
    std::fs::write(&path, serde_json::to_vec(&entries).expect("plain JSON")).expect("a writable folder");
    path
}

pub(crate) fn lines_file(folder: &Folder, positions: &[Chess]) -> PathBuf {
    let path = folder.file("positions.epd");
    let text: String = positions.iter().map(|position| format!("{};\n", epd(position))).collect();
    std::fs::write(&path, text).expect("a writable folder");
    path
}

pub(crate) fn scripted(table: &Path, seconds: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/programs/scripted_engine.py");
    format!("python3 {} {} {seconds}", script.display(), table.display())
}

pub(crate) fn label(input: &Path, out: &Path, engine: &str, more: &[&str]) -> Command {
    let mut command = data("label");
    command.arg(input).arg("--out").arg(out).args(["--engine", engine]).args(more);
    command
}

fn fail(command: &mut Command) -> String {
    crate::program::fail(command).1
}

fn rows(path: &Path) -> Vec<Value> {
    let text = zstd::decode_all(std::fs::File::open(path).expect("an output")).expect("whole frames");
    text.split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("a row"))
        .collect()
}

fn fens(path: &Path) -> Vec<String> {
    rows(path).iter().map(|row| row["fen"].as_str().expect("a FEN").to_owned()).collect()
}

#[test]
fn rows_have_the_format_of_lichess() {
    let folder = Folder::new();
    let castling = position_from_fen("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 9").unwrap();
    let table_path = folder.file("table.json");
    let entries = json!({ epd(&castling): [["e8g8", 40], ["e8d8", -5]] });
    std::fs::write(&table_path, entries.to_string()).unwrap();
    let input = folder.file("in.epd");
    // The same twice, a checkmate, and something else.
    std::fs::write(
        &input,
        "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 9\nr3k2r/8/8/8/8/8/8/R3K2R b KQkq -\n\
         7k/6Q1/6K1/8/8/8/8/8 b - -\nhello world\n",
    )
    .unwrap();
    let out = folder.file("out.jsonl.zst");
    let said =
        succeed(&mut label(&input, &out, &scripted(&table_path, "0"), &["--depth", "7", "--multipv", "2"]));
    let expected = [
        json!({ "fen": "r3k2r/8/8/8/8/8/8/R3K2R b KQkq -", "line": "e8h8", "depth": 7, "knodes": 12, "cp": -40, "mate": null }),
        json!({ "fen": "r3k2r/8/8/8/8/8/8/R3K2R b KQkq -", "line": "e8d8", "depth": 7, "knodes": 12, "cp": 5, "mate": null }),
    ];
    assert_eq!(rows(&out), expected);
    for part in
        ["2 rows of 1 positions", "1 duplicates", "1 checkmates", "1 games or lines that could not be read"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn crashed_engines_are_restarted() {
    let folder = Folder::new();
    let positions = walk(12);
    let table = table(&folder, &positions, &[(2, "crash-once"), (5, "crash"), (9, "hang")]);
    let (input, out) = (lines_file(&folder, &positions), folder.file("out.jsonl.zst"));
    let said = succeed(&mut label(
        &input,
        &out,
        &scripted(&table, "0"),
        &["--patience", "0.5", "--jobs", "1", "--depth", "1"],
    ));
    let expected: Vec<String> =
        (0..12).filter(|index| ![5, 9].contains(index)).map(|index| epd(&positions[index])).collect();
    assert_eq!(fens(&out), expected);
    assert!(
        said.contains("10 rows of 10 positions") && said.contains("2 positions without an answer"),
        "{said}"
    );
}

#[test]
fn a_dead_engine_ends_the_run() {
    let folder = Folder::new();
    let positions = walk(10);
    let behaviours: Vec<(usize, &str)> = (0..10).map(|index| (index, "crash")).collect();
    let table = table(&folder, &positions, &behaviours);
    let (input, out) = (lines_file(&folder, &positions), folder.file("out.jsonl.zst"));
    let said = fail(&mut label(&input, &out, &scripted(&table, "0"), &["--jobs", "1"]));
    assert!(said.contains("no answer"), "{said}");
    assert!(!out.exists());
    let said = fail(&mut label(&input, &folder.file("x.zst"), "/nowhere/engine", &[]));
    assert!(said.contains("/nowhere/engine"), "{said}");
}

/// Waits until a run has noted down more than the `before` bytes its journal had, or has ended.
pub(crate) fn until_noted(run: &mut Child, journal: &Path, before: u64) {
    let noted = || {
        let text = std::fs::read_to_string(journal).unwrap_or_default();
        text.len() as u64 > before && text.contains("written")
    };
    while !noted() && run.try_wait().expect("the run can be asked").is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_killed_run_resumes_and_writes_the_same_bytes() {
    let folder = Folder::new();
    let positions = walk(360);
    let table = table(&folder, &positions, &[]);
    let input = lines_file(&folder, &positions);
    let whole = folder.file("whole.jsonl.zst");
    // So many nodes a position make small chunks.
    let settings = ["--nodes", "1000000", "--multipv", "3"];
    succeed(&mut label(&input, &whole, &scripted(&table, "0"), &[&settings[..], &["--jobs", "1"]].concat()));
    assert_eq!(fens(&whole).into_iter().collect::<HashSet<_>>().len(), 360);

    let out = folder.file("out.jsonl.zst");
    let journal = folder.file("out.jsonl.zst.journal");
    for _ in 0..2 {
        let before = std::fs::metadata(&journal).map_or(0, |about| about.len());
        let mut run =
            label(&input, &out, &scripted(&table, "0.01"), &[&settings[..], &["--jobs", "3"]].concat())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
        until_noted(&mut run, &journal, before);
        run.kill().unwrap();
        run.wait().unwrap();
        assert!(!out.exists(), "killed before its end");
    }
    let wrong =
        fail(&mut label(&input, &out, &scripted(&table, "0"), &["--nodes", "1000000", "--multipv", "2"]));
    assert!(wrong.contains("settings"), "{wrong}");
    let shorter = folder.file("shorter.epd");
    std::fs::write(&shorter, format!("{}\n", epd(&positions[7]))).unwrap();
    let wrong = fail(&mut label(&shorter, &out, &scripted(&table, "0"), &settings));
    assert!(wrong.contains("input"), "{wrong}");

    succeed(&mut label(&input, &out, &scripted(&table, "0"), &settings));
    assert_eq!(std::fs::read(&out).unwrap(), std::fs::read(&whole).unwrap());
    assert!(!journal.exists());
    fail(&mut label(&input, &out, &scripted(&table, "0"), &settings));
}

#[test]
fn positions_of_games_are_unique() {
    let folder = Folder::new();
    let input = folder.file("games.pgn");
    let game = "[Event \"?\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 *\n\n";
    std::fs::write(&input, game.repeat(3)).unwrap();
    let mut position = Chess::default();
    let mut positions = vec![position.clone()];
    for text in ["e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6"] {
        let played = text.parse::<UciMove>().unwrap().to_move(&position).unwrap();
        position.play_unchecked(played);
        positions.push(position.clone());
    }
    let table = table(&folder, &positions, &[]);
    let all = folder.file("all.jsonl.zst");
    let said = succeed(&mut label(&input, &all, &scripted(&table, "0"), &[]));
    assert_eq!(fens(&all), positions.iter().map(epd).collect::<Vec<_>>());
    assert!(said.contains("14 duplicates"), "{said}");
    let few = folder.file("few.jsonl.zst");
    succeed(&mut label(&input, &few, &scripted(&table, "0"), &["--per-game", "2", "--seed", "5"]));
    assert_eq!(fens(&few).len(), 2);
}

#[test]
fn stockfish_labels_positions() {
    let Some(stockfish) = tabia_requires::stockfish() else { return };
    let folder = Folder::new();
    let positions = walk(40);
    let (input, out) = (lines_file(&folder, &positions), folder.file("out.jsonl.zst"));
    succeed(&mut label(&input, &out, stockfish, &["--depth", "5", "--multipv", "3"]));
    let rows = rows(&out);
    for position in &positions {
        let lines: Vec<_> = rows.iter().filter(|row| row["fen"] == epd(position)).collect();
        assert_eq!(lines.len(), position.legal_moves().len().min(3), "{}", epd(position));
        let sign = if position.turn().is_white() { 1 } else { -1 };
        let scores: Vec<i64> =
            lines.iter().filter_map(|row| row["cp"].as_i64()).map(|cp| sign * cp).collect();
        assert!(scores.is_sorted_by(|better, worse| better >= worse), "{scores:?}");
        for row in lines {
            assert_eq!(row["depth"], 5);
            let first = row["line"].as_str().unwrap().split(' ').next().unwrap();
            assert!(first.parse::<UciMove>().unwrap().to_move(position).is_ok(), "{row}");
        }
    }
}
