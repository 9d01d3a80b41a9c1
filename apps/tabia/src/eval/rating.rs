//! `tabia eval rating`: how near ratings estimated from moves come to the ratings of players.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use indicatif::HumanCount;
use serde::Deserialize;
use serde_json::json;
use tabia_cli::write_json;
use tabia_encoding::RatingPool;
use tabia_human_eval::{RatingFilter, RatingGroup, RatingReport, SideEvidence, Workers, fit_ratings};
use tabia_practice::RatingModel;
use tabia_report::{Progress, aligned, head};

use super::args::{ChoiceArgs, GameArgs, ModelArgs};
use super::filters::FilterArgs;
use super::games::{pools, select};
use super::subjects::subjects;

#[derive(Args)]
#[command(after_help = "Examples:
  tabia eval rating sets/accounts
  tabia eval rating sets/otb --held-out --sides 200 --json rating.json
  tabia eval rating rating.json --fit

An estimate is made from 1, 5 and 20 games of one player, and compared with the mean rating in these games. --fit fits the
model to half of the players and reports on the other half. The JSON file of an earlier run can be given instead of games:
its evidence is used again. docs/guides/evaluation.md explains the figures.")]
pub(crate) struct RatingArgs {
    #[command(flatten)]
    games: GameArgs,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    models: ModelArgs,
    /// The most sides of games in each rating pool.
    #[arg(long, value_name = "N", default_value_t = 300)]
    sides: usize,
    /// The most moves of a player in a game.
    #[arg(long, value_name = "N", default_value_t = 40)]
    moves: usize,
    /// Fit the model to half of the players, print it, and report on the other half.
    #[arg(long)]
    fit: bool,
    #[command(flatten)]
    choice: ChoiceArgs,
}

pub(crate) fn run(args: &RatingArgs) -> Result<()> {
    let is_json = |file: &PathBuf| file.extension().is_some_and(|end| end == "json");
    let sides = if args.games.games.iter().all(is_json) { read(&args.games.games)? } else { evidence(args)? };
    let mut models: Vec<(RatingPool, RatingModel)> = Vec::new();
    let mut reported = sides.clone();
    if args.fit {
        // Players of even and odd hashes.
        let (fitted, rest): (Vec<SideEvidence>, _) = sides.iter().partition(|side| side.player % 2 == 0);
        let fit = |pool: RatingPool| Some((pool, fit_ratings(&fitted, pool)?));
        models = RatingPool::ALL.into_iter().filter_map(fit).collect();
        reported = rest;
    }
    let model = |pool: RatingPool| {
        let fitted = models.iter().find(|(of, _)| *of == pool).map(|(_, model)| *model);
        fitted.unwrap_or_else(|| RatingModel::of(pool))
    };
    let report = RatingReport::new(&reported, &model);
    if let Some(path) = &args.choice.json {
        let terms = json!({
            "games": args.games.games,
            "held_out_ppm": args.choice.held_out,
            "filters": args.filters.json(),
            "moves": args.moves,
            "sides": args.sides,
            "fit": args.fit,
        });
        let models: Vec<_> =
            models.iter().map(|(pool, model)| json!({ "pool": pool, "model": model })).collect();
        write_json(path, &json!({ "terms": terms, "models": models, "report": report, "sides": sides }))?;
    }
    let moves: u64 = sides.iter().map(|side| u64::from(side.evidence.moves)).sum();
    println!("{} moves of {} sides of games\n", HumanCount(moves), HumanCount(sides.len() as u64));
    for (pool, of) in &models {
        println!(
            "fitted for {}: told {:.0} + {:.1} x rating, tempering {:.1}, spread {:.0}, prior {:.0} ± {:.0}",
            pool.label(),
            of.offset,
            of.slope,
            of.tempering,
            of.spread,
            of.mean,
            of.deviation
        );
    }
    print(&report.groups);
    Ok(())
}

/// The evidence in the games.
fn evidence(args: &RatingArgs) -> Result<Vec<SideEvidence>> {
    let named = subjects(&args.models.models)?;
    let [named] = named.as_slice() else { bail!("--model: one network is evaluated at a time") };
    let terms = args.filters.filter();
    let choice = args.choice.choice(args.games.pool, args.games.positions);
    let selected = select(&args.games.games, &choice, "positions that count", &|game| terms.count(game))?;
    let filter = RatingFilter { first_ply: terms.first_ply, moves: args.moves, sides: args.sides };
    let sides = filter.select(&selected.games)?;
    if sides.is_empty() {
        bail!("there are no players with a rating from 600 to 2800");
    }
    println!("{}", args.games.pools_said(&pools(&selected.games)));
    let meter = Progress::of(sides.len() as u64, "sides");
    let work = Workers { jobs: args.choice.jobs(), on_progress: &|more| meter.add(more) };
    let evidence = filter.evidence(&selected.games, &sides, &named.subject, &work)?;
    let spent = meter.finish();
    eprintln!("{:.0} s", spent.as_secs_f64());
    Ok(evidence)
}

/// The evidence of earlier runs.
fn read(files: &[PathBuf]) -> Result<Vec<SideEvidence>> {
    #[derive(Deserialize)]
    struct Figures {
        sides: Vec<SideEvidence>,
    }
    let mut sides = Vec::new();
    for file in files {
        let at = || file.display().to_string();
        let text = std::fs::read(file).with_context(at)?;
        sides.extend(serde_json::from_slice::<Figures>(&text).with_context(at)?.sides);
    }
    Ok(sides)
}

fn print(groups: &[RatingGroup]) {
    let names =
        ["pool", "games", "players", "estimates", "mean error", "bias", "guessing", "95% covers", "width"];
    let mut rows = vec![head(&names)];
    rows.extend(groups.iter().map(|of| {
        vec![
            of.pool.map_or("all", RatingPool::label).to_owned(),
            of.games.to_string(),
            of.players.to_string(),
            of.estimates.to_string(),
            format!("{:.0}", of.error),
            format!("{:+.0}", of.bias),
            format!("{:.0}", of.baseline),
            format!("{:.1}%", 100.0 * of.coverage),
            format!("{:.0}", of.width),
        ]
    }));
    println!("{}", aligned(&rows));
}
