//! `tabia-lab data label`: evaluates positions with an engine or a network.

mod annotate;
mod engine;
mod form;
mod input;
mod positions;
mod session;
mod settings;
mod teacher;
mod work;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use tabia_data::{RecordKind, SourceSummary};
use tabia_uci::client::EngineConfig;
use tabia_uci::message::Go;

pub(crate) use self::annotate::{AnnotateArgs, run as run_annotate};
use self::engine::EngineArgs;
use self::form::Form;
use self::positions::Choice;
use self::session::Labeller;
use self::settings::Settings;
use self::teacher::{DeviceName, NetworkSource, Teacher};
use self::work::{Ending, Labelled, Work};
use super::records;
use super::unfinished::{Output, Written};
use tabia_report::Progress;

/// Evaluate positions with a UCI engine or a network, and write the evaluations as rows or as a set.
///
/// Positions come from FEN or EPD lines, the games of a PGN, puzzles, or a set; each is labelled once. The output is a set
/// of evaluations or, if its name ends in .jsonl.zst, a file in the format of Lichess: JSON Lines with fen, line, depth,
/// knodes, and cp or mate from White's point of view. To resume a stopped or killed run, run the same command.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tabia-lab data label games.pgn.zst --per-game 8 --out labels.jsonl.zst --nodes 1000
  tabia-lab data label book.epd --engine 'stockfish' --multipv 5 --depth 12 --out book.jsonl.zst
  tabia-lab data label sets/games --per-game 4 --first-ply 8 --random-moves 0.5 --multipv all --depth 6 --out sets/values
  tabia-lab data label sets/games --per-game 8 --network challenge-l.onnx --multipv all --out sets/judged
  tabia-lab data build --kind evaluations labels.jsonl.zst --out labelled")]
pub(crate) struct LabelArgs {
    /// Files, folders or sets with positions; - is standard input.
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Output: a folder for a set, or a file that ends in .jsonl.zst.
    #[arg(long, value_name = "DIR|FILE")]
    out: PathBuf,
    #[command(flatten)]
    engine: EngineArgs,
    /// Evaluate with a network instead of an engine: the position after every move, without search.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["engine", "options", "nodes", "depth", "hash", "patience"])]
    network: Option<PathBuf>,
    /// Device of the network.
    #[arg(long, value_enum, default_value = "cpu", requires = "network")]
    device: DeviceName,
    /// The configuration the network was trained with, for --device gpu.
    #[arg(long, value_name = "CONFIG", requires = "network")]
    config: Option<PathBuf>,
    /// Lines per position, or all for one per legal move.
    #[arg(long, default_value = "1", value_name = "K|all", value_parser = lines)]
    multipv: Lines,
    /// Maximum number of positions.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    /// Share of the positions to label, sampled at random.
    #[arg(long, default_value_t = 1.0, value_name = "P", value_parser = share)]
    sample: f64,
    /// Maximum number of positions per game, sampled at random.
    #[arg(long, value_name = "N")]
    per_game: Option<usize>,
    /// Skip the positions of a game before this ply.
    #[arg(long, default_value_t = 0, value_name = "N")]
    first_ply: usize,
    /// Share of positions that are replaced by one after one or two random moves.
    #[arg(long, alias = "stray", default_value_t = 0.0, value_name = "P", value_parser = share_or_none)]
    random_moves: f64,
    /// Random seed of samples and random moves.
    #[arg(long, default_value_t = 0, value_name = "S")]
    seed: u64,
    /// Time limit; the output then has the positions labelled so far. 0 completes it with those of earlier runs.
    #[arg(long, value_name = "N")]
    max_seconds: Option<u64>,
    /// Number of shards of a set.
    #[arg(long, default_value_t = 16, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    shards: u32,
}

/// Number of lines per position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    /// The best moves.
    Best(usize),
    /// All legal moves.
    All,
}

fn lines(text: &str) -> Result<Lines, String> {
    if text == "all" {
        return Ok(Lines::All);
    }
    let count = text.parse().ok().filter(|count| (1..=255).contains(count));
    count.map(Lines::Best).ok_or_else(|| "is neither a number from 1 to 255 nor 'all'".to_owned())
}

