//! `tabia eval human`: move-prediction accuracy of networks on human games.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use indicatif::HumanCount;
use serde_json::json;
use tabia_cli::figures::{nats, pace, percent, signed_nats, signed_percent, width};
use tabia_cli::{write_atomically, write_json};
use tabia_data::PoolRule;
use tabia_human_eval::{
    Comparison, EvalModel, Grouping, MoveFilter, MoveGroup, MoveMetrics, MoveReport, Speed, Workers,
};
use tabia_report::Progress;

use super::args::{ChoiceArgs, ModelArgs, pools_said};
use super::games::{pools, select};
use super::plot;
use super::subjects::{Named, subjects};

#[derive(Args)]
#[command(after_help = "Examples:
  tabia eval human games.pgn
  tabia eval human online.pgn.zst --pool online --held-out --positions 20000 --by elo,phase,time
  tabia eval human sets/otb --held-out --model human --model human:new.safetensors --json figures.json
  tabia eval human games.pgn --model human --model maia:maia-1100.pb.gz --model maia:maia-1500.pb.gz --best maia
  tabia eval human lichess.pgn.zst --speed blitz,rapid,classical --min-clock 30    Maia's protocol

The input of each network is everything the game states: both ratings and their pool, the time control, both clocks and the
moves so far. Only legal moves count. The 95% intervals are clustered by game. docs/guides/evaluation.md explains the figures.")]
pub(crate) struct HumanArgs {
    /// PGN files (also .zst, .gz, .bz2), folders of them, sets, or - for standard input.
    #[arg(required = true, value_name = "GAMES")]
    games: Vec<PathBuf>,
    #[command(flatten)]
    models: ModelArgs,
    /// Also report groups of positions.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "elo,phase,time,pool")]
    by: Vec<By>,
    /// Compare the first network with the best of those whose spec starts with PREFIX [default: the best of all others].
    #[arg(long, value_name = "PREFIX")]
    best: Option<String>,
    /// Skip positions before this ply.
    #[arg(long, value_name = "PLY", default_value_t = 10)]
    first_ply: u32,
    /// Skip positions where the side to move has less time left, or an unknown time.
    #[arg(long, value_name = "SECONDS")]
    min_clock: Option<u64>,
    /// Skip positions where the side to move has more time left, or an unknown time.
    #[arg(long, value_name = "SECONDS")]
    max_clock: Option<u64>,
    /// Only games of these speeds: bullet, blitz, rapid, classical, unknown.
    #[arg(long, value_delimiter = ',', value_name = "SPEED,...")]
    speed: Vec<Speed>,
    /// Rating pool of PGN games; auto detects it from each game's tags and clocks, and prints the result.
    #[arg(long, value_name = "auto|online|over-the-board|unknown", default_value = "auto")]
    pool: PoolRule,
    /// Use games with about N positions, sampled deterministically [default: all].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    positions: Option<u64>,
    /// Plot top-1 accuracy by rating, the first network and the best other, as an SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    choice: ChoiceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// The rating of the side to move, in bands of 200.
    Elo,
    /// Opening, middlegame, endgame, by the pieces left.
    Phase,
    /// Bullet, blitz, rapid, classical, by base + 40 increments.
    Time,
    /// Over the board, online, unknown.
    Pool,
}

impl By {
    fn grouping(self) -> Grouping {
        match self {
            By::Elo => Grouping::Elo,
            By::Phase => Grouping::Phase,
            By::Time => Grouping::Time,
            By::Pool => Grouping::Pool,
        }
    }
}

pub(crate) fn run(args: &HumanArgs) -> Result<()> {
    let named = subjects(&args.models.models)?;
    let rivals = rivals(&named, args.best.as_deref())?;
    let terms = MoveFilter {
        first_ply: args.first_ply,
        min_clock: args.min_clock.map(Duration::from_secs),
        max_clock: args.max_clock.map(Duration::from_secs),
        speeds: args.speed.iter().copied().collect(),
    };
    let choice = args.choice.choice(args.pool, args.positions);
    let selected = select(&args.games, &choice, "positions that count", &|game| terms.count(game))?;
    let pools = pools(&selected.games);
    let subjects: Vec<EvalModel> = named.iter().map(|named| named.subject.clone()).collect();
    let mut by: Vec<Grouping> = args.by.iter().map(|by| by.grouping()).collect();
    if args.plot.is_some() && !by.contains(&Grouping::Elo) {
        by.push(Grouping::Elo);
    }
    let meter = Progress::of(selected.positions(), "positions");
    let work = Workers { jobs: args.choice.jobs(), on_progress: &|more| meter.add(more) };
    let report = MoveReport::new(&selected.games, &subjects, &terms, &by, &rivals, &work);
    let spent = meter.finish();
    let report = report?;
    if let Some(path) = &args.choice.json {
        let specs: Vec<&str> = named.iter().map(|named| named.spec.as_str()).collect();
        let value = json!({
            "terms": {
                "games": args.games,
                "held_out_ppm": args.choice.held_out,
                "first_ply": args.first_ply,
                "min_clock_seconds": args.min_clock,
                "max_clock_seconds": args.max_clock,
                "speeds": args.speed.iter().map(|speed| speed.label()).collect::<Vec<_>>(),
            },
            "specs": specs,
            "pools": pools,
            "report": report,
        });
        write_json(path, &value)?;
    }
    if let Some(path) = &args.plot {
        let picture = plot::svg("Move-prediction accuracy by rating", &report);
        write_atomically(path, picture.as_bytes())?;
    }
    print(&report, &pools_said(args.pool, &pools, &args.games));
    eprintln!("{}", pace(selected.positions() * subjects.len() as u64, spent));
    Ok(())
}

