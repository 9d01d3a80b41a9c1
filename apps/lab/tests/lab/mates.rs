//! `data mates`: distance to mate.

use tabia_data::{GameRecord, Set};
use tabia_encoding::Score;

use crate::program::{Folder, data, fail, succeed};

const GAMES: &str = "\
[Event \"Fool's mate\"]\n[Result \"0-1\"]\n\n1. f3 e5 2. g4 Qh4# 0-1\n\n\
[Event \"Resigned\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 1-0\n\n\
[Event \"Scholar's mate\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Bc4 Nc6 3. Qh5 Nf6 4. Qxf7# 1-0\n";

#[test]
fn moves_are_annotated_with_the_distance_to_mate() {
    let folder = Folder::new();
    let (input, out) = (folder.file("games.pgn"), folder.file("set"));
    std::fs::write(&input, GAMES).unwrap();
    let said = succeed(data("mates").arg(&input).arg("--out").arg(&out).args(["--moves", "9"]));
    assert!(said.contains("2 of 3 games end in checkmate"), "{said}");
    let set = Set::open(&out).unwrap();
    let mut games: Vec<GameRecord> =
        set.iter().map(|entry| GameRecord::from_bytes(&entry.unwrap().1).unwrap()).collect();
    games.sort_by_key(|game| game.plies.len());
    let scores = |game: &GameRecord| -> Vec<Option<i32>> {
        let number = |score| match score {
            Score::Centipawns(cp) => cp,
            Score::Mate(moves) => 10_000 * moves.get().signum() - moves.get(),
        };
        game.plies.iter().map(|ply| ply.evaluation.map(|score| number(score.0))).collect()
    };
    // After 1. f3 and 1... e5 Black needs two and one moves more, after 2. g4 one; then it is over.
    assert_eq!(scores(&games[0]), [Some(-9_998), Some(-9_999), Some(-9_999), None]);
    // White mates on its fourth move: three more after the first, and the note does not change with Black's moves.
    let third = 9_997;
    assert_eq!(
        scores(&games[1]),
        [Some(third), Some(third), Some(third + 1), Some(third + 1), Some(third + 2), Some(third + 2), None]
    );
}

#[test]
fn no_set_without_mates() {
    let folder = Folder::new();
    let (input, out) = (folder.file("games.pgn"), folder.file("set"));
    std::fs::write(&input, "1. e4 e5 1/2-1/2\n").unwrap();
    fail(data("mates").arg(&input).arg("--out").arg(&out));
    assert!(!out.join("set.json").exists());
}
