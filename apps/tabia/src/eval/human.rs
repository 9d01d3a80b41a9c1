//! `tabia eval human`: move-prediction accuracy of networks on human games.

use std::num::NonZeroU16;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use indicatif::HumanCount;
use serde_json::json;
use tabia_cli::figures::{nats, pace, percent, signed_nats, signed_percent};
use tabia_cli::{write_atomically, write_json};
use tabia_human_eval::{Comparison, EvalModel, Grouping, MoveGroup, MoveMetrics, MoveReport, Workers};
use tabia_report::{Progress, aligned, head};

use super::args::{ChoiceArgs, GameArgs, ModelArgs};
use super::filters::{FilterArgs, Protocol};
use super::games::{pools, select};
use super::plot;
use super::subjects::{Named, subjects};

#[derive(Args)]
#[command(after_help = "Examples:
  tabia eval human games.pgn
  tabia eval human online.pgn.zst --pool online --held-out --positions 20000 --by elo,phase,time
  tabia eval human sets/otb --held-out --model human --model human:new.safetensors --json figures.json
  tabia eval human games.pgn --model human --model maia:maia-1100.pb.gz --model maia:maia-1500.pb.gz --best maia
  tabia eval human lichess.pgn.zst --protocol maia --model human --model maia:maia1/ --model maia:maia3-5m.pt
  tabia eval human lichess.pgn.zst --protocol maia3 --min-clock any    Maia-3's protocol, whatever the clocks

The input of each network is everything the game states: both ratings and their pool, the time control, both clocks and the
moves so far. Only legal moves count. The 95% intervals are clustered by game. docs/guides/evaluation.md explains the figures.")]
pub(crate) struct HumanArgs {
    #[command(flatten)]
    games: GameArgs,
    /// Count the positions that a paper counts. Options below override its filters, `any` switches one off.
    #[arg(long, value_enum, value_name = "NAME")]
    protocol: Option<Protocol>,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    models: ModelArgs,
    /// Also report groups of positions [default: none; elo with --protocol].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "elo,phase,time,pool")]
    by: Vec<By>,
    /// Width of the rating bands of --by elo [default: 200, or the protocol's].
    #[arg(long, value_name = "POINTS")]
    band_width: Option<NonZeroU16>,
    /// Compare the first network with the best of those whose spec starts with PREFIX [default: the best of all others].
    #[arg(long, value_name = "PREFIX")]
    best: Option<String>,
    /// Plot top-1 accuracy by rating, the first network and the best other, as an SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    choice: ChoiceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// The rating of the side to move, in bands.
    Elo,
    /// Opening, middlegame, endgame, by the pieces left.
    Phase,
    /// Bullet, blitz, rapid, classical, by base + 40 increments.
    Time,
    /// Over the board, online, unknown.
    Pool,
}

impl By {
    fn grouping(self, width: NonZeroU16) -> Grouping {
        match self {
            By::Elo => Grouping::Elo { width },
            By::Phase => Grouping::Phase,
            By::Time => Grouping::Time,
            By::Pool => Grouping::Pool,
        }
    }
}

pub(crate) fn run(args: &HumanArgs) -> Result<()> {
    let named = subjects(&args.models.models)?;
    let rivals = rivals(&named, args.best.as_deref())?;
    let filters = args.filters.or(args.protocol.map(Protocol::filters).unwrap_or_default());
    let terms = filters.filter();
    let choice = args.choice.choice(args.games.pool, args.games.positions);
    let selected = select(&args.games.games, &choice, "positions that count", &|game| terms.count(game))?;
    let pools = pools(&selected.games);
    let subjects: Vec<EvalModel> = named.iter().map(|named| named.subject.clone()).collect();
    let by = args.groupings();
    let meter = Progress::of(selected.positions(), "positions");
    let work = Workers { jobs: args.choice.jobs(), on_progress: &|more| meter.add(more) };
    let report = MoveReport::new(&selected.games, &subjects, &terms, &by, &rivals, &work);
    let spent = meter.finish();
    let report = report?;
    if let Some(path) = &args.choice.json {
        let specs: Vec<&str> = named.iter().map(|named| named.spec.as_str()).collect();
        let mut terms = filters.json();
        terms["protocol"] = json!(args.protocol.map(Protocol::name));
        terms["games"] = json!(args.games.games);
        terms["held_out_ppm"] = json!(args.choice.held_out);
        write_json(path, &json!({ "terms": terms, "specs": specs, "pools": pools, "report": report }))?;
    }
    if let Some(path) = &args.plot {
        let picture = plot::svg("Move-prediction accuracy by rating", &report);
        write_atomically(path, picture.as_bytes())?;
    }
    let protocol = args.protocol.map_or(String::new(), |protocol| format!("protocol {}: ", protocol.name()));
    let selection = format!("{protocol}{filters}\n{}", args.games.pools_said(&pools));
    print(&report, &selection);
    eprintln!("{}", pace(selected.positions() * subjects.len() as u64, spent));
    Ok(())
}

