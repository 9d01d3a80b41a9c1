//! `tabia-lab data verify`: checks the integrity and the splits of sets.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde::Serialize;
use tabia_data::stats::SetStats;
use tabia_data::verify::{
    Look, OPENING_PLIES, Problems, ShardFindings, Sieve, common_keys, look_at_shard, positions_met,
};
use tabia_data::{LabelStrategy, RecordKey, RecordKind, SetManifest, Shard, ShardSummary, Split, SplitBy};

use super::stats::{charts, text};
use rayon::prelude::*;
use tabia_report::{Progress, grouped, percent};

/// Maximum number of held-out positions that are looked up in training games.
const MOST_POSITIONS: u64 = 4_000_000;

/// Check sets: checksums, records, moves, counts, order, duplicates, and leaks between training and held-out records.
///
/// Exits with status 1 if there are problems.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tabia-lab data verify games
  tabia-lab data verify otb online --held-out 0.02 --seed 7
  tabia-lab data verify games --against test-games")]
pub(crate) struct VerifyArgs {
    /// Training sets.
    #[arg(required = true, value_name = "DIR")]
    sets: Vec<PathBuf>,
    /// Held-out sets.
    #[arg(long, value_name = "DIR")]
    against: Vec<PathBuf>,
    /// Share of held-out records, from 0 to 1.
    #[arg(long, default_value_t = 0.01, value_name = "SHARE", value_parser = share)]
    held_out: f64,
    /// Random seed of the split.
    #[arg(long, default_value_t = 0, value_name = "S")]
    seed: u64,
    /// Held-out records.
    #[arg(long, value_enum, default_value_t = By::Record)]
    by: By,
    /// Policy labels of evaluations: deepest, sessions, best or win-chance, with an optional temperature after a colon.
    #[arg(long, default_value_t, value_name = "STRATEGY")]
    labels: LabelStrategy,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum By {
    /// Records.
    Record,
    /// Players, so that none is on both sides.
    Player,
}

/// Parses a share.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "is not a number")?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err("must be from 0 to 1".to_owned()) }
}

/// The report.
#[derive(Serialize)]
struct Report {
    sets: Vec<SetReport>,
    /// Records in two sets.
    shared: Vec<Shared>,
    /// Training records that are also held out.
    leaks: u64,
    /// Held-out positions after the opening that occur in training games.
    overlap: Option<Overlap>,
    sound: bool,
}

#[derive(Serialize)]
struct SetReport {
    set: String,
    kind: RecordKind,
    records: u64,
    positions: u64,
    training: u64,
    held_out: u64,
    problems: Problems,
    stats: SetStats,
    #[serde(skip)]
    keys: Sides,
}

/// Sorted keys.
struct Sides {
    training: Vec<RecordKey>,
    held_out: Vec<RecordKey>,
}

#[derive(Serialize)]
struct Shared {
    sets: [String; 2],
    records: u64,
    /// Those that are training records of one and held out in the other.
    leaks: u64,
}

#[derive(Serialize)]
struct Overlap {
    from_ply: usize,
    /// One in this many positions was looked up.
    one_in: u64,
    held_out: u64,
    in_training: u64,
}

/// A set with the shards that could be opened.
struct Opened<'a> {
    dir: &'a Path,
    manifest: SetManifest,
    shards: Vec<Result<Shard, String>>,
    split: Split,
}

pub(crate) fn run(args: &VerifyArgs) -> Result<()> {
    let by = match args.by {
        By::Record => SplitBy::Record,
        By::Player => SplitBy::Player,
    };
    let held_out_ppm = (args.held_out * 1e6).round() as u32;
    let split = Split { seed: args.seed, held_out_ppm, by };
    let whole = Split { held_out_ppm: 1_000_000, ..split };
    let sets = args.sets.iter().map(|dir| (dir, split)).chain(args.against.iter().map(|dir| (dir, whole)));
    let sets: Vec<Opened<'_>> = sets.map(|(dir, split)| open(dir, split)).collect::<Result<_>>()?;
    let report = verify(&sets, args.labels);
    if args.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&report);
    }
    if report.sound { Ok(()) } else { bail!("problems found") }
}

fn open(dir: &Path, split: Split) -> Result<Opened<'_>> {
    let manifest = SetManifest::read(dir).context("not a set")?;
    let shards = manifest.shards.iter().map(|summary| {
        // A path could lead out of the set.
        match Path::new(&summary.file).components().count() {
            1 => Shard::open(&dir.join(&summary.file)).map_err(|error| error.to_string()),
            _ => Err(format!("{}: {:?} is not the name of a file in it", dir.display(), summary.file)),
        }
    });
    let shards = shards.collect();
    Ok(Opened { dir, manifest, shards, split })
}

