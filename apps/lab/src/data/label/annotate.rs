//! `tabia-lab data annotate`: adds engine evaluations to games.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use shakmaty::{Chess, Position};
use tabia_data::{
    GameBytes, GameRecord, Record, RecordKey, RecordKind, Set, SetPlan, SetWriter, Shard, ShardHead,
    ShardOptions, ShardWriter, SourceSummary, fingerprint,
};

use super::engine::EngineArgs;
use super::heed_ctrl_c;
use super::session::Labeller;
use super::work::MOST_FAULTS_IN_A_ROW;
use tabia_report::Progress;

/// Games per chunk; finished chunks are kept if the command is interrupted.
const CHUNK: usize = 128;

/// Evaluate the positions of games with a UCI engine, and write the games with the evaluations.
///
/// An annotated set takes two to three bytes per position, rows of evaluations about thirty; use it to label many positions
/// for value networks. To resume a stopped or killed run, run the same command.
#[derive(Args)]
#[command(after_help = "\
Example:
  tabia-lab data annotate sets/games --sample 0.1 --nodes 1000 --out sets/annotated")]
pub(crate) struct AnnotateArgs {
    /// A set of games.
    #[arg(value_name = "SET")]
    set: PathBuf,
    /// Folder of the annotated set.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    engine: EngineArgs,
    /// Which positions to evaluate.
    #[arg(long, value_enum, default_value_t = Positions::NoControl)]
    positions: Positions,
    /// Share of the games to annotate, sampled at random.
    #[arg(long, default_value_t = 1.0, value_name = "P", value_parser = super::share)]
    sample: f64,
    /// Random seed of the sample.
    #[arg(long, default_value_t = 0, value_name = "S")]
    seed: u64,
    /// Time limit; the set then has the games finished so far. 0 completes it with the games of earlier runs.
    #[arg(long, value_name = "N")]
    max_seconds: Option<u64>,
    /// Number of shards.
    #[arg(long, default_value_t = 8, value_name = "N")]
    shards: u32,
}

/// Which positions of a game are evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Positions {
    /// Quiet positions: not in check, and the move played is no capture or promotion.
    NoControl,
    /// All.
    All,
}

/// Games in the order of their keys.
type Chunk = Vec<(RecordKey, Vec<u8>)>;

pub(crate) fn run(args: &AnnotateArgs) -> Result<()> {
    let set = Set::open(&args.set)?;
    ensure!(set.kind() == RecordKind::Games, "{} is not a set of games", args.set.display());
    ensure!(
        !args.out.join("set.json").exists(),
        "{} already holds a set; remove it or choose another folder",
        args.out.display()
    );
    let first = args.engine.start()?;
    let plan = plan(args, &set, first.name())?;
    let chunks = sampled(&set, args)?;
    let parts = args.out.join("parts");
    std::fs::create_dir_all(&parts).with_context(|| format!("cannot create {}", parts.display()))?;
    let stop = Arc::new(AtomicBool::new(false));
    heed_ctrl_c(&stop)?;
    let work = Work {
        plan: &plan,
        parts: &parts,
        positions: args.positions,
        chunks: &chunks,
        next: AtomicUsize::new(0),
        faults: AtomicU64::new(0),
        interrupted: &stop,
        deadline: args.max_seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds)),
        progress: Progress::new("games"),
    };
    work.progress.set_total(chunks.iter().map(|chunk| chunk.len() as u64).sum());
    let done = work.run(first, args);
    work.progress.finish();
    done?;
    if stop.load(Ordering::Relaxed) {
        bail!("stopped; run the same command to resume");
    }
    let faults = work.faults.load(Ordering::Relaxed);
    let finished: Vec<usize> = (0..chunks.len()).filter(|&number| work.finished(number).is_some()).collect();
    if finished.is_empty() {
        bail!("no game was finished in time; no set is written");
    }
    let plan = SetPlan { fingerprint: fingerprint_of_parts(&plan, &finished, chunks.len()), ..plan.clone() };
    unite(args, plan, &parts, &finished, faults)
}

/// Distinguishes the shards of sets with different parts.
fn fingerprint_of_parts(plan: &SetPlan, finished: &[usize], all: usize) -> String {
    if finished.len() == all {
        return plan.fingerprint.clone();
    }
    let numbers: Vec<u8> = finished.iter().flat_map(|&number| (number as u64).to_le_bytes()).collect();
    fingerprint([plan.fingerprint.as_bytes(), &numbers])
}

/// Fingerprint of the input, the engine and its options.
fn plan(args: &AnnotateArgs, set: &Set, engine: &str) -> Result<SetPlan> {
    let shards = set.manifest().shards.iter().map(|shard| shard.checksum.as_str()).collect::<String>();
    let what = format!(
        "{shards} {engine} {:?} {} {:?} {} {}",
        args.engine.launch()?.options,
        args.engine.go(),
        args.positions,
        args.sample,
        args.seed
    );
    let kind = RecordKind::Games;
    let fingerprint = fingerprint([what.as_bytes()]);
    Ok(SetPlan { kind, shards: args.shards, packing: ShardOptions::of(kind), fingerprint })
}

/// The games to annotate. Sampling depends only on a game's key and the seed.
fn sampled(set: &Set, args: &AnnotateArgs) -> Result<Vec<Chunk>> {
    let mut chunks = vec![Chunk::new()];
    for entry in set.iter() {
        let (key, bytes) = entry?;
        let mut draw = fastrand::Rng::with_seed(key.0 ^ args.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if draw.f64() >= args.sample {
            continue;
        }
        if chunks.last().is_some_and(|chunk| chunk.len() == CHUNK) {
            chunks.push(Chunk::new());
        }
        chunks.last_mut().expect("there is always a chunk").push((key, bytes));
    }
    Ok(chunks)
}

/// State shared by the engines.
struct Work<'a> {
    plan: &'a SetPlan,
    parts: &'a Path,
    positions: Positions,
    chunks: &'a [Chunk],
    next: AtomicUsize,
    faults: AtomicU64,
    interrupted: &'a AtomicBool,
    deadline: Option<Instant>,
    progress: Progress,
}

