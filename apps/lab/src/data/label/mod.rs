//! `tabia-lab data label`: positions in, an engine's evaluations of them out.

mod annotate;
mod input;
mod output;
mod positions;
mod session;
mod work;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use tabia_uci::client::Launch;
use tabia_uci::message::Go;

pub(crate) use self::annotate::{AnnotateArgs, run as run_annotate};
use self::output::{Output, Settings};
use self::positions::Choice;
use self::session::Labeller;
use self::work::{Labelled, Work};
use super::meter::Meter;

/// Let a UCI engine evaluate positions, and write what it says as Lichess writes evaluations.
///
/// Positions come from FEN or EPD lines, from the games of a PGN, from puzzles, or from a set of shards; each is
/// labelled once. The output has one JSON object a line: fen, line, depth, knodes, and cp or mate for White.
/// Stopped or killed, the same command goes on where it was.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tabia-lab data label games.pgn.zst --per-game 8 --out labels.jsonl.zst --nodes 1000
  tabia-lab data label book.epd --engine 'stockfish' --multipv 5 --depth 12 --out book.jsonl.zst
  tabia-lab data build --kind evaluations labels.jsonl.zst --out labelled")]
pub(crate) struct LabelArgs {
    /// Files, folders or sets with positions; - is standard input.
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Where the rows go; the name should end in .jsonl.zst.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    engine: EngineArgs,
    /// How many lines a position.
    #[arg(long, default_value_t = 1, value_name = "K", value_parser = clap::value_parser!(u16).range(1..=255))]
    multipv: u16,
    /// How many positions at most.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// The share of positions to label, drawn by the seed.
    #[arg(long, default_value_t = 1.0, value_name = "P", value_parser = share)]
    sample: f64,
    /// How many positions of a game at most, drawn by the seed.
    #[arg(long, value_name = "N")]
    per_game: Option<usize>,
    /// Draws samples.
    #[arg(long, default_value_t = 0, value_name = "S")]
    seed: u64,
}

/// Which engine, and how long it looks at a position.
#[derive(Args)]
struct EngineArgs {
    /// The engine's command, with its arguments [default: stockfish in PATH or /usr/games].
    #[arg(long, value_name = "COMMAND")]
    engine: Option<String>,
    /// An option to set, NAME=VALUE; may be given many times.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    options: Vec<(String, String)>,
    /// How many nodes a position may cost [default: 1000, unless there is a depth].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// How many plies deep to look.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=255))]
    depth: Option<u32>,
    /// How many engines run at the same time [default: one a core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// The memory of each engine, in MB.
    #[arg(long, default_value_t = 16, value_name = "MB")]
    hash: u32,
    /// How long an engine may think about a position before it counts as hung, in seconds.
    #[arg(long, default_value_t = 60.0, value_name = "SECONDS", value_parser = seconds)]
    patience: f64,
}

impl EngineArgs {
    fn go(&self) -> Go {
        Go {
            depth: self.depth,
            nodes: self.nodes.or((self.depth.is_none()).then_some(1000)),
            ..Go::default()
        }
    }

    fn jobs(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or(cores, usize::from)
    }

    fn command(&self) -> &str {
        self.engine.as_deref().unwrap_or_else(|| stockfish())
    }

    /// Starts an engine that gives one line a position.
    fn start(&self) -> Result<Labeller> {
        Labeller::start(self.launch()?, self.go(), 1)
    }

    fn launch(&self) -> Result<Launch> {
        let command = self.command();
        let words = shlex::split(command)
            .filter(|words| !words.is_empty())
            .with_context(|| format!("'{command}' is not a command"))?;
        let (program, arguments) = words.split_first().context("no command")?;
        let mut launch = Launch::new(program);
        launch.arguments.extend(arguments.iter().map(Into::into));
        launch.patience.unclocked = Duration::from_secs_f64(self.patience);
        // How many failures are too many is counted here, not by the client.
        launch.most_restarts = u32::MAX;
        for (name, value) in &self.options {
            ensure!(!name.eq_ignore_ascii_case("MultiPV"), "use --multipv, not --option MultiPV=");
            ensure!(!name.eq_ignore_ascii_case("Hash"), "use --hash, not --option Hash=");
            launch = launch.option(name, value);
        }
        launch = launch.option("Hash", &self.hash.to_string());
        Ok(launch)
    }
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("is not NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "is not a number")?;
    if share > 0.0 && share <= 1.0 { Ok(share) } else { Err("must be above 0 and at most 1".to_owned()) }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "is not a number")?;
    if seconds > 0.0 && seconds <= 1e6 { Ok(seconds) } else { Err("must be above 0".to_owned()) }
}

