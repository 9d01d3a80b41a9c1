//! `tabia ... | true`: a program whose output nobody reads ends quietly, as other Unix programs do.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::process::{self, Folder, fail, succeed, tabia, text};

/// What a shell says of a program that died of SIGPIPE.
const READER_GONE: i32 = 141;

fn fixture(name: &str) -> String {
    process::fixture(name).display().to_string()
}

/// Runs a command into a pipe that nobody reads.
fn unread(mut command: Command, input: &str) -> Output {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    command.stdin(Stdio::piped()).stdout(writer).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The program may be gone before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn every_command_ends_quietly_when_nobody_reads_it() {
    let folder = Folder::new();
    let (net, human) = (fixture("models/challenge-mlp.onnx"), fixture("models/human.safetensors"));
    let human_spec = format!("human:{human}");
    let (games, puzzles) = (fixture("eval/games.pgn"), fixture("eval/puzzles.epd"));
    let converted = folder.file("net.onnx").display().to_string();
    let reviewed = folder.file("reviewed").display().to_string();
    let ledgers = folder.file("ledgers").display().to_string();
    std::fs::create_dir_all(&ledgers).unwrap();
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let (ledger, adapter) = (fixture("arena/ledger.pgn"), fixture("adapters/ann.card"));
    // The command, and what is typed at it.
    let commands: Vec<(Vec<&str>, &str)> = vec![
        (vec!["model", "info", &net], ""),
        (vec!["model", "info", &net, "--json"], ""),
        (vec!["model", "card", &net], ""),
        (vec!["model", "tensors", &net], ""),
        (vec!["model", "convert", &net, &converted], ""),
        (vec!["play", "level:1"], "e4\nmoves\nquit\n"),
        (vec!["uci", "--player", "level:1"], "uci\nposition startpos\ngo depth 1\n"),
        (vec!["play-move", "level:1", start], ""),
        (vec!["compete", &net, "--level", "1"], ""),
        (vec!["bench", "--baseline"], ""),
        (vec!["arena", "level:1", "level:1", "--games", "2"], ""),
        (vec!["elo", &ledger], ""),
        (vec!["eval", "human", &games, "--model", &human_spec], ""),
        (vec!["eval", "puzzles", &puzzles, "--model", &human_spec, "--by", "network", "--puzzles", "3"], ""),
        (vec!["eval", "time", &games, "--model", &human_spec], ""),
        (vec!["me", "show", &adapter], ""),
        (vec!["review", &ledger, "--model", &human, "--nodes", "20", "--out", &reviewed], ""),
        (vec!["serve", "--port", "0", "--ledgers", &ledgers], ""),
        (vec!["install-engine"], ""),
    ];
    for (arguments, input) in &commands {
        let mut command = tabia(arguments);
        command.env("HOME", folder.path());
        let output = unread(command, input);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(READER_GONE), "{arguments:?}: {said}");
        assert!(
            !said.contains("panicked") && !said.to_lowercase().contains("broken pipe"),
            "{arguments:?}: {said}"
        );
    }
    let tried: BTreeSet<&str> = commands.iter().map(|(arguments, _)| arguments[0]).collect();
    // These print through the same macros, and need a Stockfish, a terminal, a window or a server.
    let untried = ["validate", "watch", "desktop", "lichess", "help"];
    let help = succeed(tabia(["--help"]));
    let listed = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    for line in listed.take_while(|line| !line.is_empty()) {
        let name = line.split_whitespace().next().unwrap();
        assert!(tried.contains(name) || untried.contains(&name), "is {name} tried here?");
    }
}

#[test]
fn errors_that_nobody_reads_end_it_quietly_too() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let absent = ["model", "info", "no-such-file.onnx"];
    assert!(fail(tabia(absent)).contains("no-such-file.onnx"));
    let mut command = tabia(absent);
    let status = command.stdout(Stdio::null()).stderr(writer).status().unwrap();
    assert_eq!(status.code(), Some(READER_GONE));
}

/// An engine that dies is a closed pipe too, and no reason for the program that drives it to die.
#[test]
fn an_engine_that_dies_ends_no_match() {
    let folder = Folder::new();
    let engine: PathBuf = folder.file("engine.sh");
    let script = "#!/bin/sh\nread line; echo uciok; read line; echo readyok; exit 0\n";
    std::fs::write(&engine, script).unwrap();
    let spec = format!("uci:sh {}", engine.display());
    let output = tabia(["arena", "level:1", &spec, "--games", "2", "--jobs", "1"]).output().unwrap();
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert_ne!(output.status.code(), Some(READER_GONE), "{shown}{said}");
    assert!(output.status.code().is_some() && !said.contains("panicked"), "{shown}{said}");
}
