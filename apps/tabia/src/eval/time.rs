//! `tabia eval time`: how near networks come to the time people take.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use indicatif::HumanCount;
use serde_json::json;
use tabia_cli::figures::{nats, pace};
use tabia_cli::write_json;
use tabia_data::PoolRule;
use tabia_human_eval::{EvalModel, MoveFilter, Speed, TimeGroup, TimePredictor, TimeReport, Workers};
use tabia_report::Progress;

use super::args::{ChoiceArgs, ModelArgs, pools_said};
use super::games::{pools, select};
use super::subjects::subjects;

#[derive(Args)]
#[command(after_help = "Examples:
  tabia eval time online.pgn.zst --pool online --held-out --positions 5000
  tabia eval time sets/online --speed blitz,rapid --model human --model human:new.safetensors

Needs games with clocks ([%clk]) and a time control. The baselines are a constant time, a constant share of the
clock and one fixed distribution, each fitted to these games by speed. docs/guides/evaluation.md explains the figures.")]
pub(crate) struct TimeArgs {
    /// PGN files (also .zst, .gz, .bz2), folders of them, sets, or - for standard input.
    #[arg(required = true, value_name = "GAMES")]
    games: Vec<PathBuf>,
    #[command(flatten)]
    models: ModelArgs,
    /// Skip positions before this ply.
    #[arg(long, value_name = "PLY", default_value_t = 10)]
    first_ply: u32,
    /// Only games of these speeds: bullet, blitz, rapid, classical.
    #[arg(long, value_delimiter = ',', value_name = "SPEED,...")]
    speed: Vec<Speed>,
    /// Rating pool of PGN games; auto detects it from each game's tags and clocks, and prints the result.
    #[arg(long, value_name = "auto|online|over-the-board|unknown", default_value = "auto")]
    pool: PoolRule,
    /// Use games with about N moves, sampled deterministically [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    positions: Option<u64>,
    #[command(flatten)]
    choice: ChoiceArgs,
}

pub(crate) fn run(args: &TimeArgs) -> Result<()> {
    let named = subjects(&args.models.models)?;
    if let Some(silent) = named.iter().find(|named| !named.subject.predicts_time()) {
        bail!("{}: the network has no think-time head", silent.spec);
    }
    let speeds = args.speed.iter().copied().collect();
    let terms = MoveFilter { first_ply: args.first_ply, min_clock: None, max_clock: None, speeds };
    let choice = args.choice.choice(args.pool, args.positions);
    let selected =
        select(&args.games, &choice, "moves with clocks", &|game| TimeReport::count(&terms, game))?;
    let pools = pools(&selected.games);
    let subjects: Vec<EvalModel> = named.iter().map(|named| named.subject.clone()).collect();
    let meter = Progress::of(selected.positions(), "moves");
    let work = Workers { jobs: args.choice.jobs(), on_progress: &|more| meter.add(more) };
    let report = TimeReport::new(&selected.games, &subjects, &terms, &work);
    let spent = meter.finish();
    let report = report?;
    if let Some(path) = &args.choice.json {
        let specs: Vec<&str> = named.iter().map(|named| named.spec.as_str()).collect();
        let terms = json!({
            "games": args.games,
            "held_out_ppm": args.choice.held_out,
            "first_ply": args.first_ply,
            "speeds": args.speed.iter().map(|speed| speed.label()).collect::<Vec<_>>(),
        });
        write_json(path, &json!({ "terms": terms, "specs": specs, "pools": pools, "report": report }))?;
    }
    println!(
        "{} moves of {} games",
        HumanCount(selected.positions()),
        HumanCount(selected.games.len() as u64)
    );
    println!("{}", pools_said(args.pool, &pools, &args.games));
    for group in &report.groups {
        print(group);
    }
    eprintln!("{}", pace(selected.positions() * subjects.len() as u64, spent));
    Ok(())
}

fn print(group: &TimeGroup) {
    let TimeGroup { group, moves, mean_seconds, median_seconds, figures } = group;
    let count = HumanCount(*moves);
    println!("\n{group}: {count} moves, median {median_seconds:.2} s, mean {mean_seconds:.1} s");
    let name = |predictor: &TimePredictor| match predictor {
        TimePredictor::Network(name) => name.clone(),
        TimePredictor::Constant => "constant time".to_owned(),
        TimePredictor::ClockShare => "share of the clock".to_owned(),
        TimePredictor::Marginal => "same chances".to_owned(),
    };
    let wide = figures.iter().map(|of| name(&of.predictor).len()).max().unwrap_or(0);
    println!(
        "  {:wide$}  {:>14}  {:>14}  {:>8}  {:>10}  {:>8}  {:>8}",
        "", "log-loss", "ranked score", "distance", "in seconds", "median", "mean"
    );
    for of in figures {
        let log_loss = of.log_loss.map_or("-".to_owned(), nats);
        println!(
            "  {:wide$}  {log_loss:>14}  {:>14}  {:>8.3}  {:>10}  {:>8}  {:>8}",
            name(&of.predictor),
            nats(of.ranked_score),
            of.distance,
            format!("{:.2} s", of.distance_seconds),
            format!("{:.2} s", of.median_seconds),
            format!("{:.1} s", of.mean_seconds)
        );
    }
}
