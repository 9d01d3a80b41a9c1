//! Converts records written in chunks to a set.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};
use tabia_data::{RecordKey, RecordKind, Set, SetPlan, SetWriter, ShardOptions, SourceSummary, fingerprint};

/// Records in memory, sorted by key.
struct Records {
    bytes: Vec<u8>,
    /// Place of each record.
    places: Vec<(RecordKey, Range<usize>)>,
}

impl Records {
    /// Reads compressed frames of length-prefixed records; of equal ones the first.
    fn read(path: &Path, kind: RecordKind) -> Result<Records> {
        let file = File::open(path)?;
        let mut text = BufReader::with_capacity(1 << 16, zstd::Decoder::new(file)?);
        let (mut bytes, mut places) = (Vec::new(), Vec::new());
        let mut length = [0; 4];
        loop {
            match text.read_exact(&mut length) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error.into()),
            }
            let place = bytes.len()..bytes.len() + u32::from_le_bytes(length) as usize;
            bytes.resize(place.end, 0);
            let record = bytes.get_mut(place.clone()).context("a record beyond the memory")?;
            text.read_exact(record)?;
            places.push((kind.key(record)?, place));
        }
        places.sort_by_key(|(key, _)| *key);
        places.dedup_by_key(|(key, _)| *key);
        Ok(Records { bytes, places })
    }

    /// The records of one shard.
    fn of_shard<'a>(
        &'a self,
        plan: &'a SetPlan,
        shard: u32,
    ) -> impl Iterator<Item = (RecordKey, &'a [u8])> + 'a {
        let begin = self.places.partition_point(|(key, _)| plan.shard_of(*key) < shard);
        let end = self.places.partition_point(|(key, _)| plan.shard_of(*key) <= shard);
        self.places[begin..end].iter().map(|(key, place)| (*key, &self.bytes[place.clone()]))
    }
}

/// zstd level of shards, which are written once and read often.
const SET_ZSTD_LEVEL: i32 = 19;

/// The plan of a set of such records. `made_of` distinguishes the shards of other records.
pub(crate) fn plan(kind: RecordKind, shards: u32, made_of: &[&[u8]]) -> SetPlan {
    SetPlan {
        kind,
        shards,
        packing: ShardOptions { level: SET_ZSTD_LEVEL, ..ShardOptions::of(kind) },
        fingerprint: fingerprint(made_of.iter().copied()),
    }
}

/// Writes the records in `part` as a set in `dir`, with `jobs` threads.
pub(crate) fn make_set(
    part: &Path,
    dir: &Path,
    plan: SetPlan,
    jobs: usize,
    sources: Vec<SourceSummary>,
    options: BTreeMap<String, String>,
) -> Result<Set> {
    let records =
        Records::read(part, plan.kind).with_context(|| format!("{} cannot be read", part.display()))?;
    let writer = SetWriter::create(dir, plan)?;
    let next = AtomicU32::new(0);
    let pack = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= writer.plan().shards {
                return Ok(());
            }
            if writer.finished().contains_key(&number) {
                continue;
            }
            let mut shard = writer.shard(number)?;
            for (key, bytes) in records.of_shard(writer.plan(), number) {
                shard.push(key, bytes)?;
            }
            shard.finish()?;
        }
    };
    std::thread::scope(|scope| {
        let packers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(pack)).collect();
        packers.into_iter().try_for_each(|packer| packer.join().expect("a packer does not panic"))
    })?;
    Ok(writer.seal(sources, options)?)
}
