//! The transposition table: what earlier searches learned about positions, shared by all threads.
//!
//! Threads write without locks. An entry is two words, the key and the facts, and the key is stored xored with the
//! facts: halves from two different writes do not match any key, so a torn entry reads as absent. A wrong match
//! takes a full 64-bit collision, and even then only a move that is legal is ever played.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::packed_move::PackedMove;

/// The bound of a stored value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    /// Nothing.
    None,
    /// The true value is at most this.
    Upper,
    /// The true value is at least this.
    Lower,
    /// The true value is this.
    Exact,
}

/// An entry of a position.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    /// The best or cutoff move.
    pub(super) best: Option<PackedMove>,
    /// Counted from the position, see [`to_tt`](super::value::to_tt).
    pub(super) value: i32,
    /// The static evaluation; `None` in check.
    pub(super) evaluation: Option<i32>,
    /// Search depth; zero for quiescence.
    pub(super) depth: i32,
    pub(super) bound: Bound,
}

const NO_EVALUATION: i16 = i16::MIN;

/// Ages wrap after this many searches.
const AGES: u8 = 64;

const WAYS: usize = 4;

#[derive(Default)]
struct Slot {
    check: AtomicU64,
    facts: AtomicU64,
}

/// Slots that share a cache line.
#[derive(Default)]
#[repr(align(64))]
struct Bucket([Slot; WAYS]);

/// A table of fixed size.
pub(super) struct TranspositionTable {
    buckets: Vec<Bucket>,
    /// The number of the current search, modulo [`AGES`].
    age: u8,
}

impl TranspositionTable {
    /// A table of about this many mebibytes, never empty.
    pub(super) fn new(mebibytes: usize) -> TranspositionTable {
        let buckets = (mebibytes.saturating_mul(1 << 20) / size_of::<Bucket>()).max(1);
        TranspositionTable {
            buckets: std::iter::repeat_with(Bucket::default).take(buckets).collect(),
            age: 0,
        }
    }

    /// Clears the table.
    pub(super) fn clear(&mut self) {
        for slot in self.buckets.iter_mut().flat_map(|bucket| &mut bucket.0) {
            *slot = Slot::default();
        }
        self.age = 0;
    }

    /// Ages all entries.
    pub(super) fn start_search(&mut self) {
        self.age = (self.age + 1) % AGES;
    }

    /// Prefetches the bucket of a key, by a load whose value is not used.
    pub(super) fn fetch(&self, key: u64) {
        std::hint::black_box(self.bucket(key).0[0].facts.load(Relaxed));
    }

    pub(super) fn get(&self, key: u64) -> Option<Entry> {
        self.bucket(key).0.iter().find_map(|slot| {
            let facts = slot.facts.load(Relaxed);
            (slot.check.load(Relaxed) ^ facts == key && facts != 0).then(|| unpack(facts))
        })
    }

    /// Stores an entry, replacing the least valuable one of its bucket.
    pub(super) fn put(&self, key: u64, mut entry: Entry) {
        let bucket = self.bucket(key);
        let mut place = &bucket.0[0];
        let mut least = i32::MAX;
        for slot in &bucket.0 {
            let facts = slot.facts.load(Relaxed);
            if facts == 0 {
                if least > i32::MIN {
                    (place, least) = (slot, i32::MIN);
                }
                continue;
            }
            let old = unpack(facts);
            if slot.check.load(Relaxed) ^ facts == key {
                let fresh = age_of(facts) == self.age;
                if fresh && entry.bound != Bound::Exact && entry.depth + 3 < old.depth {
                    return;
                }
                entry.best = entry.best.or(old.best);
                place = slot;
                break;
            }
            let worth = old.depth - 8 * i32::from(self.searches_since(facts));
            if worth < least {
                (place, least) = (slot, worth);
            }
        }
        let facts = self.pack(entry);
        place.facts.store(facts, Relaxed);
        place.check.store(key ^ facts, Relaxed);
    }

    /// The share of entries of the current search in thousandths, from the first thousand slots.
    pub(super) fn hashfull(&self) -> u16 {
        let sample = self.buckets.iter().flat_map(|bucket| &bucket.0).take(1000);
        let (mut full, mut seen) = (0, 0);
        for slot in sample {
            let facts = slot.facts.load(Relaxed);
            seen += 1;
            full += u32::from(facts != 0 && age_of(facts) == self.age);
        }
        u16::try_from(full * 1000 / seen).expect("at most a thousand")
    }

