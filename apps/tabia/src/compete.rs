//! `tabia compete`: a network in the Chess Challenge.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use tabia_arena::challenge::{Ladder, Leaderboard, LeaderboardEntry, Scorecard};
use tabia_arena::{Budget, Entrant, Openings, Stop, WallTimer};
use tabia_cli::{PlayerFactory, entrants, jobs, stop_on_interrupt, today, write_json};
use tabia_model::{LoadError, LoadErrorKind, Model};
use tabia_players::{CHALLENGE_INPUT, Level, NetSearch, NetSpec, Spec, admit};

use crate::cli::CompeteArgs;

pub(crate) fn run(args: &CompeteArgs) -> Result<()> {
    if args.record.is_some() && args.level.is_some_and(|level| level > 1) {
        bail!("--record needs a run from level 1: networks are ranked by the levels passed in a row");
    }
    let rules = args.rules;
    let players = PlayerFactory::default();
    let model =
        players.open(&args.model).map_err(explain).with_context(|| args.model.display().to_string())?;
    if let Some(warning) = admit(&model, rules).with_context(|| args.model.display().to_string())? {
        eprintln!("tabia: warning: {}: {warning}", args.model.display());
    }

    let openings = match &args.openings {
        Some(path) => Openings::open(path)?,
        None => Openings::challenge(rules, args.seed),
    };
    let levels: Vec<Level> =
        match args.level {
            Some(number) => {
                let count = rules.levels().len();
                let level = rules.level(number);
                vec![level.with_context(|| {
                    format!("no level {number} by the rules {rules} (expected 1 to {count})")
                })?]
            }
            None => rules.levels().collect(),
        };
    let challenger = Spec::Net(NetSpec { file: args.model.clone(), search: NetSearch::Challenge(rules) });
    let specs: Vec<Spec> =
        [challenger].into_iter().chain(levels.iter().map(|level| Spec::Level((*level).into()))).collect();
    let players = entrants(&specs, &Budget::default(), &players)?;
    let (challenger, opponents) = players.split_first().expect("the challenger comes first");

    let stop = Arc::new(Stop::new());
    stop_on_interrupt(&stop)?;
    let ladder = Ladder {
        challenger,
        parameters: model.parameters(),
        rules,
        seed: args.seed,
        levels: levels
            .iter()
            .zip(opponents)
            .map(|(level, player)| (u32::from(level.number()), player as &dyn Entrant))
            .collect(),
        openings: &openings,
        jobs: jobs(args.jobs),
        folder: None,
        date: today(),
    };
    let scorecard = climb(&ladder, &stop, 2 * openings.list().len() as u64)?;
    print!("{scorecard}");
    if let Some(path) = &args.json_output {
        write_json(path, &serde_json::to_value(&scorecard)?)?;
    }
    if scorecard.interrupted {
        bail!("stopped before the end");
    }
    if let Some(path) = &args.record {
        record(path, &scorecard, &model, args)?;
    }
    if scorecard.passed.is_none() {
        bail!("no level passed");
    }
    Ok(())
}

/// For a network of unknown kind, explains the input of the challenge instead of how to write a card.
fn explain(error: LoadError) -> anyhow::Error {
    let unknown = error.kind() == LoadErrorKind::UnknownNetwork;
    let error = anyhow::Error::new(error);
    if unknown { error.context(CHALLENGE_INPUT) } else { error }
}

fn climb(ladder: &Ladder<'_>, stop: &Stop, games: u64) -> Result<Scorecard> {
    let bar = ProgressBar::new(games);
    let style = ProgressStyle::with_template("level {prefix} {bar:30} {pos}/{len} {msg} {eta}");
    bar.set_style(style.expect("the template is sound"));
    let scorecard = ladder.climb(&WallTimer::new(), stop, &mut |progress| {
        bar.set_prefix(progress.level.to_string());
        bar.set_position(progress.games.games());
        bar.set_message(format!("{} points", progress.games.points()));
    });
    bar.finish_and_clear();
    Ok(scorecard?)
}

fn record(path: &Path, scorecard: &Scorecard, model: &Model, args: &CompeteArgs) -> Result<()> {
    let stem = args.model.file_stem().unwrap_or(args.model.as_os_str()).to_string_lossy().into_owned();
    let entry = LeaderboardEntry {
        id: model.sha256().to_owned(),
        name: model.card().name.clone().unwrap_or(stem),
        rules: scorecard.edition.rules.to_string(),
        level: scorecard.climbed(),
        parameters: scorecard.parameters,
        points: scorecard.levels.iter().map(|level| level.points).sum(),
        games: scorecard.levels.iter().map(|level| level.games.games()).sum(),
        date: today(),
    };
    let board = Leaderboard::record(path, entry)?;
    println!("\nlevel  parameters  points  network");
    for entry in board.entries() {
        println!("{:>5}  {:>10}  {:>6}  {}", entry.level, entry.parameters, entry.points, entry.name);
    }
    Ok(())
}