pub(crate) fn run(args: &LabelArgs) -> Result<()> {
    let go = args.engine.go();
    let lines = usize::from(args.multipv);
    let mut launch = args.engine.launch()?;
    if lines > 1 {
        launch = launch.option("MultiPV", &lines.to_string());
    }
    // The first engine says who it is before anything is written.
    let first = Labeller::start(launch.clone(), go.clone(), lines)?;
    let settings = Settings {
        engine: first.name().to_owned(),
        options: launch
            .options
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().unwrap_or_default()))
            .collect(),
        go: go.to_string(),
        lines,
        chunk: chunk_len(&go),
    };
    let output = Output::open(&args.out, &settings)?;
    let before = output.written();
    if before.positions > 0 {
        eprintln!("going on after {} positions that are labelled already", before.positions);
    }
    let stop = Arc::new(AtomicBool::new(false));
    heed_ctrl_c(&stop)?;
    let choice = Choice { share: args.sample, per_game: args.per_game, seed: args.seed, limit: args.limit };
    let meter = Meter::new("positions");
    let work = Work {
        inputs: &args.inputs,
        choice,
        chunk: settings.chunk,
        engine: &|| Labeller::start(launch.clone(), go.clone(), lines),
        jobs: args.engine.jobs(),
        stop: &stop,
        meter: &meter,
    };
    let labelled = work.run(first, output);
    meter.finish();
    report(args, &labelled?, &meter)
}

/// Debian keeps games out of root's `PATH`.
fn stockfish() -> &'static str {
    const DEBIAN: &str = "/usr/games/stockfish";
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&folders).any(|folder| folder.join("stockfish").is_file());
    if !in_path && Path::new(DEBIAN).is_file() { DEBIAN } else { "stockfish" }
}

/// How many positions are labelled between two notes in the journal by one engine: some seconds of work.
///
/// An engine forgets what it saw at the beginning of each chunk, so what it says depends on the chunk alone, and not on
/// how many engines there are.
fn chunk_len(go: &Go) -> usize {
    let by_nodes = go.nodes.map_or(512, |nodes| 1_000_000 / nodes);
    let by_depth = go.depth.map_or(512, |depth| 512 >> (depth / 3).min(9));
    by_nodes.min(by_depth).clamp(16, 512) as usize
}

fn heed_ctrl_c(stop: &Arc<AtomicBool>) -> Result<()> {
    let stop = Arc::clone(stop);
    let heeded = ctrlc::set_handler(move || {
        if stop.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    heeded.context("Ctrl-C cannot be heeded")
}

fn report(args: &LabelArgs, labelled: &Labelled, meter: &Meter) -> Result<()> {
    let Labelled { written, met, unreadable, restarts, stopped } = labelled;
    if *stopped {
        bail!("stopped after {} positions; the same command goes on from there", written.positions);
    }
    println!(
        "{}: {} rows of {} positions, {} bytes ({:.0} positions/s)",
        args.out.display(),
        written.rows,
        written.positions - written.faults,
        written.bytes,
        meter.rate()
    );
    for (count, what) in [
        (met.duplicates, "duplicates passed over"),
        (met.over, "checkmates and stalemates passed over"),
        (met.chess960, "Chess960 positions passed over"),
        (u64::from(*restarts), "times an engine was started again"),
        (written.faults, "positions without an answer"),
        (unreadable.total(), "games or lines that could not be read:"),
    ] {
        if count > 0 {
            println!("  {count} {what}");
        }
    }
    print!("{unreadable}");
    Ok(())
}
