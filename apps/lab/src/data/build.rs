//! `tabia-lab data build`: files of games or evaluations become a set of shards.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use futures::StreamExt;
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};
use tabia_data::stats::{Category, Pool as CountedPool, Tally};
use tabia_data::{Faults, PoolRule, RecordKind, Set, SetPlan, SetWriter, ShardOptions, SourceSummary};
use tabia_query::cluster::{Cluster, SchedulerAddress};
use tabia_query::{BuildOptions, Reading, Session, TableSpec, Written, build_plan, write_batch};
use tokio::runtime::Builder;

use super::building::Building;
use super::resources::ResourceArgs;
use super::sql::said;

const EXAMPLES: &str = "\
Examples:
  tabia-lab data build games/otb-rated.pgn.zst --pool over-the-board --out sets/otb
  tabia-lab data build games/ --out sets/strong --where \"white_elo > 2200 and black_elo > 2200 and plies >= 20\"
  tabia-lab data build lichess_db_eval.jsonl.zst --out sets/evals --shards 256 --memory 8G --temp /scratch

The same records give the same shards, whatever the order of the input and the number of threads. Interrupted, the same
command goes on: it reads its input again, but finished shards are kept.";

/// Build a set of shards from PGN, puzzles, engine evaluations or other sets.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BuildArgs {
    /// Files, folders, sets, or - for standard input; .zst, .gz and .bz2 are read as they are.
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// The folder of the set.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// What to build, where the input holds both.
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// Whose scale the ratings of PGN games are on; auto goes by each game's tags and clocks, and says what it found.
    #[arg(long, value_name = "auto|online|over-the-board|unknown", default_value = "auto")]
    pool: PoolRule,
    /// Over how many files to spread the set.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65536))]
    shards: u32,
    /// Which records to take: a condition in SQL on the columns that `data sql` shows.
    #[arg(long = "where", value_name = "CONDITION")]
    filter: Option<String>,
    /// Which share of the records to take, the same ones every time: 0.1 is a tenth.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    sample: Option<f64>,
    /// How many records of a million trainers keep aside, written down in the set.
    #[arg(long, value_name = "PPM", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    held_out: u32,
    /// Let a cluster do the work: the address of its scheduler. Its executors have to see the input under the same paths.
    #[arg(long, value_name = "HOST:PORT")]
    cluster: Option<SchedulerAddress>,
    #[command(flatten)]
    resources: ResourceArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    Games,
    Evaluations,
}

fn share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if share > 0.0 && share <= 1.0 {
        Ok(share)
    } else {
        Err("a share is more than 0 and at most 1".to_owned())
    }
}

pub(crate) fn run(args: &BuildArgs) -> Result<()> {
    let tables = tables(args)?;
    let kind = tables.first().map_or(RecordKind::Games, |table| table.kind.records());
    // The shards are a function of the records alone; what they were made from is kept beside them until they are done.
    let plan =
        SetPlan { kind, shards: args.shards, packing: ShardOptions::of(kind), fingerprint: String::new() };
    let options = options(args, kind);
    let resources = args.resources.resources(|| args.out.clone());
    let runtime = Builder::new_multi_thread().worker_threads(resources.threads).enable_all().build()?;
    let cluster = match &args.cluster {
        Some(scheduler) => Some(runtime.block_on(Cluster::connect(scheduler.clone()))?),
        None => None,
    };
    let building = Building::begin(&args.out, &tables, &options, args.shards)?;
    let mut set = SetWriter::create(&args.out, plan)?;
    let kept = set.finished().len();
    if kept > 0 {
        eprintln!("{kept} of {} shards are kept from an earlier run", args.shards);
    }
    let session = Session::new(&resources).map_err(said)?;
    let total = tables.iter().map(TableSpec::bytes).sum();
    let done = building.key_ranges(&set);
    let build = BuildOptions { kind, tables, filter: args.filter.clone(), sample: args.sample, done };
    let mut written = Written::default();
    let meter = Meter::begin(session.reading(), total, args.shards);
    let outcome = runtime.block_on(async {
        match &cluster {
            Some(cluster) => {
                records_of_cluster(cluster, &session, &build, &mut set, &mut written, &meter).await
            }
            None => tokio::select! {
                outcome = records(&session, &build, &mut set, &mut written, &meter) => outcome,
                () = interrupted() => bail!(INTERRUPTED),
            },
        }
    });
    meter.end();
    // Tasks that still read or sort must be gone before their temporary files are.
    runtime.shutdown_timeout(Duration::from_secs(10));
    let faults = all_faults(session.reading());
    outcome.inspect_err(|_| eprint!("{faults}"))?;
    if written.records == 0 && kept == 0 {
        eprint!("{faults}");
        match session.reading().rows() {
            0 => bail!("nothing could be read; no set is written"),
            rows => bail!("none of the {rows} records read is taken; no set is written"),
        }
    }
    let set = set.finish(summaries(session.reading()), options)?;
    building.end()?;
    report(&set, session.reading(), &written, &faults, kept);
    Ok(())
}

