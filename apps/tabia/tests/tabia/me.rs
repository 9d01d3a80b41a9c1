//! `tabia me` as a user meets it.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::process::{Folder, fail, fixture, succeed, tabia};

/// Games of Ann, who begins with 1. b3 and answers with 1... g6, against others.
fn games(count: usize) -> String {
    let game = |number: usize| {
        let (white, black) = if number.is_multiple_of(2) { ("Ann", "Bob") } else { ("Cem", "Ann") };
        let first = if number.is_multiple_of(2) { "1. b3 e5 2. Bb2 Nc6" } else { "1. e4 g6 2. d4 Bg7" };
        format!(
            "[White \"{white}\"]\n[Black \"{black}\"]\n[Date \"2024.01.{:02}\"]\n[WhiteElo \"1500\"]\n\
             [BlackElo \"1500\"]\n[Site \"https://lichess.org/abcdefgh\"]\n\n{first} 1/2-1/2\n\n",
            1 + number % 28
        )
    };
    (0..count).map(game).collect()
}

#[test]
fn an_adapter_is_learned_shown_and_played() {
    let folder = Folder::new();
    let pgn = folder.written("games.pgn", games(24));
    let (card, network) = (folder.file("me.card"), fixture("models/human.safetensors"));
    let mut learn = tabia(["me", "learn"]);
    learn.arg(&pgn).arg("--out").arg(&card).arg("--model").arg(&network);
    let said = succeed(&mut learn);
    assert!(said.contains("Ann: 24 games, 48 moves"), "{said}");
    let adapter: Value = serde_json::from_slice(&fs::read(&card).unwrap()).unwrap();
    assert_eq!((adapter["format"].as_str(), adapter["rating"].as_u64()), (Some("tabia-adapter"), Some(1500)));
    assert_eq!(adapter["openings"]["positions"]["463b96181691fc9c"]["b2b3"], 12, "{adapter}");
    let shown = succeed(tabia(["me", "show"]).arg(&card));
    assert!(shown.contains("positions of openings"), "{shown}");
    assert!(shown.contains("than the bundled one: learn it again from the games"), "{shown}");

    let spec = format!("human:{},net={},mode=argmax", card.display(), network.display());
    let mut engine =
        tabia(["uci", "--player", &spec]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    engine.stdin.take().unwrap().write_all(b"uci\nposition startpos\ngo nodes 1\nquit\n").unwrap();
    let said = String::from_utf8(engine.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.contains("bestmove b2b3"), "{said}");
}

#[test]
fn what_cannot_be_learned_or_read_is_said() {
    let folder = Folder::new();
    let few = folder.written("few.pgn", games(19));
    let out = folder.file("me.card");
    let refused = fail(tabia(["me", "learn"]).arg(&few).args(["--name", "ann", "--out"]).arg(&out));
    assert!(refused.contains("19 games of ann (expected at least 20)"), "{refused}");
    assert!(!out.exists());
    let refused = fail(tabia(["me", "learn"]).arg(&few).args(["--name", "Dan", "--out"]).arg(&out));
    assert!(
        refused.contains("no game of \"Dan\" (the most frequent name is \"Ann\", in 19 games)"),
        "{refused}"
    );
    let newer = folder.written("newer.card", "{\"format\":\"tabia-adapter\",\"version\":9}");
    let refused = fail(tabia(["me", "show"]).arg(&newer));
    assert!(
        refused.contains("newer.card: version 9 of the adapter format (this program reads up to 1)"),
        "{refused}"
    );
    let refused = fail(tabia(["uci", "--player", &format!("human:{}", newer.display())]));
    assert!(refused.contains("version 9 of the adapter format"), "{refused}");
    let refused = fail(tabia(["me", "show"]).arg(&few));
    assert!(refused.contains("not an adapter"), "{refused}");
}

#[test]
fn adapters_are_measured_on_later_games() {
    let folder = Folder::new();
    let pgn = folder.written("games.pgn", games(40));
    let json = folder.file("me.json");
    let mut eval = tabia(["me", "eval"]);
    eval.arg(&pgn).args(["--learn", "20", "--test", "10", "--json"]).arg(&json);
    eval.arg("--model").arg(fixture("models/human.safetensors"));
    let said = succeed(&mut eval);
    assert!(said.contains("20 games") && said.contains("0 of 1"), "{said}");
    let figures: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let ann = &figures["adapters"][0];
    assert_eq!((ann["player"].as_str(), ann["all"]["moves"].as_u64()), (Some("ann"), Some(20)));
    let losses: Vec<f64> =
        ann["all"]["logLoss"].as_array().unwrap().iter().map(|of| of.as_f64().unwrap()).collect();
    assert!(losses[1] < losses[0] / 2.0, "{losses:?}");
}