fn verify(sets: &[Opened<'_>], labels: LabelStrategy) -> Report {
    let held_out_positions: u64 = sets
        .iter()
        .map(|set| (set.manifest.positions as f64 * f64::from(set.split.held_out_ppm) / 1e6) as u64)
        .sum();
    let sieve = Sieve::of_at_most(MOST_POSITIONS, held_out_positions);
    let progress = Progress::of(sets.iter().map(|set| set.manifest.records).sum(), "records");
    let mut held_out = HashMap::new();
    let reports: Vec<SetReport> = sets
        .iter()
        .map(|set| check(set, Look { split: set.split, labels, sieve }, &progress, &mut held_out))
        .collect();
    progress.finish();
    let overlap = overlap(sets, &held_out, sieve);

    let mut shared = Vec::new();
    let mut leaks = 0;
    for (index, one) in reports.iter().enumerate() {
        leaks += common_keys(&one.keys.training, &one.keys.held_out);
        for other in reports.iter().skip(index + 1).filter(|other| other.kind == one.kind) {
            let (a, b) = (&one.keys, &other.keys);
            let leaking = common_keys(&a.training, &b.held_out) + common_keys(&a.held_out, &b.training);
            let records =
                leaking + common_keys(&a.training, &b.training) + common_keys(&a.held_out, &b.held_out);
            leaks += leaking;
            if records > 0 {
                let sets = [one.set.clone(), other.set.clone()];
                shared.push(Shared { sets, records, leaks: leaking });
            }
        }
    }
    let sound = leaks == 0 && reports.iter().all(|report| report.problems.count == 0);
    Report { sets: reports, shared, leaks, overlap, sound }
}

/// Checks one set; `positions` counts the sampled positions of its held-out games.
fn check(set: &Opened<'_>, look: Look, progress: &Progress, positions: &mut HashMap<u64, u64>) -> SetReport {
    let of = set.shards.len() as u32;
    let jobs: Vec<(&Result<Shard, String>, &ShardSummary, u32)> = set
        .shards
        .iter()
        .zip(&set.manifest.shards)
        .zip(0..)
        .map(|((shard, summary), n)| (shard, summary, n))
        .collect();
    let look_at = |(shard, summary, number): &(&Result<Shard, String>, &ShardSummary, u32)| {
        let shard = shard.as_ref().map_err(Clone::clone)?;
        if shard.kind() != set.manifest.kind {
            return Err(format!("{}: holds {}", shard.path().display(), shard.kind()));
        }
        let findings = look_at_shard(shard, summary, (*number, of), &look);
        progress.add(summary.records);
        Ok(findings)
    };
    let found: Vec<Result<ShardFindings, String>> = jobs.par_iter().map(look_at).collect();
    let mut report = SetReport {
        set: set.dir.display().to_string(),
        kind: set.manifest.kind,
        records: 0,
        positions: 0,
        training: 0,
        held_out: 0,
        problems: Problems::default(),
        stats: SetStats::new(set.manifest.kind),
        keys: Sides { training: Vec::new(), held_out: Vec::new() },
    };
    for found in found {
        match found {
            Ok(found) => {
                report.problems.merge(found.problems);
                report.stats.merge(&found.stats);
                report.keys.training.extend(found.training);
                report.keys.held_out.extend(found.held_out);
                for hash in found.held_out_positions {
                    *positions.entry(hash).or_insert(0) += 1;
                }
            }
            Err(what) => report.problems.add(what),
        }
    }
    (report.training, report.held_out) =
        (report.keys.training.len() as u64, report.keys.held_out.len() as u64);
    report.records = report.training + report.held_out;
    report.positions = match &report.stats {
        SetStats::Games(stats) => stats.plies,
        SetStats::Evaluations(stats) => stats.positions,
    };
    for (what, have, want) in [
        ("records", report.records, set.manifest.records),
        ("positions", report.positions, set.manifest.positions),
    ] {
        if have != want {
            let set = &report.set;
            report.problems.add(format!("{set}: {have} {what} could be read, set.json says {want}"));
        }
    }
    report
}

fn overlap(sets: &[Opened<'_>], held_out: &HashMap<u64, u64>, sieve: Sieve) -> Option<Overlap> {
    if held_out.is_empty() {
        return None;
    }
    let games = sets.iter().filter(|set| set.manifest.kind == RecordKind::Games);
    let shards: Vec<(&Shard, Split)> =
        games.flat_map(|set| set.shards.iter().flatten().map(|shard| (shard, set.split))).collect();
    let records = shards.iter().map(|(shard, _)| shard.totals().records).sum();
    let progress = Progress::of(records, "records looked up");
    let wanted: HashSet<u64> = held_out.keys().copied().collect();
    let met = shards.par_iter().flat_map_iter(|(shard, split)| {
        let met = positions_met(shard, *split, &wanted);
        progress.add(shard.totals().records);
        met
    });
    let met: HashSet<u64> = met.collect();
    progress.finish();
    Some(Overlap {
        from_ply: OPENING_PLIES,
        one_in: sieve.one_in(),
        held_out: held_out.values().sum(),
        in_training: met.iter().filter_map(|hash| held_out.get(hash)).sum(),
    })
}

fn print(report: &Report) {
    for set in &report.sets {
        println!(
            "{}: {} records ({}), {} positions; {} to learn from, {} held out ({})",
            set.set,
            grouped(set.records),
            set.kind,
            grouped(set.positions),
            grouped(set.training),
            grouped(set.held_out),
            percent(set.held_out, set.records)
        );
        if set.kind == RecordKind::Evaluations {
            println!("\n{}", text(&charts(&set.stats)).trim_end());
        }
        if set.problems.count == 0 {
            println!("  all checksums, records, moves, counts and keys are valid");
        }
        for problem in &set.problems.named {
            println!("  WRONG {problem}");
        }
        let unnamed = set.problems.count - set.problems.named.len() as u64;
        if unnamed > 0 {
            println!("  WRONG and {} more", grouped(unnamed));
        }
    }
    for Shared { sets: [one, other], records, leaks } in &report.shared {
        println!("{one} and {other} share {} records", grouped(*records));
        if *leaks > 0 {
            println!(
                "  WRONG {} of them are in the training records of one and held out in the other",
                grouped(*leaks)
            );
        }
    }
    if report.leaks == 0 {
        println!("no record is on both sides of the split");
    }
    if let Some(Overlap { from_ply, one_in, held_out, in_training }) = &report.overlap {
        let sampled = if *one_in > 1 { format!(" (one in {one_in} looked up)") } else { String::new() };
        println!(
            "{} of {} held-out positions from ply {from_ply} on occur in training games too, {}{sampled}",
            grouped(*in_training),
            grouped(*held_out),
            percent(*in_training, *held_out)
        );
    }
}
