//! `tabia-lab tune`: the numbers of the search, found by playing.

mod engine;
mod spsa;
mod state;
mod test;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::Value;
use tabia_arena::{
    Adjudication, Agreement, Budget, DrawAdjudication, Openings, ResignAdjudication, Rules, Stop,
};
use tabia_cli::{jobs, stop_on_interrupt};
use tabia_players::{EngineEvaluation, Limits};
use tabia_search::Parameters;

use self::spsa::Spsa;
use self::state::{Settings, Tuning};

/// Tune the parameters of the search by playing (SPSA), or test a set of them (SPRT).
///
/// Every iteration changes all chosen parameters at random in opposite directions for the two players of a pair of games,
/// and moves them towards the winner. The parameters and how they came about are saved as JSON after every batch of games;
/// the same command resumes a stopped or killed run, and a larger --games extends it.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  tabia-lab tune --list
  tabia-lab tune --only reduction,reduction_slope --games 20000 --nodes 5000 --openings book.epd --out tuned.json
  tabia-lab tune test --from tuned.json --sprt 0,5 --nodes 5000 --openings book.epd --pgn tuned.pgn
  tabia-lab tune test --set probcut=180 --sprt 0,5"
)]
pub(crate) struct TuneCommand {
    #[command(subcommand)]
    other: Option<Other>,
    #[command(flatten)]
    tune: TuneArgs,
}

#[derive(Subcommand)]
enum Other {
    /// Test parameters against the engine's own in a match that ends when an SPRT is decided.
    Test(test::TestArgs),
}

#[derive(Args)]
struct TuneArgs {
    /// Print the parameters with their values and bounds.
    #[arg(long)]
    list: bool,
    /// Tune these parameters [default: all].
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Games in all, in pairs; the changes get smaller towards the end.
    #[arg(long, default_value_t = 20_000, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000_000))]
    games: u32,
    /// The parameters, as JSON; continued if it exists.
    #[arg(long, default_value = "tuned.json", value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    start: StartArgs,
    #[command(flatten)]
    play: PlayArgs,
}

/// Values that differ from the engine's own.
#[derive(Args)]
struct StartArgs {
    /// Start from the parameters of this file of an earlier run.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Set a parameter; repeatable.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = name_and_value)]
    set: Vec<(String, i32)>,
}

/// How games are played.
#[derive(Args)]
struct PlayArgs {
    /// Nodes per move.
    #[arg(long, default_value_t = 5_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    /// Openings: .fen, .epd or .pgn, plain or in a .zip [default: 25 bundled openings].
    #[arg(long, value_name = "BOOK")]
    openings: Option<PathBuf>,
    /// Evaluate with this network [default: the bundled one].
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Evaluate with the hand-written evaluation.
    #[arg(long, conflicts_with = "model")]
    baseline: bool,
    /// Concurrent games [default: one per core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Random seed.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
}

pub(crate) fn run(command: &TuneCommand) -> Result<()> {
    match &command.other {
        Some(Other::Test(args)) => test::run(args),
        None if command.tune.list => {
            print!("{}", list());
            Ok(())
        }
        None => tune(&command.tune),
    }
}

fn tune(args: &TuneArgs) -> Result<()> {
    let start = args.start.parameters()?;
    let names = chosen(&args.only)?;
    let settings = Settings {
        nodes: args.play.nodes,
        openings: args.play.openings()?.digest(),
        evaluation: args.play.described()?,
        seed: args.play.seed,
    };
    let mut tuning = match Tuning::read(&args.out)? {
        Some(found) => found.continued(&settings, &names).with_context(|| args.out.display().to_string())?,
        None => Tuning::start(settings, &names, &start),
    };
    if tuning.games >= args.games {
        println!("{} has {} games already; a larger --games extends it", args.out.display(), tuning.games);
        print!("{}", tuning.table());
        return Ok(());
    }
    let stop = Arc::new(Stop::new());
    stop_on_interrupt(&stop)?;
    let openings = args.play.openings()?;
    let spsa = Spsa {
        games: args.games,
        jobs: jobs(args.play.jobs).get(),
        start,
        openings: &openings,
        rules: rules(args.play.nodes),
        engines: engine::Engines::new(args.play.evaluation())?,
        stop: &stop,
        out: &args.out,
    };
    spsa.run(&mut tuning)?;
    print!("{}", tuning.table());
    if tuning.games < args.games {
        bail!(
            "stopped after {} of {} games; they count in {}, and the same command resumes",
            tuning.games,
            args.games,
            args.out.display()
        );
    }
    Ok(())
}

