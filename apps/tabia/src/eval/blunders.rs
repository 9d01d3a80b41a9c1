//! `tabia eval blunders`: predicted errors of people against the judgement of a strong engine.

use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use indicatif::HumanCount;
use serde_json::json;
use tabia_cli::figures::percent;
use tabia_cli::{PlayerFactory, Stockfish, write_json};
use tabia_human_eval::{BlunderEval, BlunderReport, Workers};
use tabia_players::{Limits, Spec};
use tabia_practice::Reviewer;
use tabia_report::{Progress, aligned, head};

use super::args::{ChoiceArgs, GameArgs};
use super::filters::FilterArgs;
use super::games::{pools, select};

#[derive(Args)]
#[command(after_help = "Examples:
  tabia eval blunders sets/accounts --positions 40000
  tabia eval blunders games.pgn --pool lichess --judge engine,nodes=100000 --json blunders.json

An error loses 10 points of winning chance or more. The prediction is that of `tabia review`: the moves that the human
network expects at the mover's rating, and what the engine thinks of each. The judge is Stockfish, where it is installed.
docs/guides/evaluation.md explains the figures.")]
pub(crate) struct BlunderArgs {
    #[command(flatten)]
    games: GameArgs,
    #[command(flatten)]
    filters: FilterArgs,
    /// A human network [default: the bundled one].
    #[arg(long, value_name = "FILE")]
    model: Option<std::path::PathBuf>,
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
    #[command(flatten)]
    choice: ChoiceArgs,
}

pub(crate) fn run(args: &BlunderArgs) -> Result<()> {
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
    if judged.iter().all(Vec::is_empty) {
        bail!("no position was judged: players' ratings are needed");
    }
    let report = BlunderReport::new(&judged);
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
        write_json(path, &json!({ "terms": terms, "report": report, "moves": judged }))?;
    }
    let positions: usize = judged.iter().map(Vec::len).sum();
    println!(
        "{} positions of {} games, judged by {judge}",
        HumanCount(positions as u64),
        HumanCount(selected.games.len() as u64)
    );
    println!("{}\n", args.games.pools_said(&pools(&selected.games)));
    print(&report);
    eprintln!(
        "{:.0} s, {:.1} positions a second",
        spent.as_secs_f64(),
        positions as f64 / spent.as_secs_f64().max(1e-3)
    );
    Ok(())
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
