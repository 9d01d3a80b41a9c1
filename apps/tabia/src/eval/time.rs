//! `tabia eval time`: how near networks come to the time people take.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use indicatif::HumanCount;
use serde_json::json;
use tabia_human_eval::{MoveTerms, Speed, Subject, Teller, TimeGroup, TimeReport, Work};

use super::args::{ChoiceArgs, ModelArgs, PoolName};
use super::games::{pools, select};
use super::shown::{nats, pace};
use super::subjects::subjects;
use crate::arena::write_json;
use tabia_report::Progress;

#[derive(Args)]
#[command(after_help = "Examples:
  tabia eval time online.pgn.zst --pool online --held-out --positions 5000
  tabia eval time sets/online --speed blitz,rapid --model human --model human:new.safetensors

Needs games with clocks ([%clk]) and a time control. The networks are compared with a constant time, a constant share of the
clock and the same chances for every move, all three the best there are for these very games and each speed. docs/guides/evaluation.md explains the figures.")]
pub(crate) struct TimeArgs {
    /// PGN files (also .zst, .gz, .bz2), folders of them, sets, or - for standard input.
    #[arg(required = true, value_name = "GAMES")]
    games: Vec<PathBuf>,
    #[command(flatten)]
    models: ModelArgs,
    /// Leave out positions with fewer moves, of both sides, before them.
    #[arg(long, value_name = "PLY", default_value_t = 10)]
    first_ply: u32,
    /// Only games of these speeds: bullet, blitz, rapid, classical.
    #[arg(long, value_delimiter = ',', value_name = "SPEED,...")]
    speed: Vec<Speed>,
    /// Whose scale the ratings of PGN games are on; auto goes by each game's tags and clocks, and says what it found.
    #[arg(long, value_enum, default_value = "auto")]
    pool: PoolName,
    /// Enough games for so many moves, at random by the games' keys, the same ones every time [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    positions: Option<u64>,
    #[command(flatten)]
    choice: ChoiceArgs,
}

pub(crate) fn run(args: &TimeArgs) -> Result<()> {
    let named = subjects(&args.models.models)?;
    if let Some(silent) = named.iter().find(|named| !named.subject.tells_time()) {
        bail!("{}: the network has no think-time head", silent.spec);
    }
    let speeds = args.speed.iter().copied().collect();
    let terms = MoveTerms { first_ply: args.first_ply, min_clock: None, max_clock: None, speeds };
    let choice = args.choice.choice(args.pool.rule(), args.positions);
    let selected =
        select(&args.games, &choice, "moves with clocks", &|game| TimeReport::count(&terms, game))?;
    let pools = pools(&selected.games);
    let subjects: Vec<Subject> = named.iter().map(|named| named.subject.clone()).collect();
    let meter = Progress::of(selected.positions(), "moves");
    let work = Work { jobs: args.choice.jobs(), done: &|more| meter.add(more) };
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
    println!("{}", args.pool.said(&pools, &args.games));
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
    let name = |teller: &Teller| match teller {
        Teller::Network(name) => name.clone(),
        Teller::Constant => "constant time".to_owned(),
        Teller::ClockShare => "share of the clock".to_owned(),
        Teller::Marginal => "same chances".to_owned(),
    };
    let wide = figures.iter().map(|of| name(&of.teller).len()).max().unwrap_or(0);
    println!(
        "  {:wide$}  {:>14}  {:>14}  {:>8}  {:>10}  {:>8}  {:>8}",
        "", "log-loss", "ranked score", "distance", "in seconds", "median", "mean"
    );
    for of in figures {
        let log_loss = of.log_loss.map_or("-".to_owned(), nats);
        println!(
            "  {:wide$}  {log_loss:>14}  {:>14}  {:>8.3}  {:>10}  {:>8}  {:>8}",
            name(&of.teller),
            nats(of.ranked_score),
            of.distance,
            format!("{:.2} s", of.distance_seconds),
            format!("{:.2} s", of.median_seconds),
            format!("{:.1} s", of.mean_seconds)
        );
    }
}
