//! `data export`: exported files round-trip.

use std::path::Path;

use tabia_data::{
    AnyRecord, BytesRead, Chunks, EvaluationRecord, GameRecord, GameRules, NpySet, RecordIndex, Set,
    SourceFile, SourceKind,
};

use crate::program::{Folder, data, fail, succeed};
use crate::sets::{games, write_set};

const ROWS: &str = r#"{"fen":"r3k2r/8/8/8/8/8/8/R3K2R w KQkq -","line":"e1g1","depth":22,"knodes":9,"cp":30,"mate":null}
{"fen":"r3k2r/8/8/8/8/8/8/R3K2R w KQkq -","line":"a1a8","depth":22,"knodes":9,"cp":450,"mate":null}
{"fen":"r3k2r/8/8/8/8/8/8/R3K2R w KQkq -","line":"h1h8","depth":12,"knodes":1,"cp":440,"mate":null}
{"fen":"7k/P7/8/8/8/8/8/K7 w - -","line":"a7a8q","depth":41,"knodes":5,"cp":null,"mate":7}
{"fen":"rnbqkbnr/ppp1pppp/8/8/3pP3/5N2/PPPP1PPP/RNBQKB1R b KQkq e3","line":"d4e3","depth":30,"knodes":70000,"cp":-25,"mate":null}
"#;

fn export(set: &Path, format: &str, out: &Path) -> String {
    succeed(data("export").arg(set).args(["--format", format, "--out"]).arg(out))
}

fn games_in(file: &Path) -> Vec<GameRecord> {
    let found = SourceFile::find(file).expect("the file was written");
    let chunks = Chunks::open(&found[0], &BytesRead::default()).expect("games");
    chunks.flat_map(|chunk| chunk.read(&GameRules::default()).games).collect()
}

fn evaluations(set: &Path) -> Vec<EvaluationRecord> {
    let set = Set::open(set).expect("a set");
    let record = |index| match set.record(RecordIndex(index)).expect("a record") {
        AnyRecord::Evaluation(record) => record,
        AnyRecord::Game(_) => panic!("a set of evaluations"),
    };
    (0..set.records()).map(record).collect()
}

#[test]
fn games_round_trip_as_pgn() {
    let folder = Folder::new();
    let (set, out) = (folder.file("set"), folder.file("games.pgn.zst"));
    write_set(&set, SourceKind::Pgn, &games(20, 40), 3);
    assert!(export(&set, "pgn", &out).contains("20 records"));
    let opened = Set::open(&set).unwrap();
    let again = games_in(&out);
    assert_eq!(again.len(), 20);
    for (index, game) in again.iter().enumerate() {
        let AnyRecord::Game(before) = opened.record(RecordIndex(index as u64)).unwrap() else {
            panic!("a set of games")
        };
        assert_eq!((&game.start, &game.plies), (&before.start, &before.plies));
        assert_eq!(
            (game.head.ratings, game.head.pace, game.head.result),
            (before.head.ratings, before.head.pace, before.head.result)
        );
        // Whoever was another stays another.
        assert!(game.head.players.white.is_some() && game.head.players.white != game.head.players.black);
    }
}

#[test]
fn evaluations_round_trip_as_rows_and_arrays() {
    let folder = Folder::new();
    let (set, rows, arrays) = (folder.file("set"), folder.file("rows.jsonl"), folder.file("arrays"));
    write_set(&set, SourceKind::EvaluationsJsonl, ROWS, 1);
    export(&set, "jsonl", &rows);
    let text = std::fs::read_to_string(&rows).unwrap();
    assert_eq!(text.lines().count(), 5);
    assert!(text.contains(r#""line":"e1h1""#), "castling as Lichess spells it: {text}");
    let again = folder.file("again");
    write_set(&again, SourceKind::EvaluationsJsonl, &text, 1);
    assert_eq!(evaluations(&again), evaluations(&set));

    export(&set, "npy", &arrays);
    let arrays = NpySet::open(&arrays.join("data_planes.npy"), &BytesRead::default()).unwrap();
    assert_eq!(arrays.positions(), 3);
}

#[test]
fn games_round_trip_as_humchess_rows() {
    let folder = Folder::new();
    let (set, out) = (folder.file("set"), folder.file("rows.parquet"));
    let unrated = "[WhiteElo \"1500\"]\n\n1. e4 e5 *\n\n";
    write_set(&set, SourceKind::Pgn, &format!("{}{unrated}", games(10, 30)), 2);
    let said = export(&set, "humchess-parquet", &out);
    assert!(said.contains("300 rows of 10 games; 1 without both ratings passed over"), "{said}");
    let mut rows = 0;
    tabia_query::humchess_rows_to_records(&out, |record| {
        assert_eq!(record.unwrap().plies.len(), 1);
        rows += 1;
    })
    .unwrap();
    assert_eq!(rows, 300);

    let built = folder.file("built");
    succeed(data("build").arg(&out).arg("--out").arg(&built));
    let built = Set::open(&built).unwrap();
    // Equal openings are equal rows, which a set keeps once.
    assert!((200..=300).contains(&built.records()), "{}", built.records());
    assert_eq!(built.positions(), built.records());
}

#[test]
fn both_sides_of_a_split_make_the_set() {
    let folder = Folder::new();
    let set = folder.file("set");
    write_set(&set, SourceKind::Pgn, &games(40, 12), 2);
    let side = |side: &str| {
        let out = folder.file(&format!("{side}.pgn"));
        let split = ["--side", side, "--held-out", "0.4", "--seed", "3"];
        succeed(data("export").arg(&set).args(["--format", "pgn", "--out"]).arg(&out).args(split));
        games_in(&out).len()
    };
    let (training, held_out) = (side("training"), side("held-out"));
    assert!(training > 0 && held_out > 0, "{training} {held_out}");
    assert_eq!((training + held_out, side("all")), (40, 40));
}

#[test]
fn failed_exports_leave_no_files() {
    let folder = Folder::new();
    let set = folder.file("set");
    write_set(&set, SourceKind::Pgn, &games(3, 12), 1);
    let wrong = |format: &str, out: &Path| {
        fail(data("export").arg(&set).args(["--format", format, "--out"]).arg(out)).1
    };
    let said = wrong("npy", &folder.file("arrays"));
    assert!(said.contains("games") && said.contains("evaluations"), "{said}");
    let said = wrong("pgn", &folder.file("no/folder/games.pgn"));
    assert!(said.contains("no/folder/games.pgn"), "{said}");
    wrong("pgn", &folder.file("games.pgn.gz"));
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["set"]);
}
