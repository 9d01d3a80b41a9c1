//! Building a set of files whose records fit in memory.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{Set, SetError, SetPlan, SetWriter, SourceSummary};
use crate::{
    BytesRead, Chunk, Chunks, Faults, GameRules, OpenError, RecordKey, RecordKind, ShardOptions, SourceFile,
};

/// Shards of a set that is built in memory, enough for as many lanes as a stream has.
const SHARDS: u32 = 8;

/// Poll interval while waiting for records.
const POLL: Duration = Duration::from_millis(100);

/// Why a set cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A file cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The set cannot be written.
    #[error(transparent)]
    Set(#[from] SetError),
    /// There is no record in the files.
    #[error("there are no games in {files}{}", if .faults.is_empty() { String::new() } else { format!(": {}", .faults) })]
    Nothing {
        /// Their names.
        files: String,
        /// What is wrong with what they hold.
        faults: Faults,
    },
    /// The caller stopped waiting.
    #[error("cancelled while building a set")]
    Cancelled,
}

/// A record's key and bytes.
type Keyed = (RecordKey, Vec<u8>);

/// What a chunk holds.
struct Part {
    source: usize,
    records: Vec<Keyed>,
    faults: Faults,
}

/// Builds a set of the games and puzzles of text files, whose records are all held in memory until they are sorted: about 150
/// bytes a game. The shards are those that `tabia-lab data build` writes of the same records. Games that cannot be read are
/// skipped and counted in the set.
///
/// `poll` is called several times a second with the bytes read so far, and can cancel.
///
/// # Errors
/// If a file cannot be opened, no file holds a game, the folder already holds a set or cannot be written to, or `poll`
/// cancels.
pub fn build_in_memory(
    dir: &Path,
    files: &[SourceFile],
    rules: &GameRules,
    threads: usize,
    poll: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<(Set, Faults), BuildError> {
    let kind = RecordKind::Games;
    let packing = ShardOptions::of(kind);
    // Before the work, so that an occupied folder is an error at once.
    let plan = SetPlan { kind, shards: SHARDS, packing, fingerprint: String::new() };
    let mut set = SetWriter::create(dir, plan)?;
    let mut sources: Vec<SourceSummary> = Vec::new();
    let mut faults = Faults::default();
    let mut records = Vec::new();
    collect(files, rules, threads, poll, &mut |part| {
        while sources.len() <= part.source {
            let name = files.get(sources.len()).map(|file| file.name.to_string()).unwrap_or_default();
            sources.push(SourceSummary { name, ..SourceSummary::default() });
        }
        if let Some(source) = sources.get_mut(part.source) {
            source.records += part.records.len() as u64;
            for (kind, count) in part.faults.iter() {
                *source.broken.entry(kind.describe().to_owned()).or_default() += count.count;
            }
        }
        records.extend(part.records);
        faults.merge(part.faults);
    })?;
    if records.is_empty() {
        let files = files.iter().map(|file| &*file.name).collect::<Vec<_>>().join(", ");
        return Err(BuildError::Nothing { files, faults });
    }
    // Records of one key must be in an order of their own, so that their union does not depend on the threads.
    records.sort_unstable();
    for same in records.chunk_by(|one, other| one.0 == other.0) {
        let Some((key, _)) = same.first() else { continue };
        let bytes = kind.unite(same.iter().map(|(_, bytes)| bytes.as_slice()));
        let bytes = bytes.map_err(|error| SetError::Record { path: dir.to_owned(), record: key.0, error })?;
        set.push(*key, &bytes)?;
    }
    let options = BTreeMap::from([("pool".to_owned(), rules.pool.to_string())]);
    Ok((set.finish(sources, options)?, faults))
}

/// Reads all files with some threads.
fn collect(
    files: &[SourceFile],
    rules: &GameRules,
    threads: usize,
    poll: &mut dyn FnMut(u64) -> ControlFlow<()>,
    each: &mut dyn FnMut(Part),
) -> Result<(), BuildError> {
    let read = BytesRead::default();
    for (source, file) in files.iter().enumerate() {
        let chunks = Mutex::new(Chunks::open(file, &read)?);
        let cancelled = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (sender, parts) = sync_channel::<Part>(threads.max(1));
            for _ in 0..threads.max(1) {
                let (sender, chunks, cancelled) = (sender.clone(), &chunks, &cancelled);
                scope.spawn(move || {
                    while !cancelled.load(Ordering::Relaxed) {
                        let chunk = chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some(chunk) = chunk else { return };
                        if sender.send(part(source, &chunk, rules)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            loop {
                match parts.recv_timeout(POLL) {
                    Ok(part) => each(part),
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if poll(read.get()).is_break() {
                    cancelled.store(true, Ordering::Relaxed);
                    return Err(BuildError::Cancelled);
                }
            }
        })?;
    }
    Ok(())
}

fn part(source: usize, chunk: &Chunk, rules: &GameRules) -> Part {
    let parsed = chunk.read(rules);
    let keyed = |record: &crate::GameRecord| {
        let bytes = record.to_bytes().ok()?;
        Some((RecordKind::Games.key(&bytes).ok()?, bytes))
    };
    Part { source, records: parsed.games.iter().filter_map(keyed).collect(), faults: parsed.faults }
}
