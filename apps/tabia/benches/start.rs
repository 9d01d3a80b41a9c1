//! The time from starting the program to its first answer: `uciok` and the first move, beside Stockfish's.
//!
//! Every round starts each program anew, with its file in the page cache, and the best round counts. The limits are what no
//! program of this size can go below: a process that prints its version, and reading the human network's bytes once.
//! Stockfish is `TABIA_STOCKFISH`, else `stockfish` in the path or in Debian's `/usr/games`; without it the bench says so and
//! goes on.

use std::fs;
use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use tabia_bench::{Contender, LineProcess, Round, Shown, Table, best_of};

const ROUNDS: usize = 20;
const PROGRAM: &str = env!("CARGO_BIN_EXE_tabia");
const NETWORK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/human.safetensors");

fn main() {
    // `cargo test --benches` starts this too; only `cargo bench` asks for a measurement.
    if std::env::args().any(|argument| argument == "--bench") {
        bench();
    }
}

fn bench() {
    let ours = |name: &'static str, args: &'static [&'static str], said: &'static [&'static str], end| {
        Answer { name: name.to_owned(), program: PROGRAM.to_owned(), args, said, end }
    };
    let mut greetings: Vec<Box<dyn Contender>> = vec![
        Box::new(ours("tabia uci", &["uci"], &["uci"], "uciok")),
        Box::new(ours("tabia uci --player engine", &["uci", "--player", "engine"], &["uci"], "uciok")),
        Box::new(ours("limit: tabia --version", &["--version"], &[], "tabia")),
    ];
    let mut moves: Vec<Box<dyn Contender>> = vec![
        Box::new(ours("tabia play", &["play", "--color", "black", "--ascii"], &[], " plays ")),
        Box::new(ours("tabia uci", &["uci"], HUMAN_MOVE, "bestmove")),
        Box::new(ours("tabia uci --player engine", &["uci", "--player", "engine"], ENGINE_MOVE, "bestmove")),
        Box::new(Reading),
    ];
    match stockfish() {
        Ok((name, program)) => {
            let answer =
                |said, end| Answer { name: name.clone(), program: program.clone(), args: &[], said, end };
            greetings.push(Box::new(answer(&["uci"], "uciok")));
            moves.push(Box::new(answer(ENGINE_MOVE, "bestmove")));
        }
        Err(why) => println!("Stockfish is left out: {why}"),
    }
    println!("best of {ROUNDS} starts each");
    for (title, contenders) in [("to uciok", &mut greetings), ("to the first move", &mut moves)] {
        let best = best_of(ROUNDS, contenders);
        let lines = contenders.iter().map(|contender| contender.name()).zip(best).collect();
        let ratios = [("of Stockfish's", "Stockfish")];
        println!(
            "\n{title}\n{}",
            Table { unit: "start", shown: Shown::MillisecondsEach, lines, ratios: &ratios }
        );
    }
}

/// A person's move, without the time a person takes.
const HUMAN_MOVE: &[&str] = &["uci", "setoption name HumanTime value false", "position startpos", "go"];
const ENGINE_MOVE: &[&str] = &["uci", "position startpos", "go nodes 1"];

/// A program that is started, told some lines, and has answered with a line that contains `end`.
struct Answer {
    name: String,
    program: String,
    args: &'static [&'static str],
    said: &'static [&'static str],
    end: &'static str,
}

impl Contender for Answer {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn round(&mut self) -> Round {
        let started = Instant::now();
        let mut process = LineProcess::start(Command::new(&self.program).args(self.args)).expect("it starts");
        for line in self.said {
            process.say(line).expect("it reads its input");
        }
        while !process.answer().expect("it answers").contains(self.end) {}
        once(started.elapsed())
    }
}

/// The network's file, from the page cache.
struct Reading;

impl Contender for Reading {
    fn name(&self) -> String {
        "limit: reading the network".to_owned()
    }

    fn round(&mut self) -> Round {
        let started = Instant::now();
        black_box(fs::read(NETWORK).expect("the bundled network"));
        once(started.elapsed())
    }
}

fn once(time: Duration) -> Round {
    Round { work: 1, time }
}

/// Stockfish's name and program.
fn stockfish() -> Result<(String, String), String> {
    let named = std::env::var("TABIA_STOCKFISH").ok();
    let programs = match &named {
        Some(program) => vec![program.as_str()],
        None => vec!["stockfish", "/usr/games/stockfish"],
    };
    programs
        .iter()
        .find_map(|program| {
            let mut process = LineProcess::start(&mut Command::new(program)).ok()?;
            process.say("uci").ok()?;
            loop {
                if let Some(name) = process.answer().ok()?.strip_prefix("id name ") {
                    return Some((name.to_owned(), (*program).to_owned()));
                }
            }
        })
        .ok_or_else(|| format!("cannot start {} (apt-get install stockfish)", programs.join(" or ")))
}
