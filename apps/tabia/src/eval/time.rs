//! `tabia eval time`: how near networks come to the time people take.

use anyhow::{Result, bail};
use clap::Args;
use indicatif::HumanCount;
use serde_json::json;
use tabia_cli::figures::{nats, pace};
use tabia_cli::write_json;
use tabia_human_eval::{EvalModel, TimeGroup, TimePredictor, TimeReport, Workers};
use tabia_report::{Progress, aligned, head};

use super::args::{ChoiceArgs, GameArgs, ModelArgs};
use super::filters::FilterArgs;
use super::games::{pools, select};
use super::subjects::subjects;

#[derive(Args)]
#[command(after_help = "Examples:
  tabia eval time online.pgn.zst --pool online --held-out --positions 5000
  tabia eval time sets/online --speed blitz,rapid --model human --model human:new.safetensors

Needs games with clocks ([%clk]) and a time control. The baselines are a constant time, a constant share of the
clock and one fixed distribution, each fitted to these games by speed. docs/guides/evaluation.md explains the figures.")]
pub(crate) struct TimeArgs {
    #[command(flatten)]
    games: GameArgs,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    choice: ChoiceArgs,
}

pub(crate) fn run(args: &TimeArgs) -> Result<()> {
    let named = subjects(&args.models.models)?;
    if let Some(silent) = named.iter().find(|named| !named.subject.predicts_time()) {
        bail!("{}: the network has no think-time head", silent.spec);
    }
    let terms = args.filters.filter();
    let choice = args.choice.choice(args.games.pool, args.games.positions);
    let selected =
        select(&args.games.games, &choice, "moves with clocks", &|game| TimeReport::count(&terms, game))?;
    let pools = pools(&selected.games);
    let subjects: Vec<EvalModel> = named.iter().map(|named| named.subject.clone()).collect();
    let meter = Progress::of(selected.positions(), "moves");
    let work = Workers { jobs: args.choice.jobs(), on_progress: &|more| meter.add(more) };
    let report = TimeReport::new(&selected.games, &subjects, &terms, &work);
    let spent = meter.finish();
    let report = report?;
    if let Some(path) = &args.choice.json {
        let specs: Vec<&str> = named.iter().map(|named| named.spec.as_str()).collect();
        let mut terms = args.filters.json();
        terms["games"] = json!(args.games.games);
        terms["held_out_ppm"] = json!(args.choice.held_out);
        write_json(path, &json!({ "terms": terms, "specs": specs, "pools": pools, "report": report }))?;
    }
    println!(
        "{} moves of {} games",
        HumanCount(selected.positions()),
        HumanCount(selected.games.len() as u64)
    );
    println!("{}", args.games.pools_said(&pools));
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
    let mut rows = vec![head(&["", "log-loss", "ranked score", "distance", "in seconds", "median", "mean"])];
    rows.extend(figures.iter().map(|of| {
        vec![
            name(&of.predictor),
            of.log_loss.map_or("-".to_owned(), nats),
            nats(of.ranked_score),
            format!("{:.3}", of.distance),
            format!("{:.2} s", of.distance_seconds),
            format!("{:.2} s", of.median_seconds),
            format!("{:.1} s", of.mean_seconds),
        ]
    }));
    println!("{}", aligned(&rows));
}
