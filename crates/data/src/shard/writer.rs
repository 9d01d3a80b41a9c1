//! Writing a shard: to a temporary name until it is complete.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_64;

use super::block::lengths;
use super::layout::{BlockEntry, STREAMS, ShardHead, ShardTotals, Tail, write_prologue};
use super::{ShardError, ShardFault};
use crate::{RecordError, RecordKind};

/// Block size and compression of a shard. They change its bytes, not its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardOptions {
    /// Records per block.
    pub block_records: u32,
    /// zstd level, from 1 to 22.
    pub level: i32,
}

impl ShardOptions {
    /// The defaults: blocks of 256 games or 4,096 positions, level 3.
    pub fn of(kind: RecordKind) -> Self {
        let block_records = match kind {
            RecordKind::Games => 256,
            RecordKind::Evaluations => 4096,
        };
        ShardOptions { block_records, level: 3 }
    }
}

/// Writes one shard. The same records give the same bytes.
///
/// Until [`finish`](ShardWriter::finish) the file has `.part` at the end of its name; dropping the writer removes it.
pub struct ShardWriter {
    path: PathBuf,
    part: PathBuf,
    /// `None` once finished.
    file: Option<BufWriter<File>>,
    compressor: zstd::bulk::Compressor<'static>,
    kind: RecordKind,
    options: ShardOptions,
    streams: [Vec<u8>; STREAMS],
    block: BlockEntry,
    written: u64,
    head_checksum: u64,
    index: Vec<u8>,
    blocks: usize,
    records: u64,
    positions: u64,
    packed: Vec<u8>,
}

impl ShardWriter {
    /// Starts the shard at `path`.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(
        path: &Path,
        kind: RecordKind,
        head: &ShardHead,
        options: ShardOptions,
    ) -> Result<Self, ShardError> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(|error| ShardFault::io("create it")(error).at(&part))?;
        let compressor = zstd::bulk::Compressor::new(options.level);
        let compressor = compressor.map_err(|error| ShardFault::io("set up zstd")(error).at(path))?;
        let json = serde_json::to_vec(head).expect("texts and numbers always have a JSON form");
        let prologue = write_prologue(kind, &json);
        let mut writer = ShardWriter {
            path: path.to_owned(),
            part,
            file: Some(BufWriter::with_capacity(1 << 18, file)),
            compressor,
            kind,
            options,
            streams: Default::default(),
            block: BlockEntry::default(),
            written: 0,
            head_checksum: XxHash3_64::oneshot(&prologue),
            index: Vec::new(),
            blocks: 0,
            records: 0,
            positions: 0,
            packed: Vec::new(),
        };
        writer.write(&prologue)?;
        Ok(writer)
    }

    /// Adds a record's bytes.
    ///
    /// # Errors
    /// If they are not the bytes of a record, or the file cannot be written.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ShardError> {
        let fault =
            |error| ShardFault::Record { block: self.blocks, record: self.block.records as usize, error };
        let (lengths, positions) = lengths(self.kind, bytes).map_err(|error| fault(error).at(&self.path))?;
        let total: usize = lengths.iter().sum();
        if total != bytes.len() {
            let error = match bytes.len().checked_sub(total) {
                Some(by) => RecordError::Long { by },
                None => RecordError::Short { what: "a record" },
            };
            return Err(fault(error).at(&self.path));
        }
        let mut rest = bytes;
        for (stream, length) in self.streams.iter_mut().zip(lengths) {
            let (here, after) = rest.split_at(length);
            stream.extend_from_slice(here);
            rest = after;
        }
        self.block.records += 1;
        self.block.positions += positions;
        if self.block.records >= self.options.block_records {
            self.end_block()?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), ShardError> {
        if self.block.records == 0 {
            return Ok(());
        }
        let mut block = std::mem::take(&mut self.block);
        let mut packed = std::mem::take(&mut self.packed);
        packed.clear();
        for (stream, entry) in self.streams.iter_mut().zip(&mut block.streams) {
            if stream.is_empty() {
                continue;
            }
            let pressed = self.compressor.compress(stream);
            let pressed =
                pressed.map_err(|error| ShardFault::io("compress a block")(error).at(&self.path))?;
            packed.extend_from_slice(&pressed);
            *entry = (pressed.len() as u32, stream.len() as u32);
            stream.clear();
        }
        block.offset = self.written;
        block.checksum = XxHash3_64::oneshot(&packed);
        self.write(&packed)?;
        self.packed = packed;
        block.write(&mut self.index);
        self.blocks += 1;
        self.records += u64::from(block.records);
        self.positions += u64::from(block.positions);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), ShardError> {
        let file = self.file.as_mut().expect("only `finish`, which takes the writer, ends the file");
        file.write_all(bytes).map_err(|error| ShardFault::io("write to it")(error).at(&self.part))?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Writes the rest and renames the file.
    ///
    /// # Errors
    /// If the file cannot be written; then there is no file at the path.
    pub fn finish(mut self) -> Result<ShardTotals, ShardError> {
        self.end_block()?;
        let index = std::mem::take(&mut self.index);
        let tail = Tail {
            index_offset: self.written,
            records: self.records,
            positions: self.positions,
            head_checksum: self.head_checksum,
            index_checksum: XxHash3_64::oneshot(&index),
        };
        let tail = tail.to_bytes();
        self.write(&index)?;
        self.write(&tail)?;
        let (_, checksum) = Tail::read(&tail).map_err(|fault| fault.at(&self.part))?;
        let totals =
            ShardTotals { records: self.records, positions: self.positions, bytes: self.written, checksum };
        let file = self.file.take().expect("only this function, which takes the writer, ends the file");
        put_in_place(file, &self.part, &self.path).map_err(|fault| {
            // Failing to remove the partial file does not change the error.
            let _ = fs::remove_file(&self.part);
            fault.at(&self.path)
        })?;
        Ok(totals)
    }
}

impl Drop for ShardWriter {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // The next writer of this name replaces the file.
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// Flushes a file to disk, then renames it.
fn put_in_place(file: BufWriter<File>, part: &Path, path: &Path) -> Result<(), ShardFault> {
    let file = file.into_inner().map_err(|error| ShardFault::io("write to it")(error.into_error()))?;
    file.sync_all().map_err(ShardFault::io("write it to disk"))?;
    drop(file);
    fs::rename(part, path).map_err(ShardFault::io("give it its name"))
}
