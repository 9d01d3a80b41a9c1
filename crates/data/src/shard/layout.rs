//! The fixed parts of a shard as bytes. See `docs/formats/shards.md`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::ShardFault;
use crate::RecordKind;

/// First bytes of a shard. As in PNG, a non-ASCII byte and both line endings detect text-mode transfers.
pub(super) const MAGIC: [u8; 8] = *b"\x89TABIA\r\n";
pub(super) const VERSION: u16 = 1;
/// Magic, version, kind, a zero, length of the JSON head.
pub(super) const PROLOGUE_LEN: usize = 8 + 2 + 1 + 1 + 4;
/// Limit on the length of a head.
pub(super) const MAX_HEAD_LEN: usize = 1 << 20;
/// Limit on the length of a stream of a block.
pub(super) const MAX_STREAM_LEN: u32 = 1 << 28;
pub(super) const TAIL_LEN: usize = 6 * 8;
pub(super) const STREAMS: usize = 4;
pub(super) const ENTRY_LEN: usize = 8 + 4 + 4 + STREAMS * 8 + 8;

/// The JSON head of a shard: which part of which build it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShardHead {
    /// Fingerprint of the sources and options of the set.
    pub fingerprint: String,
    /// The shard's number, from 0.
    pub shard: u32,
    /// How many shards the set has.
    pub shards: u32,
}

/// Totals of a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardTotals {
    /// Records.
    pub records: u64,
    /// Training positions: moves of games, or analysed positions.
    pub positions: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Checksum of the whole file: that of its tail, which covers the others.
    pub checksum: u64,
}

/// The index entry of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockEntry {
    /// Offset in the file.
    pub offset: u64,
    /// How many records it holds.
    pub records: u32,
    /// How many positions they have.
    pub positions: u32,
    /// Compressed and decompressed length of each stream.
    pub(super) streams: [(u32, u32); STREAMS],
    /// The hash of its bytes in the file.
    pub(super) checksum: u64,
}

impl BlockEntry {
    /// Its bytes in the file.
    pub fn len(&self) -> u64 {
        self.streams.iter().map(|&(packed, _)| u64::from(packed)).sum()
    }

    /// Whether it has no bytes; a written block always has some.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.records.to_le_bytes());
        out.extend_from_slice(&self.positions.to_le_bytes());
        for (packed, unpacked) in self.streams {
            out.extend_from_slice(&packed.to_le_bytes());
            out.extend_from_slice(&unpacked.to_le_bytes());
        }
        out.extend_from_slice(&self.checksum.to_le_bytes());
    }

    /// The entry at the front of `bytes`.
    pub(super) fn read(bytes: &[u8]) -> Option<BlockEntry> {
        let mut fields = Fields(bytes);
        let mut entry = BlockEntry {
            offset: fields.u64()?,
            records: fields.u32()?,
            positions: fields.u32()?,
            ..BlockEntry::default()
        };
        for stream in &mut entry.streams {
            *stream = (fields.u32()?, fields.u32()?);
        }
        entry.checksum = fields.u64()?;
        Some(entry)
    }
}

/// The last bytes of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    pub(super) index_offset: u64,
    pub(super) records: u64,
    pub(super) positions: u64,
    /// The hash of everything before the first block.
    pub(super) head_checksum: u64,
    pub(super) index_checksum: u64,
}

impl Tail {
    pub(super) fn to_bytes(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(TAIL_LEN);
        let fields =
            [self.index_offset, self.records, self.positions, self.head_checksum, self.index_checksum];
        for field in fields {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&XxHash3_64::oneshot(&out).to_le_bytes());
        out
    }

    /// The tail and its own checksum.
    pub(super) fn read(bytes: &[u8]) -> Result<(Tail, u64), ShardFault> {
        let torn = ShardFault::Damaged { what: "its end does not match its checksum" };
        let mut fields = Fields(bytes);
        let mut read = || {
            let tail = Tail {
                index_offset: fields.u64()?,
                records: fields.u64()?,
                positions: fields.u64()?,
                head_checksum: fields.u64()?,
                index_checksum: fields.u64()?,
            };
            Some((tail, fields.u64()?))
        };
        let Some((tail, checksum)) = read() else { return Err(torn) };
        let covered = bytes.split_at_checked(TAIL_LEN - 8).map(|(covered, _)| XxHash3_64::oneshot(covered));
        if covered == Some(checksum) { Ok((tail, checksum)) } else { Err(torn) }
    }
}

/// The bytes before the first block.
pub(super) fn write_prologue(kind: RecordKind, json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(PROLOGUE_LEN + json.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.push(match kind {
        RecordKind::Games => 1,
        RecordKind::Evaluations => 2,
    });
    out.push(0);
    out.extend_from_slice(&(json.len() as u32).to_le_bytes());
    out.extend_from_slice(json);
    out
}

/// Kind and length of the JSON head, from the first bytes of a shard.
pub(super) fn read_prologue(bytes: &[u8]) -> Result<(RecordKind, usize), ShardFault> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or(ShardFault::Magic)?;
    let damaged = ShardFault::Damaged { what: "its head makes no sense" };
    let (&version, rest) = rest.split_first_chunk().ok_or(ShardFault::Magic)?;
    let have = u16::from_le_bytes(version);
    if have != VERSION {
        return Err(ShardFault::Version { have, known: VERSION });
    }
    let &[kind, _, a, b, c, d] = rest else { return Err(damaged) };
    let kind = match kind {
        1 => RecordKind::Games,
        2 => RecordKind::Evaluations,
        _ => return Err(damaged),
    };
    let len = u32::from_le_bytes([a, b, c, d]) as usize;
    if len > MAX_HEAD_LEN { Err(damaged) } else { Ok((kind, len)) }
}

/// Little-endian numbers, one after the other.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u64(&mut self) -> Option<u64> {
        let (&bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(bytes))
    }

    fn u32(&mut self) -> Option<u32> {
        let (&bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(bytes))
    }
}
