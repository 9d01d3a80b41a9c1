//! `data head`.

use tabia_data::SourceKind;

use crate::program::{Folder, data, fail, succeed};
use crate::sets::{games, write_set};

#[test]
fn games_are_printed_with_clocks_and_evaluations() {
    let folder = Folder::new();
    let set = folder.file("set");
    let pgn = "[WhiteElo \"1810\"]\n[BlackElo \"1790\"]\n[TimeControl \"180+2\"]\n[Result \"0-1\"]\n\n\
               1. f3 {[%eval -0.5] [%clk 0:03:00]} e5 {[%clk 0:02:58.4]} 2. g4 Qh4# {[%eval #-1]} 0-1\n";
    write_set(&set, SourceKind::Pgn, pgn, 1);
    let said = succeed(data("head").arg(&set));
    assert!(said.contains("#0  1810 - 1790 (online), 180+2, 0-1, 4 plies"), "{said}");
    assert!(said.contains("1.f3{3:00 -0.50} e5{2:58.4} 2.g4 Qh4#{#-1}"), "{said}");
}

#[test]
fn evaluations_are_printed_with_labels() {
    let folder = Folder::new();
    let set = folder.file("set");
    let row = |line, cp| {
        format!(
            r#"{{"fen":"rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -","line":"{line}","depth":30,"knodes":7,"cp":{cp}}}"#
        )
    };
    write_set(&set, SourceKind::EvaluationsJsonl, &[row("e7e5 g1f3", 30), row("c7c5", 30)].join("\n"), 1);
    let said = succeed(data("head").arg(&set));
    assert!(
        said.contains("depth 30 knodes 7: c5 +0.30  e5 +0.30") || said.contains("e5 +0.30  c5 +0.30"),
        "{said}"
    );
    assert!(said.contains("deepest: ") && said.contains("e5 50.0%") && said.contains("c5 50.0%"), "{said}");
    let best = succeed(data("head").arg(&set).args(["--labels", "best"]));
    assert!(best.contains("best: ") && best.contains("100.0%"), "{best}");
    fail(data("head").arg(&set).args(["--from", "1"]));
}

#[test]
fn records_are_selected_by_number_or_by_seed() {
    let folder = Folder::new();
    let set = folder.file("set");
    write_set(&set, SourceKind::Pgn, &games(50, 10), 4);
    let numbers = |args: &[&str]| -> Vec<u64> {
        let said = succeed(data("head").arg(&set).args(args));
        said.lines().filter_map(|line| line.strip_prefix('#')?.split(' ').next()?.parse().ok()).collect()
    };
    assert_eq!(numbers(&["-n", "3", "--from", "48"]), [48, 49]);
    let drawn = numbers(&["--random", "--seed", "4"]);
    assert_eq!(drawn.len(), 5);
    assert_eq!(drawn, numbers(&["--random", "--seed", "4"]));
    assert_ne!(drawn, numbers(&["--random", "--seed", "5"]));
}
