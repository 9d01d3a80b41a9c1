//! `tabia eval blunders`: predicted errors of people against the judgement of a strong engine.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use indicatif::HumanCount;
use serde::Deserialize;
use serde_json::json;
use tabia_cli::figures::percent;
use tabia_cli::{PlayerFactory, Stockfish, write_json};
use tabia_human_eval::{BlunderEval, BlunderReport, JudgedMove, Workers, fit_errors};
use tabia_players::{Limits, Spec};
use tabia_practice::{ErrorCalibration, Reviewer};
use tabia_report::{Progress, aligned, head};

use super::args::{ChoiceArgs, GameArgs};
use super::filters::FilterArgs;
use super::games::{pools, select};

#[derive(Args)]
#[command(after_help = "Examples:
  tabia eval blunders sets/accounts --positions 40000
  tabia eval blunders games.pgn --pool lichess --judge engine,nodes=100000 --json blunders.json
  tabia eval blunders blunders.json --fit

An error loses 10 points of winning chance or more. The prediction is that of `tabia review`: the moves that the human
network expects at the mover's rating, and what the engine thinks of each. The judge is Stockfish, where it is installed.
--fit fits the calibration to every second game and reports on the others. The JSON file of an earlier run can be given
instead of games: its judgements are used again.
docs/guides/evaluation.md explains the figures.")]
pub(crate) struct BlunderArgs {
    #[command(flatten)]
    games: GameArgs,
    #[command(flatten)]
    filters: FilterArgs,
    /// A human network [default: the bundled one].
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Positions of each game.
    #[arg(long, value_name = "N", default_value_t = 6)]
    per_game: usize,
    /// Nodes that our engine searches in each position.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    nodes: u64,
    /// The engine that judges [default: Stockfish, or ours where it is not installed].
    #[arg(long, value_name = "SPEC")]
    judge: Option<Spec>,
    /// Nodes that the judge searches in each position.
    #[arg(long, value_name = "N", default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(1..))]
    judge_nodes: u64,
    /// Fit the calibration to every second game, print it, and report on the others.
    #[arg(long)]
    fit: bool,
    #[command(flatten)]
    choice: ChoiceArgs,
}

pub(crate) fn run(args: &BlunderArgs) -> Result<()> {
    let is_json = |file: &PathBuf| file.extension().is_some_and(|end| end == "json");
    let judged = if args.games.games.iter().all(is_json) {
        // Calibrated anew: the built-in calibration may have changed since.
        let calibrated = |game: Vec<JudgedMove>| -> Vec<JudgedMove> {
            game.into_iter().map(|m| m.calibrated(&ErrorCalibration::BUILT_IN)).collect()
        };
        read(&args.games.games)?.into_iter().map(calibrated).collect()
    } else {
        judge(args)?
    };
    if judged.iter().all(Vec::is_empty) {
        bail!("no position was judged: players' ratings are needed");
    }
    if !args.fit {
        print(&BlunderReport::new(&judged));
        return Ok(());
    }
    let part =
        |first: usize| -> Vec<Vec<JudgedMove>> { judged.iter().skip(first).step_by(2).cloned().collect() };
    let Some(fitted) = fit_errors(&part(0)) else {
        bail!("there is nothing to fit: no errors, or nothing else")
    };
    let calibrated = |game: Vec<JudgedMove>| -> Vec<JudgedMove> {
        game.into_iter().map(|m| m.calibrated(&fitted)).collect()
    };
    println!("fitted to every second game: coefficients {:.2?}\n", fitted.coefficients);
    print(&BlunderReport::new(&part(1).into_iter().map(calibrated).collect::<Vec<_>>()));
    Ok(())
}

/// The judgements of earlier runs.
fn read(files: &[PathBuf]) -> Result<Vec<Vec<JudgedMove>>> {
    #[derive(Deserialize)]
    struct Figures {
        moves: Vec<Vec<JudgedMove>>,
    }
    let mut games = Vec::new();
    for file in files {
        let at = || file.display().to_string();
        let text = std::fs::read(file).with_context(at)?;
        games.extend(serde_json::from_slice::<Figures>(&text).with_context(at)?.moves);
    }
    Ok(games)
}

