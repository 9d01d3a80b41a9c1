//! python-chess reads the written PGN: the same tags, moves, clocks and variations.
#![cfg(not(target_arch = "wasm32"))]

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::Value;
use shakmaty::Position;
use tabia_game::{EpdRecord, Game, NodeId, PgnReader, fen_of, write_game};

fn check_pgn(python: &Path, pgn: &[u8]) -> Vec<Value> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/check_pgn.py");
    let mut child = Command::new(python)
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was there");
    child.stdin.take().expect("it is piped").write_all(pgn).expect("the script reads");
    let output = child.wait_with_output().expect("the script ends");
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).expect("the script prints JSON")
}

fn variations(game: &Game) -> usize {
    let mut count = 0;
    let mut pending = vec![NodeId::ROOT];
    while let Some(node) = pending.pop() {
        count += game.children(node).count().saturating_sub(1);
        pending.extend(game.children(node));
    }
    count
}

fn assert_same(game: &Game, theirs: &Value) {
    assert_eq!(theirs["errors"], Value::Array(Vec::new()));
    for (name, value) in game.headers.iter() {
        // python-chess keeps the backslashes of escaped characters, which the PGN standard takes away.
        let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
        assert_eq!(theirs["headers"][name], escaped, "{name}");
    }
    assert_eq!(theirs["headers"]["Result"], game.result.to_string());
    let mode = game.start().castles().mode();
    let uci: Vec<String> = game.moves().map(|m| m.to_uci(mode).to_string()).collect();
    assert_eq!(theirs["uci"], Value::from(uci));
    assert_eq!(theirs["variations"], variations(game));
    for (index, node) in game.mainline().enumerate() {
        let notes = game.notes(node);
        assert_eq!(theirs["clocks"][index].as_f64(), notes.clock.map(|clock| clock.as_secs_f64()));
        let comment = theirs["comments"][index]
            .as_str()
            .expect("a text")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        let ours = notes.after.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(comment.ends_with(&ours), "{comment:?} does not end with {ours:?}");
    }
}

#[test]
fn python_chess_reads_written_games() {
    let Some(python) = tabia_requires::python(&["chess.pgn"]) else { return };
    let golden = include_str!("../../../fixtures/golden.pgn");
    let mut games: Vec<Game> = PgnReader::new(golden.as_bytes()).map(Result::unwrap).collect();
    // A comment that looks like a game of its own when it is wrapped badly, and braces.
    let mut tricky = games[0].clone();
    let last = tricky.last();
    tricky.notes_mut(last).after = "long enough to wrap ".repeat(4) + "[Event \"x\"] 1. e4 % ; ( 0-1 \\ \"";
    tricky.headers.set("Event", "back\\slash \"quote\" [bracket] {brace}").unwrap();
    games.push(tricky);
    // All positions of the fixture as starts, a few moves each.
    for fen in include_str!("../../../fixtures/positions.fen").lines().filter(|line| !line.is_empty()) {
        games.push(walk(fen));
    }
    let records = EpdRecord::parse_all(include_str!("../../../fixtures/perft-chess960.epd")).unwrap();
    let chess960: Vec<Game> = records.iter().map(|record| walk(&fen_of(&record.position))).collect();
    assert!(chess960.iter().flat_map(Game::moves).filter(|m| m.is_castle()).count() >= 10);
    games.extend(chess960);
    let mut pgn = Vec::new();
    for game in &games {
        write_game(game, &mut pgn).unwrap();
    }
    let theirs = check_pgn(&python, &pgn);
    assert_eq!(theirs.len(), games.len());
    for (game, theirs) in games.iter().zip(&theirs) {
        assert_same(game, theirs);
    }
}

/// A game from `fen`: castling, else the first and last legal moves alternately, each third with the middle one as a variation.
fn walk(fen: &str) -> Game {
    let mut game = Game::from_position(tabia_game::position_from_fen(fen).expect("a good FEN"));
    let mut at = NodeId::ROOT;
    for ply in 0..6 {
        let moves = game.position(at).legal_moves();
        let (Some(first), Some(last)) = (moves.first(), moves.last()) else { break };
        let castling = moves.iter().find(|m| m.is_castle());
        let next = castling.unwrap_or(if ply % 2 == 0 { last } else { first });
        let next = game.add_move(at, *next).expect("a legal move");
        if ply % 3 == 0 {
            let other = game.add_move(at, moves[moves.len() / 2]).expect("a legal move");
            game.notes_mut(other).before = "or".to_owned();
        }
        game.notes_mut(next).clock = Some(std::time::Duration::from_millis(59_500 - 1500 * ply));
        at = next;
    }
    game
}