/// The tables of the inputs, all of one kind of record.
fn tables(args: &BuildArgs) -> Result<Vec<TableSpec>> {
    let pool = match args.pool {
        PoolRule::Auto => None,
        PoolRule::Is(pool) => Some(pool),
    };
    let mut tables = Vec::new();
    for input in &args.inputs {
        tables.extend(TableSpec::find(input, pool)?);
    }
    let wanted = args.kind.map(|kind| match kind {
        Kind::Games => RecordKind::Games,
        Kind::Evaluations => RecordKind::Evaluations,
    });
    if let Some(wanted) = wanted {
        tables.retain(|table| table.kind.records() == wanted);
        if tables.is_empty() {
            bail!("the input holds no {wanted}");
        }
    }
    if tables.windows(2).any(|pair| matches!(pair, [a, b] if a.kind.records() != b.kind.records())) {
        bail!("the input holds games and evaluations: choose with --kind games or --kind evaluations");
    }
    Ok(tables)
}

/// What the set's manifest says of how it was built.
fn options(args: &BuildArgs, kind: RecordKind) -> BTreeMap<String, String> {
    let mut options = BTreeMap::from([("held-out-ppm".to_owned(), args.held_out.to_string())]);
    if kind == RecordKind::Games {
        options.insert("pool".to_owned(), args.pool.to_string());
    }
    if let Some(filter) = &args.filter {
        options.insert("where".to_owned(), filter.clone());
    }
    if let Some(sample) = args.sample {
        options.insert("sample".to_owned(), sample.to_string());
    }
    options
}

const INTERRUPTED: &str = "interrupted; the same command goes on from here";

async fn records(
    session: &Session,
    build: &BuildOptions,
    set: &mut SetWriter,
    written: &mut Written,
    meter: &Meter,
) -> Result<()> {
    let plan = build_plan(session.context(), build).await.map_err(said)?;
    let mut rows = Session::stream(plan).await.map_err(said)?;
    while let Some(batch) = rows.next().await {
        write_batch(&batch.map_err(said)?, set, written)?;
        meter.shards(set.finished().len());
    }
    Ok(())
}

/// The same, where executors do the reading and the sorting. They are told when nobody wants their work any more.
async fn records_of_cluster(
    cluster: &Cluster,
    session: &Session,
    build: &BuildOptions,
    set: &mut SetWriter,
    written: &mut Written,
    meter: &Meter,
) -> Result<()> {
    let context = cluster.context().await?;
    let plan = build_plan(&context, build).await.map_err(said)?;
    let mut job = cluster.run(&context, plan).await.map_err(said)?;
    let writing = async {
        while let Some(batch) = job.rows.next().await {
            write_batch(&batch.map_err(said)?, set, written)?;
            meter.shards(set.finished().len());
        }
        Ok(())
    };
    let outcome = tokio::select! {
        outcome = writing => outcome,
        () = interrupted() => Err(anyhow!(INTERRUPTED)),
    };
    match &outcome {
        Ok(()) => job.finish(session.reading()).await,
        Err(_) => job.cancel().await,
    }
    outcome
}

/// Waits for Ctrl-C or a request to end.
async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // Without a way to hear of it, the build runs to its end.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn all_faults(reading: &Reading) -> Faults {
    let mut all = Faults::default();
    for report in reading.sources().into_values() {
        all.merge(report.faults);
    }
    all
}