/// Predicts and judges moves of the games.
fn judge(args: &BlunderArgs) -> Result<Vec<Vec<JudgedMove>>> {
    let players = PlayerFactory::default();
    let human = players.human_or(args.model.as_deref())?;
    let nodes = |nodes| Limits { nodes: Some(nodes), ..Limits::default() };
    let judge = match &args.judge {
        Some(judge) => judge.clone(),
        None => Stockfish::find(None)
            .map_or_else(|_| "engine".parse(), |stockfish| Ok(stockfish.at_full_strength()))?,
    };
    let terms = args.filters.filter();
    let choice = args.choice.choice(args.games.pool, args.games.positions);
    let selected = select(&args.games.games, &choice, "positions that count", &|game| terms.count(game))?;
    let meter = Progress::of(selected.games.len() as u64, "games");
    let work = Workers { jobs: args.choice.jobs(), on_progress: &|more| meter.add(more) };
    let build = || {
        let engine: Spec = "engine".parse().map_err(|error| format!("{error}"))?;
        let make = |spec: &Spec| players.make(spec, 0).map_err(|error| format!("{error:#}"));
        let reviewer =
            Reviewer::new(make(&engine)?, Arc::clone(&human)).map_err(|error| error.to_string())?;
        Ok((reviewer, make(&judge)?))
    };
    let eval = BlunderEval {
        first_ply: terms.first_ply,
        per_game: args.per_game,
        limits: nodes(args.nodes),
        judge_limits: nodes(args.judge_nodes),
        build: &build,
    };
    let judged = eval.judge(&selected.games, &work)?;
    let spent = meter.finish();
    if let Some(path) = &args.choice.json {
        let terms = json!({
            "games": args.games.games,
            "held_out_ppm": args.choice.held_out,
            "filters": args.filters.json(),
            "per_game": args.per_game,
            "nodes": args.nodes,
            "judge": judge.to_string(),
            "judge_nodes": args.judge_nodes,
        });
        let report = BlunderReport::new(&judged);
        write_json(path, &json!({ "terms": terms, "report": report, "moves": judged }))?;
    }
    let positions: usize = judged.iter().map(Vec::len).sum();
    println!(
        "{} positions of {} games, judged by {judge}",
        HumanCount(positions as u64),
        HumanCount(selected.games.len() as u64)
    );
    println!("{}\n", args.games.pools_said(&pools(&selected.games)));
    eprintln!(
        "{:.0} s, {:.1} positions a second",
        spent.as_secs_f64(),
        positions as f64 / spent.as_secs_f64().max(1e-3)
    );
    Ok(judged)
}

fn print(report: &BlunderReport) {
    let names = [
        "rating",
        "positions",
        "errors",
        "predicted",
        "calibration error",
        "AUC",
        "points lost",
        "predicted",
    ];
    let mut rows = vec![head(&names)];
    rows.extend(report.groups.iter().map(|of| {
        vec![
            of.band.clone(),
            HumanCount(of.positions).to_string(),
            percent(of.errors),
            format!("{:.1}%", 100.0 * of.predicted),
            format!("{:.1}%", 100.0 * of.calibration.error),
            of.auc.map_or("-".to_owned(), |auc| format!("{auc:.3}")),
            format!("{:.2}", 100.0 * of.loss.value),
            format!("{:.2}", 100.0 * of.predicted_loss),
        ]
    }));
    println!("{}", aligned(&rows));
    let rest = &report.rest;
    println!(
        "\n{:.1}% of the moves were not looked at; {:.0}% of them are errors, and they lose {:.0}% of the winning chance.",
        100.0 * rest.share,
        100.0 * rest.errors,
        100.0 * rest.loss
    );
}