/// The parameters to tune.
fn chosen(only: &[String]) -> Result<Vec<&'static str>> {
    let known: Vec<&'static str> = Parameters::SPECS.iter().map(|spec| spec.name).collect();
    if only.is_empty() {
        return Ok(known);
    }
    if let Some(unknown) = only.iter().find(|name| !known.contains(&name.as_str())) {
        bail!("the search has no parameter {unknown:?}; tabia-lab tune --list prints them");
    }
    Ok(known.into_iter().filter(|name| only.iter().any(|wanted| wanted == name)).collect())
}

fn list() -> String {
    let mut rows = vec![tabia_report::head(&["parameter", "value", "from", "to"])];
    for spec in Parameters::SPECS {
        let numbers = [spec.default, spec.low, spec.high].map(|number| number.to_string());
        rows.push([spec.name.to_owned()].into_iter().chain(numbers).collect());
    }
    tabia_report::aligned(&rows) + "\n"
}

impl StartArgs {
    /// The engine's parameters with these changes.
    fn parameters(&self) -> Result<Parameters> {
        let mut parameters = Parameters::default();
        if let Some(path) = &self.from {
            read(path, &mut parameters).with_context(|| path.display().to_string())?;
        }
        for (name, value) in &self.set {
            parameters.set(name, *value)?;
        }
        Ok(parameters)
    }
}

/// Sets the parameters of a file of an earlier run.
fn read(path: &Path, parameters: &mut Parameters) -> Result<()> {
    let text = std::fs::read_to_string(path)?;
    let json: Value = serde_json::from_str(&text)?;
    let values = json.get("values").and_then(Value::as_object).context("no \"values\" in it")?;
    for (name, value) in values {
        let value = value.as_i64().and_then(|value| i32::try_from(value).ok());
        parameters.set(name, value.with_context(|| format!("{name} is not a whole number"))?)?;
    }
    Ok(())
}

impl PlayArgs {
    fn openings(&self) -> Result<Openings> {
        let openings = match &self.openings {
            Some(book) => Openings::open(book).context("--openings")?,
            None => Openings::balanced(),
        };
        Ok(openings.shuffled(self.seed))
    }

    fn evaluation(&self) -> EngineEvaluation {
        match &self.model {
            Some(file) => EngineEvaluation::File(file.clone()),
            None if self.baseline => EngineEvaluation::Baseline,
            None => EngineEvaluation::BuiltIn,
        }
    }

    /// The evaluation as text: games depend on it.
    fn described(&self) -> Result<String> {
        engine::Engines::new(self.evaluation())?.describe()
    }
}

/// Fixed nodes, and games that are decided are not played out.
fn rules(nodes: u64) -> Rules {
    let limits = Limits { nodes: Some(nodes), ..Limits::default() };
    Rules {
        budget: Budget { limits, ..Budget::default() },
        adjudication: Adjudication {
            resign: Some(ResignAdjudication { move_count: 3, score: 600, agreement: Agreement::TwoSided }),
            draw: Some(DrawAdjudication { move_number: 34, move_count: 8, score: 20 }),
        },
        ..Rules::default()
    }
}

fn name_and_value(text: &str) -> Result<(String, i32), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, as in probcut=180")?;
    let value = value.trim().parse().map_err(|_| format!("{value:?} is not a whole number"))?;
    Ok((name.trim().to_owned(), value))
}