/// The numbers of the networks that the first is compared with.
fn rivals(named: &[Named], prefix: Option<&str>) -> Result<Vec<usize>> {
    let others = named.iter().enumerate().skip(1);
    let fits = others.filter(|(_, named)| prefix.is_none_or(|prefix| named.spec.starts_with(prefix)));
    let rivals: Vec<usize> = fits.map(|(number, _)| number).collect();
    match prefix {
        Some(prefix) if rivals.is_empty() => {
            bail!("--best {prefix}: no --model after the first begins so")
        }
        _ => Ok(rivals),
    }
}

fn print(report: &MoveReport, pools: &str) {
    let Some(all) = report.groups.first() else { return };
    println!("{} positions of {} games", HumanCount(all.positions), HumanCount(all.games));
    println!("{pools}\n");
    let wide = report.models.iter().map(String::len).max().unwrap_or(0).max("model".len());
    println!(
        "{:wide$}  {:>20}  {:>20}  {:>14}  {:>11}  {:>14}  {:>20}",
        "model", "top-1", "top-5", "log-loss", "calibration", "overconfidence", "under 1%"
    );
    for (model, figures) in report.models.iter().zip(&all.figures) {
        let MoveMetrics { top1, top5, log_loss, overconfidence, unlikely, calibration } = figures;
        println!(
            "{model:wide$}  {:>20}  {:>20}  {:>14}  {:>11}  {:>14}  {:>20}",
            percent(*top1),
            percent(*top5),
            nats(*log_loss),
            format!("{:.1}%", 100.0 * calibration.error),
            signed_percent(*overconfidence),
            percent(*unlikely),
        );
    }
    if let Some(comparison) = &all.comparison {
        println!("\n{}: {}", report.models[0], ahead(comparison));
    }
    for groups in report.groups[1..].chunk_by(|one, other| one.by == other.by) {
        for (title, cell) in [("top-1", top1_cell as fn(&MoveMetrics) -> String), ("log-loss", log_loss_cell)]
        {
            println!();
            print_bands(report, groups, title, cell);
        }
    }
}

fn print_bands(report: &MoveReport, groups: &[MoveGroup], title: &str, cell: fn(&MoveMetrics) -> String) {
    let by = groups.first().map_or("", |group| group.by.label());
    let first = format!("{title} by {by}");
    print!("{first:22} {:>9}", "positions");
    let columns: Vec<Vec<String>> = (0..report.models.len())
        .map(|number| groups.iter().filter_map(|group| group.figures.get(number)).map(cell).collect())
        .collect();
    let widths: Vec<usize> =
        report.models.iter().zip(&columns).map(|(model, cells)| width(cells).max(model.len())).collect();
    for (model, width) in report.models.iter().zip(&widths) {
        print!("  {model:>width$}");
    }
    println!("{}", if report.models.len() > 1 { "  the first, against the best other" } else { "" });
    for (row, group) in groups.iter().enumerate() {
        print!("{:22} {:>9}", group.band, HumanCount(group.positions).to_string());
        for (cells, width) in columns.iter().zip(&widths) {
            print!("  {:>width$}", cells.get(row).map_or("", String::as_str));
        }
        let against = group.comparison.as_ref().map_or(String::new(), |comparison| {
            let difference = if title == "top-1" {
                signed_percent(comparison.top1)
            } else {
                signed_nats(comparison.log_loss)
            };
            format!("  {difference} ({})", comparison.best)
        });
        println!("{against}");
    }
}

fn top1_cell(figures: &MoveMetrics) -> String {
    percent(figures.top1)
}

fn log_loss_cell(figures: &MoveMetrics) -> String {
    nats(figures.log_loss)
}

fn ahead(comparison: &Comparison) -> String {
    let Comparison { best, top1, log_loss } = comparison;
    format!("{} top-1 and {} log-loss against {best}", signed_percent(*top1), signed_nats(*log_loss))
}