fn summaries(reading: &Reading) -> Vec<SourceSummary> {
    let summary = |(name, report): (String, tabia_query::SourceReport)| {
        let broken =
            report.faults.iter().map(|(kind, count)| (kind.describe().to_owned(), count.count)).collect();
        // The folder it was in says nothing about the records.
        let name =
            Path::new(&name).file_name().map_or(name.clone(), |file| file.to_string_lossy().into_owned());
        SourceSummary { name, records: report.records, broken }
    };
    reading.sources().into_iter().map(summary).collect()
}

fn report(set: &Set, reading: &Reading, written: &Written, faults: &Faults, kept: usize) {
    let rows = match set.kind() {
        RecordKind::Games => "games",
        RecordKind::Evaluations => "evaluation lines",
    };
    let of = match set.kind() {
        RecordKind::Games => "games",
        RecordKind::Evaluations => "positions",
    };
    let bytes: u64 = set.manifest().shards.iter().map(|shard| shard.bytes).sum();
    println!("read      {} {rows}", HumanCount(reading.rows()));
    println!("written   {} {of}, {} moves or labels", HumanCount(set.records()), HumanCount(set.positions()));
    let duplicates = written.copies - written.records;
    let since = if kept > 0 { " (in the shards of this run)" } else { "" };
    match set.kind() {
        RecordKind::Games => println!("removed   {} duplicates{since}", HumanCount(duplicates)),
        RecordKind::Evaluations => {
            println!("united    {} lines of the same positions{since}", HumanCount(duplicates));
        }
    }
    if set.kind() == RecordKind::Games {
        println!("pools     {}{since}", pools(&written.pools));
    }
    println!(
        "in        {} shards, {} in {}",
        set.manifest().shards.len(),
        HumanBytes(bytes),
        set.dir().display()
    );
    if faults.is_empty() {
        println!("broken    none");
    } else {
        println!("broken    {}:", HumanCount(faults.total()));
        print!("{faults}");
    }
}

/// How many games each rating pool has.
fn pools(counts: &Tally<CountedPool>) -> String {
    let met = counts.iter().filter(|(_, games)| *games > 0);
    let shown: Vec<String> =
        met.map(|(pool, games)| format!("{} {}", HumanCount(games), pool.label())).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

/// A bar on the terminal: first the bytes read, then the shards written.
struct Meter {
    bar: ProgressBar,
    shards: u32,
    ended: Arc<AtomicBool>,
    ticker: std::thread::JoinHandle<()>,
}

impl Meter {
    fn begin(reading: &Arc<Reading>, bytes: u64, shards: u32) -> Meter {
        let bar = ProgressBar::new(bytes);
        let style = "{elapsed_precise} {bar:30} {bytes}/{total_bytes} ({bytes_per_sec}, {eta} left) {msg}";
        bar.set_style(ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()));
        let ended = Arc::new(AtomicBool::new(false));
        let ticker = std::thread::spawn({
            let (bar, reading, ended) = (bar.clone(), Arc::clone(reading), Arc::clone(&ended));
            move || {
                while !ended.load(Ordering::Relaxed) {
                    bar.set_position(reading.bytes());
                    let (rows, faults) = (HumanCount(reading.rows()), HumanCount(reading.faults()));
                    bar.set_message(format!("{rows} rows, {faults} faults"));
                    std::thread::park_timeout(Duration::from_millis(200));
                }
            }
        });
        Meter { bar, shards, ended, ticker }
    }

    /// Everything is read, and so many shards are written.
    fn shards(&self, written: usize) {
        if !self.ended.swap(true, Ordering::Relaxed) {
            let style = "{elapsed_precise} {bar:30} {pos}/{len} shards ({eta} left)";
            self.bar.set_style(
                ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            self.bar.set_length(self.shards.into());
            self.bar.reset_eta();
        }
        self.bar.set_position(written as u64);
    }

    fn end(self) {
        self.ended.store(true, Ordering::Relaxed);
        self.ticker.thread().unpark();
        // A ticker that panicked has nothing more to show.
        let _ = self.ticker.join();
        self.bar.finish_and_clear();
    }
}
