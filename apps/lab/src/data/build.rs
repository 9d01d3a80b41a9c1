//! `tabia-lab data build`: builds a set of shards from games or evaluations.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use futures::StreamExt;
use indicatif::HumanBytes;
use tabia_data::stats::{Category, Pool as CountedPool, Tally};
use tabia_data::{Faults, PoolRule, RecordKind, Set, SetPlan, SetWriter, ShardOptions, SourceSummary};
use tabia_query::cluster::{Cluster, SchedulerAddress};
use tabia_query::{
    BuildOptions, Reading, Resources, Session, TableSpec, Written, build_plan, share_of, write_batch,
};
use tabia_report::{Progress, grouped};
use tokio::runtime::Builder;

use super::building::Building;
use super::resources::ResourceArgs;
use super::sql::said;

const EXAMPLES: &str = "\
Examples:
  tabia-lab data build games/otb-rated.pgn.zst --pool over-the-board --out sets/otb
  tabia-lab data build games/ --out sets/strong --where \"white_elo > 2200 and black_elo > 2200 and plies >= 20\"
  tabia-lab data build lichess_db_eval.jsonl.zst --out sets/evals --shards 256 --memory 8G --temp /scratch
  tabia-lab data build lichess_db_eval.jsonl.zst --out sets/small --num-samples 1M --shards 2

The same records give the same shards in any order of input and with any number of threads. To resume an interrupted build,
run the same command: it reads its input again, but keeps finished shards.";

/// Build a set of shards from PGN, puzzles, engine evaluations or other sets.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct BuildArgs {
    /// Files, folders, sets, or - for standard input; .zst, .gz and .bz2 are decompressed.
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Folder of the set.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Kind of records, if the input has both.
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// Rating pool of PGN games; auto detects it from each game's tags and clocks, and prints the result.
    #[arg(long, value_name = "auto|lichess|chess.com|online|over-the-board|unknown", default_value = "auto")]
    pool: PoolRule,
    /// Number of shards.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=65536))]
    shards: u32,
    /// Filter of records: an SQL condition on the columns of `data sql`.
    #[arg(long = "where", value_name = "CONDITION")]
    filter: Option<String>,
    /// Share of the records to take, deterministically sampled: 0.1 is a tenth.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    sample: Option<f64>,
    /// Number of records to take, such as 1M, deterministically sampled. The input is read twice.
    #[arg(long, value_name = "N", value_parser = crate::command_line::count, conflicts_with = "sample")]
    num_samples: Option<u64>,
    /// Held-out records per million for trainers, stored in the set.
    #[arg(long, value_name = "PPM", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    held_out: u32,
    /// Build on a cluster with this scheduler. Its executors need the input under the same paths.
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
        Err("expected a number greater than 0 and at most 1".to_owned())
    }
}

pub(crate) fn run(args: &BuildArgs) -> Result<()> {
    if args.num_samples.is_some() && args.inputs.iter().any(|input| input.as_os_str() == "-") {
        bail!("--num-samples reads its input twice; standard input can be read once");
    }
    let tables = tables(args)?;
    let kind = tables.first().map_or(RecordKind::Games, |table| table.kind.records());
    // Shards depend on the records only; their inputs are kept beside them until the set is complete.
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
        eprintln!("keeping {kept} of {} shards of an earlier run", args.shards);
    }
    let session = Session::new(&resources).map_err(said)?;
    let total = tables.iter().map(TableSpec::bytes).sum();
    let done = building.key_ranges(&set);
    let mut build = BuildOptions { kind, tables, filter: args.filter.clone(), sample: args.sample, done };
    if let Some(count) = args.num_samples {
        eprintln!("finding a sample of {}", grouped(count));
        build.sample = Some(runtime.block_on(async {
            tokio::select! {
                share = sample_of(&resources, &build, count) => share,
                () = interrupted() => bail!(INTERRUPTED),
            }
        })?);
    }
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
    // Tasks must end before their temporary files are removed.
    runtime.shutdown_timeout(Duration::from_secs(10));
    let faults = all_faults(session.reading());
    outcome.inspect_err(|_| eprint!("{faults}"))?;
    if written.records == 0 && kept == 0 {
        eprint!("{faults}");
        match session.reading().rows() {
            0 => bail!("no records could be read; no set is written"),
            rows => bail!("the filter rejects all {rows} records; no set is written"),
        }
    }
    let set = set.finish(summaries(session.reading()), options)?;
    building.end()?;
    report(&set, session.reading(), &written, &faults, kept);
    Ok(())
}