    fn bucket(&self, key: u64) -> &Bucket {
        // The high half of a product spreads the key evenly over any number of buckets.
        let index = (u128::from(key) * self.buckets.len() as u128) >> 64;
        &self.buckets[index as usize]
    }

    fn searches_since(&self, facts: u64) -> u8 {
        (self.age + AGES - age_of(facts)) % AGES
    }

    /// Move, value, evaluation, depth, bound and age, from the lowest bits up. Never zero: a bound is known.
    fn pack(&self, entry: Entry) -> u64 {
        let short = |n: i32| u64::from(n.clamp(-i32::from(i16::MAX), i32::from(i16::MAX)) as i16 as u16);
        let evaluation = entry.evaluation.map_or(u64::from(NO_EVALUATION as u16), short);
        u64::from(PackedMove::bits(entry.best))
            | short(entry.value) << 16
            | evaluation << 32
            | u64::from(entry.depth.clamp(0, 255) as u8) << 48
            | (entry.bound as u64) << 56
            | u64::from(self.age) << 58
    }
}

fn age_of(facts: u64) -> u8 {
    (facts >> 58) as u8
}

fn unpack(facts: u64) -> Entry {
    let evaluation = (facts >> 32) as u16 as i16;
    Entry {
        best: PackedMove::from_bits(facts as u16),
        value: i32::from((facts >> 16) as u16 as i16),
        evaluation: (evaluation != NO_EVALUATION).then_some(i32::from(evaluation)),
        depth: i32::from((facts >> 48) as u8),
        bound: [Bound::None, Bound::Upper, Bound::Lower, Bound::Exact][(facts >> 56 & 3) as usize],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(depth: i32) -> Entry {
        Entry {
            best: PackedMove::from_bits(77),
            value: -31_999,
            evaluation: Some(-3),
            depth,
            bound: Bound::Lower,
        }
    }

    #[test]
    fn stored_entries_are_found() {
        let table = TranspositionTable::new(1);
        let other = Entry { best: None, value: 12, evaluation: None, depth: 0, bound: Bound::Exact };
        table.put(5, entry(9));
        table.put(u64::MAX, other);
        assert_eq!((table.get(5), table.get(u64::MAX), table.get(6)), (Some(entry(9)), Some(other), None));
    }

    #[test]
    fn replacement_prefers_deep_and_recent_entries() {
        let mut table = TranspositionTable::new(0);
        for (key, depth) in [(1, 9), (2, 1), (3, 8), (4, 7), (5, 5)] {
            table.put(key, entry(depth));
        }
        assert_eq!(table.get(2), None, "the shallowest of five made room in the only bucket");
        table.start_search();
        table.start_search();
        for key in 6..=9 {
            table.put(key, entry(1));
        }
        assert_eq!(table.get(1), None);
        assert_eq!((6..=9).filter(|&key| table.get(key).is_some()).count(), 4);
    }

    #[test]
    fn entry_without_a_move_keeps_the_old_move() {
        let table = TranspositionTable::new(0);
        table.put(1, entry(2));
        table.put(1, Entry { best: None, ..entry(3) });
        assert_eq!(table.get(1), Some(entry(3)));
    }

    #[test]
    fn clear_and_hashfull() {
        let mut table = TranspositionTable::new(1);
        assert_eq!(table.hashfull(), 0);
        for key in 0..200_000_u64 {
            table.put(key.wrapping_mul(0x9e37_79b9_7f4a_7c15), entry(1));
        }
        assert!(table.hashfull() > 900);
        table.start_search();
        assert_eq!(table.hashfull(), 0);
        table.clear();
        assert!((0..200_000_u64).all(|key| table.get(key.wrapping_mul(0x9e37_79b9_7f4a_7c15)).is_none()));
    }

    #[cfg(not(target_family = "wasm"))]
    #[test]
    fn concurrent_reads_are_never_torn() {
        let table = TranspositionTable::new(0);
        // The value encodes the key, so a torn entry is detected.
        let told = |key: u64| Entry { value: key as i32, ..entry((key % 50) as i32) };
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let table = &table;
                scope.spawn(move || {
                    for i in 0..50_000 {
                        let key = (i * 7 + thread * 13) % 64 + 1;
                        table.put(key, told(key));
                        if let Some(entry) = table.get((key * 5) % 64 + 1) {
                            assert_eq!(entry, told((key * 5) % 64 + 1));
                        }
                    }
                });
            }
        });
    }
}