impl HumanArgs {
    fn groupings(&self) -> Vec<Grouping> {
        let of_protocol = self.protocol.and_then(Protocol::band_width);
        let width = self.band_width.or(of_protocol).unwrap_or(Grouping::RATING_BAND);
        let mut by: Vec<Grouping> = self.by.iter().map(|by| by.grouping(width)).collect();
        let wants_bands = self.plot.is_some() || (self.protocol.is_some() && by.is_empty());
        let bands = Grouping::Elo { width };
        if wants_bands && !by.contains(&bands) {
            by.push(bands);
        }
        by
    }
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

fn print(report: &MoveReport, selection: &str) {
    let Some(all) = report.groups.first() else { return };
    println!("{} positions of {} games", HumanCount(all.positions), HumanCount(all.games));
    println!("{selection}\n");
    let mut rows =
        vec![head(&["model", "top-1", "top-5", "log-loss", "calibration", "overconfidence", "under 1%"])];
    for (model, figures) in report.models.iter().zip(&all.figures) {
        let MoveMetrics { top1, top5, log_loss, overconfidence, unlikely, calibration } = figures;
        rows.push(vec![
            model.clone(),
            percent(*top1),
            percent(*top5),
            nats(*log_loss),
            format!("{:.1}%", 100.0 * calibration.error),
            signed_percent(*overconfidence),
            percent(*unlikely),
        ]);
    }
    println!("{}", aligned(&rows));
    if let Some(comparison) = &all.comparison {
        println!("\n{}: {}", report.models[0], ahead(comparison));
    }
    for groups in report.groups[1..].chunk_by(|one, other| one.by == other.by) {
        println!("\n{}", bands(report, groups, "top-1", |of| percent(of.top1), |c| signed_percent(c.top1)));
        println!(
            "\n{}",
            bands(report, groups, "log-loss", |of| nats(of.log_loss), |c| signed_nats(c.log_loss))
        );
    }
}

/// A figure of each network by band, and how far the first is ahead of the best other.
fn bands(
    report: &MoveReport,
    groups: &[MoveGroup],
    title: &str,
    cell: fn(&MoveMetrics) -> String,
    ahead: fn(&Comparison) -> String,
) -> String {
    let by = groups.first().map_or("", |group| group.by.label());
    let mut names = vec![format!("{title} by {by}"), "positions".to_owned()];
    names.extend(report.models.iter().cloned());
    if report.models.len() > 1 {
        names.push("the first, against the best other".to_owned());
    }
    let row = |group: &MoveGroup| {
        let against = group.comparison.as_ref().map(|of| format!("{} ({})", ahead(of), of.best));
        let known = [group.band.clone(), HumanCount(group.positions).to_string()];
        known.into_iter().chain(group.figures.iter().map(cell)).chain(against).collect()
    };
    aligned(&std::iter::once(names).chain(groups.iter().map(row)).collect::<Vec<_>>())
}

fn ahead(comparison: &Comparison) -> String {
    let Comparison { best, top1, log_loss } = comparison;
    format!("{} top-1 and {} log-loss against {best}", signed_percent(*top1), signed_nats(*log_loss))
}