impl Work<'_> {
    fn run(&self, first: Labeller, args: &AnnotateArgs) -> Result<()> {
        let mut first = Some(first);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..args.engine.jobs())
                .map(|_| {
                    let first = first.take();
                    scope.spawn(move || {
                        let engine = first.map_or_else(|| args.engine.start(), Ok);
                        let annotated = engine.and_then(|engine| self.annotate_chunks(&engine));
                        if annotated.is_err() {
                            self.interrupted.store(true, Ordering::Relaxed);
                        }
                        annotated
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
        })
    }

    fn is_over(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn annotate_chunks(&self, engine: &Labeller) -> Result<()> {
        let mut faults_in_a_row = 0;
        while !self.is_over() {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = self.chunks.get(number) else { break };
            if self.finished(number).is_some() {
                self.progress.skip(chunk.len() as u64);
                continue;
            }
            engine.forget();
            let mut annotated = Vec::with_capacity(chunk.len());
            for (_, bytes) in chunk {
                let mut game = GameBytes::parse(bytes)?.decode()?;
                self.annotate(engine, &mut game, &mut faults_in_a_row)?;
                annotated.push(game.to_bytes()?);
                self.progress.add(1);
                if self.interrupted.load(Ordering::Relaxed) {
                    return Ok(());
                }
            }
            let path = part_path(self.parts, number);
            let mut writer =
                ShardWriter::create(&path, RecordKind::Games, &self.head(number), self.plan.packing)?;
            for bytes in &annotated {
                writer.push(bytes)?;
            }
            writer.finish()?;
        }
        Ok(())
    }

    /// The head of a part has the fingerprint of the work, so that parts of other work are not reused.
    fn head(&self, number: usize) -> ShardHead {
        let shards = u32::try_from(self.chunks.len()).unwrap_or(u32::MAX);
        ShardHead {
            fingerprint: self.plan.fingerprint.clone(),
            shard: u32::try_from(number).unwrap_or(u32::MAX),
            shards,
        }
    }

    fn finished(&self, number: usize) -> Option<Shard> {
        Shard::open(&part_path(self.parts, number)).ok().filter(|part| *part.head() == self.head(number))
    }

    fn annotate(&self, engine: &Labeller, game: &mut GameRecord, faults_in_a_row: &mut u32) -> Result<()> {
        let mut position = game.start.clone();
        for ply in 0..game.plies.len() {
            position.play_unchecked(game.plies[ply].played);
            let next = game.plies.get(ply + 1).map(|next| next.played);
            let quiet = !position.is_check() && next.is_some_and(|m| !m.is_capture() && !m.is_promotion());
            game.plies[ply].evaluation = None;
            if (self.positions == Positions::All || quiet) && has_moves(&position) {
                match engine.ask(&position) {
                    Ok(findings) => {
                        game.plies[ply].evaluation = findings.lines.first().map(|line| line.score);
                        *faults_in_a_row = 0;
                    }
                    Err(fault) => {
                        self.faults.fetch_add(1, Ordering::Relaxed);
                        *faults_in_a_row += 1;
                        if *faults_in_a_row == MOST_FAULTS_IN_A_ROW {
                            bail!("no answer to {MOST_FAULTS_IN_A_ROW} positions in a row: {fault}");
                        }
                        self.progress.say(&format!("a position without an answer: {fault}"));
                    }
                }
            }
        }
        Ok(())
    }
}

fn has_moves(position: &Chess) -> bool {
    !position.legal_moves().is_empty()
}

fn part_path(parts: &Path, number: usize) -> PathBuf {
    parts.join(format!("part-{number:06}.tabia"))
}

/// Merges the finished parts into a set, and removes them.
fn unite(args: &AnnotateArgs, plan: SetPlan, parts: &Path, finished: &[usize], faults: u64) -> Result<()> {
    let mut writer = SetWriter::create(&args.out, plan)?;
    let (mut games, mut positions) = (0_u64, 0_u64);
    for &number in finished {
        let path = part_path(parts, number);
        let part = Shard::open(&path)?;
        for block in 0..part.blocks().len() {
            let block = part.block(block)?;
            for record in 0..block.len() {
                let (Some(Ok(Record::Game(game))), Some(bytes)) = (block.record(record), block.bytes(record))
                else {
                    bail!("{} is damaged; remove it and run the command again", path.display());
                };
                positions +=
                    game.decode()?.plies.iter().filter(|ply| ply.evaluation.is_some()).count() as u64;
                games += 1;
                writer.push(game.key(), &bytes)?;
            }
        }
    }
    let source =
        SourceSummary { name: args.set.display().to_string(), records: games, broken: BTreeMap::new() };
    let options = BTreeMap::from([
        ("engine".to_owned(), args.engine.command()),
        ("limits".to_owned(), args.engine.go().to_string()),
        ("positions".to_owned(), format!("{:?}", args.positions).to_lowercase()),
        ("evaluated".to_owned(), positions.to_string()),
    ]);
    writer.finish(vec![source], options)?;
    std::fs::remove_dir_all(parts).with_context(|| format!("cannot remove {}", parts.display()))?;
    println!(
        "{}: {games} games, {positions} positions evaluated, {faults} without an answer",
        args.out.display()
    );
    Ok(())
}
