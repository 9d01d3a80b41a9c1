//! Reading a shard: the index at once, blocks when asked for.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

use super::layout::{
    BlockEntry, ENTRY_LEN, MAX_STREAM_LEN, PROLOGUE_LEN, STREAMS, ShardHead, ShardTotals, TAIL_LEN, Tail,
    read_prologue,
};
use super::{Block, ShardError, ShardFault};
use crate::RecordKind;

/// An open shard, which threads can share.
#[derive(Debug)]
pub struct Shard {
    path: PathBuf,
    file: File,
    kind: RecordKind,
    head: ShardHead,
    totals: ShardTotals,
    blocks: Vec<BlockEntry>,
    /// Number of records and positions before each block.
    before: Vec<(u64, u64)>,
}

impl Shard {
    /// Opens a shard and checks everything but its blocks, which are checked when they are read.
    ///
    /// # Errors
    /// If the file cannot be read, is not a shard, is of a later version, or is damaged.
    pub fn open(path: &Path) -> Result<Self, ShardError> {
        Self::open_file(path).map_err(|fault| fault.at(path))
    }

    fn open_file(path: &Path) -> Result<Self, ShardFault> {
        let file = File::open(path).map_err(ShardFault::io("open it"))?;
        let bytes = file.metadata().map_err(ShardFault::io("read its length"))?.len();
        let read = |offset: u64, len: u64| {
            let len = usize::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory));
            let mut buffer = vec![0; len.map_err(ShardFault::io("read it"))?];
            read_exact_at(&file, &mut buffer, offset).map_err(ShardFault::io("read it"))?;
            Ok::<_, ShardFault>(buffer)
        };
        let cut_off = || ShardFault::Damaged { what: "it is cut off" };

        let prologue = read(0, bytes.min(PROLOGUE_LEN as u64))?;
        let (kind, json_len) = read_prologue(&prologue)?;
        let head_len = (PROLOGUE_LEN + json_len) as u64;
        let tail_offset =
            bytes.checked_sub(TAIL_LEN as u64).filter(|&at| at >= head_len).ok_or_else(cut_off)?;
        let (tail, checksum) = Tail::read(&read(tail_offset, TAIL_LEN as u64)?)?;
        let head_bytes = read(0, head_len)?;
        if XxHash3_64::oneshot(&head_bytes) != tail.head_checksum {
            return Err(ShardFault::Damaged { what: "its head does not match its checksum" });
        }
        let head = head_bytes.get(PROLOGUE_LEN..).and_then(|json| serde_json::from_slice(json).ok());
        let head = head.ok_or(ShardFault::Damaged { what: "its head makes no sense" })?;

        let index_len = tail_offset.checked_sub(tail.index_offset).ok_or_else(cut_off)?;
        let index = read(tail.index_offset, index_len)?;
        if XxHash3_64::oneshot(&index) != tail.index_checksum {
            return Err(ShardFault::Damaged { what: "its index does not match its checksum" });
        }
        let (blocks, before) = read_index(&index, head_len, &tail)
            .ok_or(ShardFault::Damaged { what: "its index makes no sense" })?;
        let totals = ShardTotals { records: tail.records, positions: tail.positions, bytes, checksum };
        Ok(Shard { path: path.to_owned(), file, kind, head, totals, blocks, before })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the records are.
    pub fn kind(&self) -> RecordKind {
        self.kind
    }

    /// Which part of which build it is.
    pub fn head(&self) -> &ShardHead {
        &self.head
    }

    /// What it holds.
    pub fn totals(&self) -> ShardTotals {
        self.totals
    }

    /// The index.
    pub fn blocks(&self) -> &[BlockEntry] {
        &self.blocks
    }

    /// Reads and decompresses a block.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub fn block(&self, block: usize) -> Result<Block, ShardError> {
        self.read_block(block).map_err(|fault| fault.at(&self.path))
    }

    fn read_block(&self, number: usize) -> Result<Block, ShardFault> {
        let entry = self.blocks.get(number);
        let entry = entry.ok_or(ShardFault::Absent { what: "block", number: number as u64 })?;
        let damaged = |what: String| ShardFault::Block { block: number, what };
        let mut packed = vec![0; entry.len() as usize];
        read_exact_at(&self.file, &mut packed, entry.offset)
            .map_err(|error| damaged(format!("cannot read it: {error}")))?;
        if XxHash3_64::oneshot(&packed) != entry.checksum {
            return Err(damaged("it does not match its checksum".into()));
        }
        let mut streams: [Vec<u8>; STREAMS] = Default::default();
        let mut rest = packed.as_slice();
        for (stream, (packed_len, len)) in streams.iter_mut().zip(entry.streams) {
            let (here, after) = rest
                .split_at_checked(packed_len as usize)
                .ok_or_else(|| damaged("a stream is cut off".into()))?;
            rest = after;
            if packed_len > 0 {
                *stream = zstd::bulk::decompress(here, len as usize)
                    .map_err(|error| damaged(format!("cannot decompress it: {error}")))?;
            }
            if stream.len() != len as usize {
                return Err(damaged("a stream has another length than the index says".into()));
            }
        }
        let block = Block::new(self.kind, streams, entry.records)
            .map_err(|(record, error)| ShardFault::Record { block: number, record, error })?;
        if block.positions() != entry.positions {
            return Err(damaged("it has another number of positions than the index says".into()));
        }
        Ok(block)
    }

    /// The block with record `record` of the shard, and the record's number in it.
    pub(crate) fn block_of_record(&self, record: u64) -> Option<(usize, usize)> {
        if record >= self.totals.records {
            return None;
        }
        let block = self.before.partition_point(|&(records, _)| records <= record) - 1;
        Some((block, (record - self.before.get(block)?.0) as usize))
    }

    /// The block with position `position` of the shard, and the position's number in it.
    pub(crate) fn block_of_position(&self, position: u64) -> Option<(usize, u32)> {
        if position >= self.totals.positions {
            return None;
        }
        let block = self.before.partition_point(|&(_, positions)| positions <= position) - 1;
        Some((block, (position - self.before.get(block)?.1) as u32))
    }

    /// Number of records and positions before a block.
    pub(crate) fn before(&self, block: usize) -> Option<(u64, u64)> {
        self.before.get(block).copied()
    }

    /// Reads and decodes everything; checks that moves are legal and records in order.
    ///
    /// # Errors
    /// The first fault found.
    pub fn verify(&self) -> Result<(), ShardError> {
        let mut last: Option<crate::RecordKey> = None;
        for number in 0..self.blocks.len() {
            let block = self.block(number)?;
            for record in 0..block.len() {
                let decoded = match block.record(record) {
                    Some(Ok(super::Record::Game(game))) => game.decode().map(|_| game.key()),
                    Some(Ok(super::Record::Evaluation(evaluation))) => {
                        evaluation.decode().map(|_| evaluation.key())
                    }
                    Some(Err(error)) => Err(error),
                    None => break,
                };
                let fault = |error| ShardFault::Record { block: number, record, error }.at(&self.path);
                let key = decoded.map_err(fault)?;
                if last.is_some_and(|last| last >= key) {
                    let before = self.before(number).map_or(0, |(records, _)| records);
                    return Err(ShardFault::Order { record: before + record as u64 }.at(&self.path));
                }
                last = Some(key);
            }
        }
        Ok(())
    }
}