fn share_or_none(text: &str) -> Result<f64, String> {
    if text.parse() == Ok(0.0) { Ok(0.0) } else { share(text) }
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "is not a number")?;
    if share > 0.0 && share <= 1.0 { Ok(share) } else { Err("must be above 0 and at most 1".to_owned()) }
}

pub(crate) fn run(args: &LabelArgs) -> Result<()> {
    let deadline = args.max_seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let (source, first) = args.source()?;
    let form = Form::of(&args.out);
    let settings = source.settings(first.as_ref(), form);
    let mut output = form.open(&args.out, &settings)?;
    let before = output.written();
    if before.positions > 0 {
        eprintln!("resuming after {} labelled positions", before.positions);
    }
    let stop = Arc::new(AtomicBool::new(false));
    heed_ctrl_c(&stop)?;
    let progress = Progress::new("positions");
    let work = Work {
        inputs: &args.inputs,
        choice: args.choice(),
        chunk: settings.chunk,
        form,
        teacher: &|| source.teacher(),
        jobs: source.jobs(args.engine.jobs()),
        stop: &stop,
        deadline,
        progress: &progress,
    };
    let labelled = work.run(first, &mut output);
    progress.finish();
    let (labelled, written) = (labelled?, output.written());
    match labelled.ending {
        Ending::Stopped => {
            bail!("stopped after {} positions; run the same command to resume", written.positions)
        }
        Ending::OutOfTime if written.positions == 0 => {
            bail!("no position was labelled in time")
        }
        Ending::OutOfTime | Ending::Whole => {}
    }
    let bytes = match form {
        Form::Rows => {
            output.finish()?;
            written.bytes
        }
        Form::Set => args.make_set(&settings, output, &labelled)?,
    };
    report(args, written, bytes, &labelled, &progress);
    Ok(())
}

/// How engines are started and asked.
struct EngineSource {
    launch: EngineConfig,
    go: Go,
    lines: usize,
}

/// Where evaluations come from.
enum Source {
    Engine(Box<EngineSource>),
    Network(Box<NetworkSource>),
}

impl Source {
    /// What decides the labels; `first` is the engine.
    fn settings(&self, first: Option<&Labeller>, form: Form) -> Settings {
        let name =
            |(name, value): &(String, Option<String>)| (name.clone(), value.clone().unwrap_or_default());
        match self {
            Source::Engine(source) => Settings {
                engine: first.map(|engine| engine.name().to_owned()).unwrap_or_default(),
                options: source.launch.options.iter().map(name).collect(),
                go: source.go.to_string(),
                lines: source.lines,
                chunk: chunk_len(&source.go),
                form,
            },
            Source::Network(network) => Settings {
                engine: network.describe(),
                options: Vec::new(),
                go: "one move ahead".to_owned(),
                lines: network.lines(),
                chunk: NETWORK_CHUNK,
                form,
            },
        }
    }

    fn teacher(&self) -> Result<Teacher> {
        match self {
            Source::Engine(source) => {
                let EngineSource { launch, go, lines } = source.as_ref();
                let engine = Labeller::start(launch.clone(), go.clone(), *lines)?;
                Ok(Teacher::Engine(Box::new(engine)))
            }
            Source::Network(network) => network.teacher(),
        }
    }

    /// Workers: as many as there are to be engines, but one for a GPU.
    fn jobs(&self, jobs: usize) -> usize {
        match self {
            Source::Network(network) if network.is_on_gpu() => 1,
            _ => jobs,
        }
    }
}

/// No position has more legal moves.
const MOST_MOVES: usize = 218;

/// Positions per chunk of a network.
const NETWORK_CHUNK: usize = 512;

impl LabelArgs {
    /// What evaluates. The first engine is started before anything is written, for its name and options.
    fn source(&self) -> Result<(Source, Option<Labeller>)> {
        if let Some(file) = &self.network {
            let lines = match self.multipv {
                Lines::Best(lines) => lines,
                Lines::All => MOST_MOVES,
            };
            let network = NetworkSource::open(file, self.device, self.config.as_deref(), lines)?;
            return Ok((Source::Network(Box::new(network)), None));
        }
        let go = self.engine.go();
        let mut launch = self.engine.launch()?;
        let (first, lines) = match self.multipv {
            Lines::Best(lines) => {
                if lines > 1 {
                    launch = launch.option("MultiPV", &lines.to_string());
                }
                (Labeller::start(launch.clone(), go.clone(), lines)?, lines)
            }
            Lines::All => {
                let mut first = Labeller::start(launch.clone(), go.clone(), 1)?;
                let lines = first.look_at_all_moves()?;
                launch = launch.option("MultiPV", &lines.to_string());
                (first, lines)
            }
        };
        Ok((Source::Engine(Box::new(EngineSource { launch, go, lines })), Some(first)))
    }