/// The share that `count` records are of all, whichever are done already.
async fn sample_of(resources: &Resources, build: &BuildOptions, count: u64) -> Result<f64> {
    // What it reads is not counted.
    let session = Session::new(resources).map_err(said)?;
    let all = BuildOptions { done: Vec::new(), ..build.clone() };
    share_of(session.context(), &all, usize::try_from(count)?).await.map_err(said)
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
            bail!("no {wanted} in the input");
        }
    }
    if tables.windows(2).any(|pair| matches!(pair, [a, b] if a.kind.records() != b.kind.records())) {
        bail!("the input has games and evaluations: select --kind games or --kind evaluations");
    }
    Ok(tables)
}

/// The options in the set's manifest.
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
    if let Some(count) = args.num_samples {
        options.insert("num-samples".to_owned(), count.to_string());
    }
    options
}

const INTERRUPTED: &str = "interrupted; run the same command to resume";

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

/// The same on a cluster. The job is cancelled if the build is interrupted.
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

/// Waits for Ctrl-C or SIGTERM.
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
    // Without a signal handler, the build cannot be interrupted.
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
    let mut all: Vec<SourceSummary> = Vec::new();
    for (path, report) in reading.sources() {
        let name = source_name(&path);
        let faults = report.faults.iter();
        let broken = faults.map(|(kind, count)| (kind.describe().to_owned(), count.count));
        match all.iter_mut().find(|source| source.name == name) {
            Some(source) => {
                source.records += report.records;
                broken.for_each(|(kind, count)| *source.broken.entry(kind).or_default() += count);
            }
            None => all.push(SourceSummary { name, records: report.records, broken: broken.collect() }),
        }
    }
    all
}

/// A file by its name alone, a shard by that of its set.
fn source_name(path: &str) -> String {
    let file = Path::new(path);
    let set = file.parent().filter(|folder| folder.join("set.json").is_file());
    let name = set.unwrap_or(file).file_name();
    name.map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
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
    println!("read      {} {rows}", grouped(reading.rows()));
    println!("written   {} {of}, {} moves or labels", grouped(set.records()), grouped(set.positions()));
    let duplicates = written.copies - written.records;
    let since = if kept > 0 { " (in the shards of this run)" } else { "" };
    match set.kind() {
        RecordKind::Games => println!("removed   {} duplicates{since}", grouped(duplicates)),
        RecordKind::Evaluations => {
            println!("merged    {} lines of the same positions{since}", grouped(duplicates));
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
        println!("broken    {}:", grouped(faults.total()));
        print!("{faults}");
    }
}

/// Number of games by rating pool.
fn pools(counts: &Tally<CountedPool>) -> String {
    let met = counts.iter().filter(|(_, games)| *games > 0);
    let shown: Vec<String> =
        met.map(|(pool, games)| format!("{} {}", grouped(games), pool.label())).collect();
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

/// Shows the bytes read, then the shards written.
struct Meter {
    reading: Arc<Progress>,
    writing: OnceLock<Progress>,
    shards: u64,
    ended: Arc<AtomicBool>,
    ticker: Mutex<Option<JoinHandle<()>>>,
}

impl Meter {
    fn begin(reading: &Arc<Reading>, bytes: u64, shards: u32) -> Meter {
        let (progress, ended) = (Arc::new(Progress::of_bytes(bytes)), Arc::new(AtomicBool::new(false)));
        let ticker = std::thread::spawn({
            let (progress, reading, ended) = (Arc::clone(&progress), Arc::clone(reading), Arc::clone(&ended));
            move || {
                while !ended.load(Ordering::Relaxed) {
                    let (rows, faults) = (grouped(reading.rows()), grouped(reading.faults()));
                    progress.set(reading.bytes(), &format!("{rows} rows, {faults} faults"));
                    std::thread::park_timeout(Duration::from_millis(200));
                }
            }
        });
        let (writing, ticker) = (OnceLock::new(), Mutex::new(Some(ticker)));
        Meter { reading: progress, writing, shards: shards.into(), ended, ticker }
    }

    /// Everything is read, and `written` shards are written.
    fn shards(&self, written: usize) {
        self.end_reading();
        self.writing.get_or_init(|| Progress::of(self.shards, "shards")).set(written as u64, "");
    }

    fn end_reading(&self) {
        let Some(ticker) = self.ticker.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        self.ended.store(true, Ordering::Relaxed);
        ticker.thread().unpark();
        // A ticker that panicked has nothing more to show.
        let _ = ticker.join();
        self.reading.finish();
    }

    fn end(&self) {
        self.end_reading();
        if let Some(writing) = self.writing.get() {
            writing.finish();
        }
    }
}
