//! Nodes a second: the engine over the baseline evaluation, over `models/value.safetensors` and over a random 768-256-32-1
//! network, level 5 of the Chess Challenge, and Stockfish, on the same positions.
//!
//! All search on one thread, in interleaved rounds of which the best counts, every position as a new game. The engines
//! have as many nodes for each position and as large a table; level 5 looks as far ahead as it always does. The time is
//! the wall's for all, and the nodes are what each says it visited: programs do not count quite the same things.
//! Stockfish is `TABIA_STOCKFISH`, else `stockfish` in the path or in Debian's `/usr/games`; without it the bench says so
//! and goes on.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a bench is a program: it reads the clock and the environment, and prints"
)]

use std::{
    io,
    process::Command,
    time::{Duration, Instant},
};

use prost::Message;
use shakmaty::{ByColor, EnPassantMode, fen::Fen};
use tabia_bench::{Contender, LineProcess, Round, Shown, Table, best_of, random_mlp};
use tabia_game::{History, position_from_fen};
use tabia_model::Model;
use tabia_players::{EnginePlayer, Level, LevelPlayer, Player};
use tabia_search::{
    AccumulatorEvaluator, BaselineEvaluator, EngineOptions, Evaluator, Limits, NnueEvaluator, NoControl,
};

const ROUNDS: usize = 5;
/// Nodes the engines have for each position.
const NODES: u64 = 50_000;
/// The size of the engines' tables in mebibytes.
const HASH: usize = 16;
/// Of the positions of the fixture, each so manieth is searched.
const EVERY: usize = 10;

fn main() {
    // `cargo test --benches` starts this too; only `cargo bench` asks for a measurement.
    if std::env::args().any(|argument| argument == "--bench") {
        bench();
    }
}

fn bench() {
    let games = positions();
    let level = Level::new(5).expect("there are five levels");
    let mut searchers: Vec<Box<dyn Searcher>> = vec![
        Box::new(Ours::engine(BASELINE, Box::new(BaselineEvaluator))),
        Box::new(Ours::engine("engine, (768-256)x2-1", nnue())),
        Box::new(Ours::engine("engine, 768-256-32-1", random_network(&[768, 256, 32, 1]))),
        Box::new(Ours { name: LEVEL_5, player: Box::new(LevelPlayer::new(level, 0)) }),
    ];
    match Stockfish::start() {
        Ok(stockfish) => searchers.push(Box::new(stockfish)),
        Err(why) => println!("Stockfish is left out: {why}"),
    }

    let searches = |searcher| Box::new(Searches { searcher, games: &games });
    let mut contenders: Vec<Box<Searches<'_>>> = searchers.into_iter().map(searches).collect();
    let best = best_of(ROUNDS, &mut contenders);
    let positions = games.len();
    println!("{positions} positions, {NODES} nodes each, {HASH} MiB, one thread, best of {ROUNDS} rounds\n");
    let lines = contenders.iter().map(|contender| contender.name()).zip(best).collect();
    let ratios = [("of Stockfish's", "Stockfish"), ("of level 5's", LEVEL_5), ("of baseline's", BASELINE)];
    println!("{}", Table { unit: "node", shown: Shown::PerSecond, lines, ratios: &ratios });
}

/// Something that searches.
trait Searcher {
    fn name(&self) -> &str;

    /// One search of the game's last position, with nothing remembered from the one before: nodes and time.
    fn search(&mut self, game: &History) -> Round;
}

/// A searcher and what it searches.
struct Searches<'a> {
    searcher: Box<dyn Searcher>,
    games: &'a [History],
}

impl Contender for Searches<'_> {
    fn name(&self) -> String {
        self.searcher.name().to_owned()
    }

    fn round(&mut self) -> Round {
        let mut round = Round { work: 0, time: Duration::ZERO };
        for game in self.games {
            let search = self.searcher.search(game);
            round.work += search.work;
            round.time += search.time;
        }
        round
    }
}

const LEVEL_5: &str = "level 5";
const BASELINE: &str = "engine, baseline evaluation";

struct Ours {
    name: &'static str,
    player: Box<dyn Player>,
}

impl Ours {
    fn engine(name: &'static str, evaluator: Box<dyn Evaluator>) -> Ours {
        let options = EngineOptions { hash_mib: HASH, threads: 1, ..EngineOptions::default() };
        Ours { name, player: Box::new(EnginePlayer::new(name.to_owned(), options, evaluator)) }
    }
}

