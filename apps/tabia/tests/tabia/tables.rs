//! Endgame tables in matches and in UCI.

use crate::process::{Folder, fail, fixture, read_json, succeed, tabia};
use crate::uci::session::Session;

fn tables() -> String {
    fixture("syzygy").to_str().unwrap().to_owned()
}

#[test]
fn games_end_by_the_tables() {
    let folder = Folder::new();
    let book = folder.written("book.fen", "8/8/8/3k4/8/8/1Q6/K7 w - - 0 1\n");
    let json = folder.file("games.json");
    let mut command = tabia(["arena", "level:1", "level:2", "--games", "2", "--tb", &tables()]);
    succeed(command.arg("--openings").arg(&book).arg("--json").arg(&json));
    let played = read_json(&json);
    for game in played["games"].as_array().unwrap() {
        assert_eq!(game["moves"].as_array().unwrap().len(), 1, "{game}");
        assert!(game["reason"].as_str().unwrap().contains("adjudication"), "{game}");
    }
    assert_eq!(played["settings"]["tables"], "9 tables up to 3 pieces");

    let mut missing = tabia(["arena", "level:1", "level:2", "--tb", "/no/such/folder"]);
    let complaint = fail(missing.arg("--openings").arg(&book));
    assert!(complaint.contains("/no/such/folder"), "{complaint}");
}

#[test]
fn a_damaged_table_ends_the_match_by_its_name() {
    let folder = Folder::new();
    for name in ["KQvK.rtbw", "KQvK.rtbz"] {
        let mut bytes = std::fs::read(fixture("syzygy").join(name)).unwrap();
        bytes[4..].fill(0xff);
        folder.written(name, bytes);
    }
    let book = folder.written("book.fen", "8/8/8/3k4/8/8/1Q6/K7 w - - 0 1\n");
    let mut command = tabia(["arena", "level:1", "level:2", "--games", "2"]);
    let output = command.arg("--tb").arg(folder.path()).arg("--openings").arg(&book).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && complaint.contains("KQvK.rtbw"), "{complaint}");
}

#[test]
fn the_engine_uses_tables_over_uci() {
    let mut session = Session::start("engine,eval=baseline");
    session.send("setoption name SyzygyPath value /no/such/folder");
    let complaint = session.next();
    assert!(complaint.contains("SyzygyPath") && complaint.contains("/no/such/folder"), "{complaint}");
    session.send(&format!("setoption name SyzygyPath value {}", tables()));
    session.send("position fen 3k4/8/2K5/3P4/8/8/8/8 w - - 0 1");
    session.ready();
    let searched = session.go("depth 4");
    assert!(["c6d6", "c6b7"].contains(&searched.best.as_str()), "{}", searched.best);
    assert!(searched.infos.iter().all(|info| info.contains(" tbhits ")), "{:?}", searched.infos);
    session.send("setoption name SyzygyProbeLimit value 2");
    session.ready();
    let searched = session.go("depth 2");
    assert!(searched.infos.iter().all(|info| info.contains(" tbhits 0")), "{:?}", searched.infos);
    session.quit();
}

#[test]
fn castling_of_chess960_goes_onto_the_rook_over_uci() {
    let mut session = Session::start("engine,eval=baseline");
    session.send("setoption name UCI_Chess960 value true");
    session.send("position fen bqrkrnnb/pppppppp/8/8/8/8/PPPPPPPP/BQRKRNNB w KQkq - 0 1 moves d1c1");
    session.ready();
    session.send("go depth 3 searchmoves d8c8");
    let searched = session.searched();
    assert_eq!(searched.best, "d8c8");
    assert!(searched.infos.iter().all(|info| info.contains(" pv d8c8")), "{:?}", searched.infos);
    session.quit();
}
