//! `tabia-lab data stats`: statistics of sets.

mod charts;
mod svg;
mod text;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Args;
use rayon::prelude::*;
use serde_json::json;
use tabia_data::stats::SetStats;
use tabia_data::{AnyRecord, LabelStrategy, Record, Set, Shard};
use tabia_report::Progress;

pub(super) use self::charts::charts;
pub(super) use self::text::text;
use crate::finished_file::write_whole;

/// Print statistics of sets: ratings, time controls, lengths, results; depths, lines and labels of evaluations.
///
/// Sets of the same kind are counted together.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tabia-lab data stats games
  tabia-lab data stats games --html games.html")]
pub(crate) struct StatsArgs {
    /// Folders of sets.
    #[arg(required = true, value_name = "DIR")]
    sets: Vec<PathBuf>,
    /// Write the charts as a standalone HTML page.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["svg", "json"])]
    html: Option<PathBuf>,
    /// Write the charts as SVG.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    svg: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Policy labels of evaluations: deepest, sessions, best or win-chance, with an optional temperature after a colon.
    #[arg(long, default_value_t, value_name = "STRATEGY")]
    labels: LabelStrategy,
}

pub(crate) fn run(args: &StatsArgs) -> Result<()> {
    let sets = args.sets.iter().map(|dir| Set::open(dir)).collect::<Result<Vec<_>, _>>()?;
    let kind = sets.first().context("no set")?.kind();
    ensure!(sets.iter().all(|set| set.kind() == kind), "the sets have different kinds of records");
    let progress = Progress::of(sets.iter().map(Set::records).sum(), "records");
    let shards: Vec<&Shard> = sets.iter().flat_map(Set::shards).collect();
    let parts: Vec<_> = shards.par_iter().map(|shard| count(shard, args.labels, &progress)).collect();
    progress.finish();
    let mut stats = SetStats::new(kind);
    for part in parts {
        stats.merge(&part?);
    }
    let names: Vec<String> = args.sets.iter().map(|dir| dir.display().to_string()).collect();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&json!({ "sets": names, "stats": stats }))?);
        return Ok(());
    }
    let (title, charts) = (names.join(", "), charts(&stats));
    let draw = |path: &Path, picture: String| {
        write_whole(path, picture.as_bytes())?;
        println!("{}", path.display());
        Ok(())
    };
    match (&args.html, &args.svg) {
        (Some(path), _) => draw(path, svg::html(&title, &charts)),
        (None, Some(path)) => draw(path, svg::svg(&title, &charts)),
        (None, None) => {
            print!("{title}\n\n{}", text(&charts));
            Ok(())
        }
    }
}

fn count(shard: &Shard, labels: LabelStrategy, progress: &Progress) -> Result<SetStats> {
    let mut stats = SetStats::new(shard.kind());
    for number in 0..shard.blocks().len() {
        let block = shard.block(number)?;
        for index in 0..block.len() {
            let record = match block.record(index) {
                Some(Ok(Record::Game(game))) => game.decode().map(AnyRecord::Game),
                Some(Ok(Record::Evaluation(record))) => record.decode().map(AnyRecord::Evaluation),
                Some(Err(error)) => Err(error),
                None => break,
            };
            let record = record
                .with_context(|| format!("{}: record {index} of block {number}", shard.path().display()))?;
            stats.add(&record, labels);
        }
        progress.add(block.len() as u64);
    }
    Ok(stats)
}
