//! `tabia-lab tune test`: an SPRT of parameters against the engine's own.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use tabia_arena::statistics::{EloScale, Sprt, Verdict};
use tabia_arena::{End, Entrant, Format, Ledger, Report, Run, Schedule, Stop};
use tabia_cli::{jobs, play_run, stop_on_interrupt, today};
use tabia_search::Parameters;

use super::engine::{Engines, Tuned};
use super::{PlayArgs, StartArgs, rules};

#[derive(Args)]
#[command(after_help = "\
Example:
  tabia-lab tune test --set probcut=180 --sprt 0,5 --nodes 5000 --openings book.epd --pgn probcut.pgn")]
pub(super) struct TestArgs {
    /// H0 ELO0 against H1 ELO1, in normalised Elo, with alpha = beta = 0.05.
    #[arg(long, default_value = "0,5", value_name = "ELO0,ELO1", value_parser = sprt, allow_hyphen_values = true)]
    sprt: Sprt,
    /// Most games.
    #[arg(long, default_value_t = 100_000, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=10_000_000))]
    games: u32,
    /// Compare with these values instead of the engine's own.
    #[arg(long = "against", value_name = "NAME=VALUE", value_parser = super::name_and_value)]
    against: Vec<(String, i32)>,
    /// Save every game here; the same command resumes.
    #[arg(long, value_name = "FILE")]
    pgn: Option<PathBuf>,
    #[command(flatten)]
    start: StartArgs,
    #[command(flatten)]
    play: PlayArgs,
}

pub(super) fn run(args: &TestArgs) -> Result<()> {
    let mut known = Parameters::default();
    for (name, value) in &args.against {
        known.set(name, *value)?;
    }
    let changed = args.start.parameters()?;
    let names = (differences(&changed), differences(&known));
    if changed == known {
        bail!(
            "nothing to test: both players have the same parameters (expected --set NAME=VALUE or --from FILE)"
        );
    }
    let engines = Engines::new(args.play.evaluation())?;
    let player = |name: String, parameters| Tuned { engines: &engines, name, parameters };
    let players = [player(names.0, changed), player(names.1, known)];
    let openings = args.play.openings()?;
    let schedule = Schedule::new(Format::Match, 2, args.games.div_ceil(2), openings.list().len())?;
    let rules = rules(args.play.nodes);
    let run = Run {
        event: "Tabia tune".to_owned(),
        date: today(),
        entrants: players.iter().map(|player| player as &dyn Entrant).collect(),
        openings: &openings,
        schedule: &schedule,
        rules: &rules,
        seed: args.play.seed,
        jobs: jobs(args.play.jobs),
        sprt: Some(args.sprt),
    };
    let mut settings = run.settings();
    settings.set("evaluation", engines.describe()?);
    let mut ledger = args.pgn.as_deref().map(|path| Ledger::open(path, &settings)).transpose()?;
    let stop = Arc::new(Stop::new());
    stop_on_interrupt(&stop)?;
    let finished = play_run(&run, ledger.as_mut(), &stop)?;
    print!("{}", Report::of_records(&finished.standings, &finished.records));
    if let Some(test) = finished.test {
        let (elo0, elo1) = args.sprt.hypotheses();
        let (low, high) = args.sprt.bounds();
        let verdict = match test.verdict {
            Some(Verdict::AcceptH0) => "H0 accepted",
            Some(Verdict::AcceptH1) => "H1 accepted",
            None => "undecided",
        };
        println!(
            "\nSPRT of {elo0} against {elo1} normalised Elo: LLR {:+.2} ({low:+.2}, {high:+.2}), {verdict}",
            test.llr
        );
    }
    if finished.end == End::Stopped {
        bail!(
            "stopped after {} games{}",
            finished.records.len(),
            match &args.pgn {
                Some(path) => format!("; they are in {}, and the same command resumes", path.display()),
                None => String::new(),
            }
        );
    }
    Ok(())
}

/// What differs from the engine's own parameters, as a name.
fn differences(parameters: &Parameters) -> String {
    let differs = |spec: &&tabia_search::ParameterSpec| parameters.get(spec.name) != Some(spec.default);
    let text = |spec: &tabia_search::ParameterSpec| {
        format!("{}={}", spec.name, parameters.get(spec.name).unwrap_or_default())
    };
    let changes: Vec<String> = Parameters::SPECS.iter().filter(differs).map(text).collect();
    if changes.is_empty() { "engine".to_owned() } else { format!("engine,{}", changes.join(",")) }
}

fn sprt(text: &str) -> Result<Sprt, String> {
    let numbers = text.split_once(',');
    let numbers = numbers.and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    let (elo0, elo1) = numbers.ok_or("expected two numbers, as in 0,5")?;
    Sprt::new(elo0, elo1, EloScale::default()).map_err(|error| error.to_string())
}