type Index = (Vec<BlockEntry>, Vec<(u64, u64)>);

/// Checks that blocks are contiguous between head and index; returns the counts before each.
fn read_index(index: &[u8], head_len: u64, tail: &Tail) -> Option<Index> {
    let (mut blocks, mut before) = (Vec::new(), Vec::new());
    let (mut offset, mut records, mut positions) = (head_len, 0u64, 0u64);
    if !index.len().is_multiple_of(ENTRY_LEN) {
        return None;
    }
    for bytes in index.chunks_exact(ENTRY_LEN) {
        let entry = BlockEntry::read(bytes)?;
        let too_long = entry.streams.iter().any(|&(packed, len)| packed.max(len) > MAX_STREAM_LEN);
        if entry.offset != offset || entry.records == 0 || too_long {
            return None;
        }
        before.push((records, positions));
        offset += entry.len();
        records += u64::from(entry.records);
        positions += u64::from(entry.positions);
        blocks.push(entry);
    }
    let fits = (offset, records, positions) == (tail.index_offset, tail.records, tail.positions);
    fits.then_some((blocks, before))
}

#[cfg(unix)]
fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, buffer, offset)?;
        let rest = std::mem::take(&mut buffer).get_mut(read..).filter(|_| read > 0);
        buffer = rest.ok_or(io::ErrorKind::UnexpectedEof)?;
        offset += read as u64;
    }
    Ok(())
}