impl Searcher for Ours {
    fn name(&self) -> &str {
        self.name
    }

    fn search(&mut self, game: &History) -> Round {
        let limits = Limits { nodes: Some(NODES), ..Limits::default() };
        self.player.new_game();
        let started = Instant::now();
        let choice = self.player.choose(game, &limits, &NoControl).expect("the positions have moves");
        Round { work: choice.nodes, time: started.elapsed() }
    }
}

struct Stockfish {
    /// As it introduces itself, with the instructions it was compiled for: they decide its speed.
    name: String,
    process: LineProcess,
}

impl Stockfish {
    fn start() -> Result<Stockfish, String> {
        let named = std::env::var("TABIA_STOCKFISH").ok();
        let programs = match &named {
            Some(program) => vec![program.as_str()],
            None => vec!["stockfish", "/usr/games/stockfish"],
        };
        let process = programs
            .iter()
            .find_map(|program| LineProcess::start(&mut Command::new(program)).ok())
            .ok_or_else(|| format!("cannot start {} (apt-get install stockfish)", programs.join(" or ")))?;
        let mut stockfish = Stockfish { name: String::new(), process };
        stockfish.greet().map_err(|error| format!("{}: {error}", programs.join(" or ")))?;
        Ok(stockfish)
    }

    fn greet(&mut self) -> io::Result<()> {
        self.say("uci")?;
        let greeting = self.until("uciok")?;
        let name = greeting.iter().find_map(|line| line.strip_prefix("id name "));
        let name = name.unwrap_or("Stockfish").to_owned();
        self.say("compiler")?;
        self.say("isready")?;
        let compiled = self.until("readyok")?;
        let settings = compiled.iter().find_map(|line| line.strip_prefix("Compilation settings include:"));
        self.name = settings.map_or(name.clone(), |settings| format!("{name} ({})", settings.trim()));
        self.say("setoption name Threads value 1")?;
        self.say(&format!("setoption name Hash value {HASH}"))
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        self.process.say(line)
    }

    /// The lines up to the one that starts with `end`, which is the last.
    fn until(&mut self, end: &str) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            lines.push(self.process.answer()?);
            if lines.last().is_some_and(|line| line.starts_with(end)) {
                return Ok(lines);
            }
        }
    }

    fn timed(&mut self, game: &History) -> io::Result<Round> {
        let fen = Fen::from_position(game.current(), EnPassantMode::Legal);
        self.say("ucinewgame")?;
        self.say(&format!("position fen {fen}"))?;
        self.say("isready")?;
        self.until("readyok")?;
        let started = Instant::now();
        self.say(&format!("go nodes {NODES}"))?;
        let lines = self.until("bestmove")?;
        let time = started.elapsed();
        let nodes = lines.iter().rev().find_map(|line| {
            let mut words = line.split_whitespace().skip_while(|word| *word != "nodes");
            words.nth(1)?.parse().ok()
        });
        let nodes = nodes.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no node count"))?;
        Ok(Round { work: nodes, time })
    }
}

impl Searcher for Stockfish {
    fn name(&self) -> &str {
        &self.name
    }

    fn search(&mut self, game: &History) -> Round {
        self.timed(game).expect("Stockfish answers")
    }
}

fn positions() -> Vec<History> {
    include_str!("../../../fixtures/positions.fen")
        .lines()
        .step_by(EVERY)
        .map(|line| position_from_fen(line).expect("the fixture's positions are legal"))
        .filter(|position| !shakmaty::Position::is_game_over(position))
        .map(|position| History::new(position, ByColor::default()))
        .collect()
}

/// The engine's network.
fn nnue() -> Box<dyn Evaluator> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/value.safetensors");
    let model = Model::open(file).expect("the bundled network opens");
    Box::new(NnueEvaluator::new(&model).expect("an NNUE with a value head"))
}

/// A random network of the challenge's encoding, on the incremental path.
fn random_network(widths: &[usize]) -> Box<dyn Evaluator> {
    let model = Model::from_bytes(&random_mlp(widths).encode_to_vec()).expect("our own graph is valid");
    Box::new(AccumulatorEvaluator::new(&model).expect("a dense network with a value head"))
}