    fn choice(&self) -> Choice {
        Choice {
            share: self.sample,
            per_game: self.per_game,
            seed: self.seed,
            limit: self.limit,
            first_ply: self.first_ply,
            random_moves: self.random_moves,
        }
    }

    /// Replaces the written labels by a set; returns the size of its shards.
    fn make_set(&self, settings: &Settings, output: Output, labelled: &Labelled) -> Result<u64> {
        let written = output.written();
        let kind = RecordKind::Evaluations;
        // Distinguishes the shards of sets with different parts of the input.
        let made_of = (serde_json::to_vec(settings)?, serde_json::to_vec(&written)?);
        let plan = records::plan(kind, self.shards, &[&made_of.0, &made_of.1]);
        // File name only.
        let name =
            |input: &PathBuf| input.file_name().unwrap_or(input.as_os_str()).to_string_lossy().into_owned();
        let inputs: Vec<String> = self.inputs.iter().map(name).collect();
        let source = SourceSummary {
            name: inputs.join(" "),
            records: written.positions - written.faults,
            broken: labelled
                .unreadable
                .iter()
                .map(|(kind, fault)| (kind.describe().to_owned(), fault.count))
                .collect(),
        };
        let mut options = BTreeMap::from([
            ("engine".to_owned(), settings.engine.clone()),
            ("limits".to_owned(), settings.go.clone()),
            ("lines".to_owned(), settings.lines.to_string()),
            ("whole-input".to_owned(), (labelled.ending == Ending::Whole).to_string()),
            ("first-ply".to_owned(), self.first_ply.to_string()),
            ("sample".to_owned(), self.sample.to_string()),
            ("stray".to_owned(), self.random_moves.to_string()),
            ("seed".to_owned(), self.seed.to_string()),
        ]);
        options.extend(self.per_game.map(|most| ("per-game".to_owned(), most.to_string())));
        options.extend(self.limit.map(|most| ("limit".to_owned(), most.to_string())));
        options
            .extend(settings.options.iter().map(|(name, value)| (format!("option {name}"), value.clone())));
        let set =
            records::make_set(&output.part(), &self.out, plan, self.engine.jobs(), vec![source], options)?;
        let bytes = set.manifest().shards.iter().map(|shard| shard.bytes).sum();
        output.remove()?;
        Ok(bytes)
    }
}

/// Positions per chunk: some seconds of work.
///
/// The hash table is cleared at the start of each chunk, so that evaluations do not depend on the number of engines.
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

fn report(args: &LabelArgs, written: Written, bytes: u64, labelled: &Labelled, progress: &Progress) {
    let Labelled { met, unreadable, restarts, ending } = labelled;
    let answered = written.positions - written.faults;
    println!(
        "{}: {} rows of {answered} positions, {bytes} bytes, {:.1} a position ({:.0} positions/s)",
        args.out.display(),
        written.rows,
        bytes as f64 / answered.max(1) as f64,
        progress.rate()
    );
    if *ending == Ending::OutOfTime {
        println!("  the time limit was reached before the end of the input");
    }
    for (count, what) in [
        (met.duplicates, "duplicates passed over"),
        (met.over, "checkmates and stalemates passed over"),
        (met.chess960, "Chess960 positions passed over"),
        (met.perturbed, "positions chosen that are a random move or two away from the input's"),
        (u64::from(*restarts), "times an engine was started again"),
        (written.faults, "positions without an answer"),
        (written.short, "positions with fewer lines than were asked for"),
        (unreadable.total(), "games or lines that could not be read:"),
    ] {
        if count > 0 {
            println!("  {count} {what}");
        }
    }
    print!("{unreadable}");
}
