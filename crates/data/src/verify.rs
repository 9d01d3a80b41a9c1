//! Integrity checks of a set, shard by shard.

use std::collections::HashSet;

use serde::Serialize;
use shakmaty::{EnPassantMode, Position, zobrist::Zobrist64};

use crate::stats::SetStats;
use crate::{
    AnyRecord, GameRecord, LabelStrategy, Record, RecordKey, Shard, ShardError, ShardSummary, Side, Split,
};

/// Number of problems that are listed.
const NAMED: usize = 20;

/// Positions before this ply are openings, which repeat anyway.
pub const OPENING_PLIES: usize = 10;

/// Problems: their number and the first few.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Problems {
    /// How many there are.
    pub count: u64,
    /// The first few, with their place.
    pub named: Vec<String>,
}

impl Problems {
    /// Counts one more.
    pub fn add(&mut self, what: String) {
        self.count += 1;
        if self.named.len() < NAMED {
            self.named.push(what);
        }
    }

    /// Adds those of another part.
    pub fn merge(&mut self, other: Problems) {
        self.count += other.count;
        self.named.extend(other.named);
        self.named.truncate(NAMED);
    }
}

/// Options of a check.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Held-out records.
    pub split: Split,
    /// How analysed positions are labelled.
    pub labels: LabelStrategy,
    /// The held-out positions that are looked up in training games.
    pub sieve: Sieve,
}

/// A sample of positions by their hashes: one in a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sieve {
    one_in: u64,
}

impl Sieve {
    /// Every position.
    pub const ALL: Sieve = Sieve { one_in: 1 };

    /// Selects about `most` of `positions` positions.
    pub fn of_at_most(most: u64, positions: u64) -> Sieve {
        Sieve { one_in: positions.div_ceil(most.max(1)).max(1).next_power_of_two() }
    }

    /// One position in how many.
    pub fn one_in(self) -> u64 {
        self.one_in
    }

    fn takes(self, hash: u64) -> bool {
        // The low bits; tables use the high ones.
        hash & (self.one_in - 1) == 0
    }
}

/// Results of checking a shard.
#[derive(Debug)]
pub struct ShardFindings {
    /// Problems.
    pub problems: Problems,
    /// Statistics of the readable records.
    pub stats: SetStats,
    /// Sorted keys of training records.
    pub training: Vec<RecordKey>,
    /// Sorted keys of held-out records.
    pub held_out: Vec<RecordKey>,
    /// Hashes of the sampled positions of held-out games after the opening, as often as they occur.
    pub held_out_positions: Vec<u64>,
}

/// Checks a shard against the manifest: complete, every record readable, legal, in order and in the right shard. `place`
/// is its number and the number of shards.
pub fn look_at_shard(shard: &Shard, summary: &ShardSummary, place: (u32, u32), look: &Look) -> ShardFindings {
    let mut findings = ShardFindings {
        problems: Problems::default(),
        stats: SetStats::new(shard.kind()),
        training: Vec::new(),
        held_out: Vec::new(),
        held_out_positions: Vec::new(),
    };
    let path = shard.path().display();
    let totals = shard.totals();
    let head = (shard.head().shard, shard.head().shards);
    if head != place {
        let what = format!("{path}: is shard {} of {} (expected {} of {})", head.0, head.1, place.0, place.1);
        findings.problems.add(what);
    }
    let checksum = format!("{:016x}", totals.checksum);
    for (what, have, want) in [
        ("records", totals.records, summary.records),
        ("positions", totals.positions, summary.positions),
        ("bytes", totals.bytes, summary.bytes),
    ] {
        if have != want {
            findings.problems.add(format!("{path}: has {have} {what}, set.json says {want}"));
        }
    }
    if checksum != summary.checksum {
        findings.problems.add(format!("{path}: checksum {checksum} (set.json says {})", summary.checksum));
    }
    let mut last: Option<RecordKey> = None;
    let mut number = 0;
    each_record(shard, |record| {
        number += 1;
        let (key, players, record) = match record {
            Ok(found) => found,
            Err(error) => return findings.problems.add(error.to_string()),
        };
        if shard_of(key, place.1) != place.0 {
            findings.problems.add(format!("{path}: record {number} belongs to another shard"));
        }
        match last {
            Some(last) if last == key => {
                findings.problems.add(format!("{path}: record {number} is a duplicate"));
            }
            Some(last) if last > key => {
                findings.problems.add(format!("{path}: record {number} is out of order"));
            }
            _ => {}
        }
        last = Some(key);
        findings.stats.add(&record, look.labels);
        match (look.split.side(key, players), &record) {
            (Side::HeldOut, record) => {
                findings.held_out.push(key);
                if let AnyRecord::Game(game) = record {
                    each_position(game, |hash| {
                        if look.sieve.takes(hash) {
                            findings.held_out_positions.push(hash);
                        }
                    });
                }
            }
            _ => findings.training.push(key),
        }
    });
    findings
}

/// The positions that occur in the training games of a shard after the opening. Unreadable records are skipped, as
/// [`look_at_shard`] reports them.
pub fn positions_met(shard: &Shard, split: Split, wanted: &HashSet<u64>) -> HashSet<u64> {
    let mut met = HashSet::new();
    each_record(shard, |record| {
        if let Ok((key, players, AnyRecord::Game(game))) = record
            && split.side(key, players) != Side::HeldOut
        {
            each_position(&game, |hash| {
                if wanted.contains(&hash) {
                    met.insert(hash);
                }
            });
        }
    });
    met
}

/// Number of keys that two sorted lists have in common.
pub fn common_keys(a: &[RecordKey], b: &[RecordKey]) -> u64 {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut common = 0;
    while let (Some(&left), Some(&right)) = (a.peek(), b.peek()) {
        match left.cmp(right) {
            std::cmp::Ordering::Less => drop(a.next()),
            std::cmp::Ordering::Greater => drop(b.next()),
            std::cmp::Ordering::Equal => {
                common += 1;
                a.next();
                b.next();
            }
        }
    }
    common
}

type Players = shakmaty::ByColor<Option<crate::PlayerHash>>;

/// Reads all records that can be read.
fn each_record(shard: &Shard, mut visit: impl FnMut(Result<(RecordKey, Players, AnyRecord), ShardError>)) {
    for number in 0..shard.blocks().len() {
        let block = match shard.block(number) {
            Ok(block) => block,
            Err(error) => {
                visit(Err(error));
                continue;
            }
        };
        for record in 0..block.len() {
            let read = match block.record(record) {
                Some(Ok(Record::Game(game))) => {
                    game.decode().map(|decoded| (game.key(), decoded.head.players, AnyRecord::Game(decoded)))
                }
                Some(Ok(Record::Evaluation(evaluation))) => evaluation
                    .decode()
                    .map(|decoded| (evaluation.key(), Players::default(), AnyRecord::Evaluation(decoded))),
                Some(Err(error)) => Err(error),
                None => break,
            };
            visit(read.map_err(|error| ShardError {
                path: shard.path().to_owned(),
                fault: crate::ShardFault::Record { block: number, record, error },
            }));
        }
    }
}

fn each_position(game: &GameRecord, mut visit: impl FnMut(u64)) {
    let mut position = game.start.clone();
    for (ply, played) in game.plies.iter().enumerate() {
        if ply >= OPENING_PLIES {
            visit(position.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0);
        }
        position.play_unchecked(played.played);
    }
}

fn shard_of(key: RecordKey, shards: u32) -> u32 {
    ((u128::from(key.0) * u128::from(shards)) >> 64) as u32
}
