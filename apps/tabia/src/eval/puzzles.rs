//! `tabia eval puzzles`: puzzle ratings of networks and players.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use indicatif::HumanCount;
use serde_json::json;
use tabia_cli::figures::{pace, percent};
use tabia_cli::{PlayerFactory, write_json};
use tabia_data::PoolRule;
use tabia_encoding::{Elo, RatingPool};
use tabia_human_eval::{
    EvalModel, PuzzleContext, PuzzleMetrics, PuzzlePlayer, PuzzleRating, PuzzleReport, Solver, Workers,
};
use tabia_players::{Player, Spec};
use tabia_report::{Progress, aligned, head};

use super::args::{ChoiceArgs, ModelArgs};
use super::games::select;
use super::subjects::{Named, subjects};

#[derive(Args)]
#[command(after_help = "Examples:
  tabia eval puzzles puzzles.epd.zst --held-out --puzzles 2000
  tabia eval puzzles lichess_db_puzzle.csv.zst --elo 1000,1400,1800,2200 --puzzles 5000
  tabia eval puzzles sets/puzzles --model human --model maia:maia-1900.pb.gz --json puzzles.json

A puzzle is solved if every move of the solver is correct; any mate is correct. The opponent plays the moves of the puzzle.
A network answers with its most likely moves; a human network is also evaluated as a player, with the sampling, search and
mate detection of its rating.

The puzzle rating assumes that a player rated R solves a puzzle rated P with probability 1 / (1 + 10^((P - R) / 400)). With
1000 puzzles it is accurate to about 25 points.")]
pub(crate) struct PuzzleArgs {
    /// Puzzles: EPD with `pv` or `bm` and the rating in `c0`, the Lichess puzzle table (also .zst, .gz, .bz2), or sets.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    models: ModelArgs,
    /// Evaluate the networks' most likely moves, the players, or both.
    #[arg(long, value_enum, default_value = "both")]
    by: Solvers,
    /// Ratings to evaluate, for networks that take a rating.
    #[arg(long, value_delimiter = ',', value_name = "ELO,...", default_value = "1000,1200,1400,1600,1800,2000,2200,2400", value_parser = clap::value_parser!(u16).range(100..=4000))]
    elo: Vec<u16>,
    /// Rating pool given to the network.
    #[arg(long, value_name = "online|over-the-board|puzzle|unknown", default_value = "online")]
    pool: RatingPool,
    /// Number of puzzles, sampled deterministically [default: all].
    #[arg(long, alias = "positions", value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    puzzles: Option<u64>,
    #[command(flatten)]
    choice: ChoiceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Solvers {
    Network,
    Player,
    Both,
}

pub(crate) fn run(args: &PuzzleArgs) -> Result<()> {
    let named = subjects(&args.models.models)?;
    let terms = PuzzleContext { pool: args.pool };
    let choice = args.choice.choice(PoolRule::Auto, args.puzzles);
    let selected = select(&args.files, &choice, "puzzles with a rating", &|game| terms.count(game))?;
    let asked = if args.by == Solvers::Player { &[][..] } else { &named[..] };
    let subjects: Vec<EvalModel> = asked.iter().map(|named| named.subject.clone()).collect();
    let ratings: Vec<Elo> = args.elo.iter().copied().map(Elo).collect();
    let playing = if args.by == Solvers::Network { &[][..] } else { &named[..] };
    let players = PlayerFactory::default();
    let makes: Vec<(String, Elo, Make<'_>)> = playing
        .iter()
        .flat_map(|named| {
            let players = &players;
            let rated =
                |&rating| Some((named.subject.name().to_owned(), rating, make(named, rating, players)?));
            ratings.iter().filter_map(rated).collect::<Vec<_>>()
        })
        .collect();
    let players: Vec<PuzzlePlayer<'_>> = makes
        .iter()
        .map(|(name, asked, make)| PuzzlePlayer { name: name.clone(), elo: *asked, build: make.as_ref() })
        .collect();
    if subjects.is_empty() && players.is_empty() {
        bail!("none of these is a human player: --by player needs human or human:FILE");
    }
    let meter = Progress::of(selected.positions(), "puzzles");
    let work = Workers { jobs: args.choice.jobs(), on_progress: &|more| meter.add(more) };
    let report = PuzzleReport::new(&selected.games, &subjects, &ratings, &players, &terms, &work);
    let spent = meter.finish();
    let report = report?;
    if let Some(path) = &args.choice.json {
        let specs: Vec<&str> = named.iter().map(|named| named.spec.as_str()).collect();
        let terms =
            json!({ "files": args.files, "held_out_ppm": args.choice.held_out, "pool": args.pool.name() });
        write_json(path, &json!({ "terms": terms, "specs": specs, "report": report }))?;
    }
    print(&report);
    eprintln!("{}", pace(report.puzzles * report.figures.len() as u64, spent));
    Ok(())
}

/// More would not fit beside each other.
const MOST_COLUMNS: usize = 8;

/// Makes a player from a seed.
type Make<'a> = Box<dyn Fn(u64) -> Result<Box<dyn Player>, String> + Sync + 'a>;

/// How the player of a rating is made, if the spec is one that plays at ratings.
fn make<'a>(named: &Named, rating: Elo, players: &'a PlayerFactory) -> Option<Make<'a>> {
    let mut spec: Spec = named.spec.parse().ok()?;
    *spec.rating_mut()? = Some(rating);
    Some(Box::new(move |seed| players.make(&spec, seed).map_err(|error| format!("{error:#}"))))
}

fn print(report: &PuzzleReport) {
    println!("{} puzzles, rated {:.0} on average\n", HumanCount(report.puzzles), report.mean_rating);
    let names: Vec<String> = report.figures.iter().map(name).collect();
    let mut rows = vec![head(&["model", "solved", "first move", "puzzle rating"])];
    for (name, figures) in names.iter().zip(&report.figures) {
        let rating = figures.rating.as_ref().map_or("unknown".to_owned(), in_words);
        rows.push(vec![name.clone(), percent(figures.solved), percent(figures.first_move), rating]);
    }
    println!("{}", aligned(&rows));
    let Some(first) = report.figures.first() else { return };
    if names.len() > MOST_COLUMNS {
        println!("\nHow many of easy and hard ones each solves: --json FILE, or fewer --elo at a time.");
        return;
    }
    let mut rows = vec![[head(&["solved by", "puzzles"]), names].concat()];
    for (number, band) in first.bands.iter().enumerate() {
        let solved = report.figures.iter().filter_map(|figures| figures.bands.get(number));
        let known = [band.band.clone(), HumanCount(band.puzzles).to_string()];
        rows.push(known.into_iter().chain(solved.map(|band| percent(band.solved))).collect());
    }
    println!("\n{}", aligned(&rows));
}

fn name(figures: &PuzzleMetrics) -> String {
    match figures.elo {
        Some(asked) if figures.solver == Solver::Player => format!("{} plays {asked}", figures.model),
        Some(asked) => format!("{} at {asked}", figures.model),
        None => figures.model.clone(),
    }
}

fn in_words(rating: &PuzzleRating) -> String {
    let number = |number: Option<f64>| number.map_or("?".to_owned(), |number| format!("{number:.0}"));
    let PuzzleRating { rating, low, high } = *rating;
    match (rating, low, high) {
        (Some(rating), ..) => format!("{rating:.0} [{}, {}]", number(low), number(high)),
        (None, Some(low), _) => format!("above {low:.0}: all were solved"),
        (None, None, high) => format!("below {}: none was solved", number(high)),
    }
}
