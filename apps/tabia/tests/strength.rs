//! Fitting as a user meets it, with a stand-in for Stockfish: another program that can be held to a rating.

mod folder;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use folder::Folder;

const TABIA: &str = env!("CARGO_BIN_EXE_tabia");

fn network() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/models/human.safetensors")
}

/// Games that end within a few moves: by the fifty moves, or by the mate that is there.
fn openings(folder: &Folder) -> PathBuf {
    let book = folder.file("short.fen");
    let fens = "4k3/8/8/8/8/8/3R4/4K3 w - - 96 80\n6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 96 80\n";
    std::fs::write(&book, fens).expect("a book");
    book
}

fn fit(folder: &Folder, opponent: &str, rounds: &str) -> Command {
    let mut command = Command::new(TABIA);
    command.arg("strength").arg(network()).args(["--fit", "--rounds", rounds, "--elos", "1400,1600"]);
    command.args(["--games", "8", "--fit-games", "8", "--jobs", "2", "--stockfish", opponent]);
    command.arg("--openings").arg(openings(folder)).arg("--games-in").arg(folder.file("games"));
    command.arg("--write").arg(folder.file("fitted.safetensors"));
    command.arg("--json").arg(folder.file("curve.json")).arg("--plot").arg(folder.file("curve.svg"));
    command.stdin(Stdio::null());
    command
}

/// What a safetensors file says about itself.
fn card(file: &Path) -> Value {
    let bytes = std::fs::read(file).expect("a network");
    let (length, rest) = bytes.split_first_chunk::<8>().expect("a header");
    let header = &rest[..usize::try_from(u64::from_le_bytes(*length)).expect("a small header")];
    let header: Value = serde_json::from_slice(header).expect("JSON");
    serde_json::from_str(header["__metadata__"]["tabia.card"].as_str().expect("a card")).expect("JSON")
}

#[test]
fn a_fit_is_written_into_the_card_and_measured_by_games_of_its_own() {
    let folder = Folder::new("fit");
    let opponent = format!("'{TABIA}' uci --player 'human:{}'", network().display());
    let output = fit(&folder, &opponent, "1").output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("round 1:") && said.contains("verifying after 1:"), "{said}");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("mean gap"), "{printed}");

    let curve: Value =
        serde_json::from_slice(&std::fs::read(folder.file("curve.json")).expect("a curve")).expect("JSON");
    let strength = card(&folder.file("fitted.safetensors"))["strength"].clone();
    let knots = strength["knots"].as_array().expect("knots").clone();
    assert_eq!(knots.iter().map(|knot| knot["asked"].as_u64()).collect::<Vec<_>>(), [Some(1400), Some(1600)]);
    for (knot, shown) in knots.iter().zip(curve["shown"].as_array().expect("a curve")) {
        let rating = shown["rating"].as_f64().expect("a rating");
        assert_eq!(knot["shown"]["rating"].as_f64(), Some(rating.round()));
        assert_eq!(knot["shown"]["games"], shown["games"]);
        assert!(knot["nodes"].as_u64().is_some_and(|nodes| nodes > 0));
    }
    let verified =
        std::fs::read_to_string(folder.file("games").join("verifying-after-1.pgn")).expect("games");
    assert_eq!(curve["games"].as_u64(), Some(verified.matches("[Result ").count() as u64));
    assert!(curve["games"].as_u64() >= Some(16));
    assert_eq!(curve["faults"], Value::Array(Vec::new()));
    assert_eq!(strength["method"], curve["method"]);

    let second = fit(&folder, &opponent, "1").output().expect("the program starts");
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(second.status.success(), "{said}");
    assert!(said.contains("of them played before"), "{said}");
    assert_eq!(second.stdout, output.stdout, "the same games, the same answer");

    let third = fit(&folder, &opponent, "2").output().expect("the program starts");
    let said = String::from_utf8_lossy(&third.stderr);
    assert!(third.status.success(), "{said}");
    assert!(said.contains("verifying after 1: 16 games, 16 of them played before"), "{said}");
    assert!(said.contains("verifying after 2: 16 games, 2 at a time"), "games of its own: {said}");
}

#[test]
fn a_program_that_cannot_be_held_to_a_rating_is_refused() {
    let folder = Folder::new("unrated");
    let output =
        fit(&folder, &format!("'{TABIA}' uci --player random"), "1").output().expect("the program starts");
    assert!(!output.status.success());
    assert!(!folder.file("fitted.safetensors").exists(), "nothing is written");
}
