use std::fmt;
use std::sync::{Mutex, PoisonError};

use datafusion::common::resources_datafusion_err;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};

/// A memory pool in which sorts of any size complete.
///
/// In DataFusion's fair pool, sorts can hold all memory when they or their consumers need some for merging, and the query
/// fails. Here
///
/// - what can spill shares the pool evenly, less what cannot spill holds;
/// - merging is never refused: runs in memory that are merged to be spilled take what sorting them counted for twice, and
///   of spilled runs only so many are merged at a time ([`merge_fan_in`]);
/// - what only streams sorted rows, a batch or two at a time, is never refused;
/// - what else cannot spill, such as a hash join, may take up to the whole pool.
#[derive(Debug)]
pub(super) struct SortingPool {
    bytes: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    spillers: usize,
    by_spillers: usize,
    by_streams: usize,
    by_others: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Spill,
    Stream,
    Other,
}

/// Prefixes of the names of operators that merge or stream.
const STREAMING: [&str; 4] = [
    "ExternalSorterMerge",
    "SortPreservingMergeExec",
    "OrderedPartialAggregateStream",
    "OrderedFinalAggregateStream",
];

/// Number of spilled runs that a sort merges at a time if `threads` sorts share `bytes`.
pub(super) fn merge_fan_in(bytes: usize, threads: usize) -> usize {
    const PER_RUN: usize = 4 << 20;
    (bytes / threads.max(1) / PER_RUN).clamp(4, 128)
}

impl Need {
    fn of(consumer: &MemoryConsumer) -> Need {
        let name = consumer.name();
        if STREAMING.iter().any(|streaming| name.starts_with(streaming)) {
            Need::Stream
        } else if consumer.can_spill() {
            Need::Spill
        } else {
            Need::Other
        }
    }
}

impl Held {
    fn by(&mut self, need: Need) -> &mut usize {
        match need {
            Need::Spill => &mut self.by_spillers,
            Need::Stream => &mut self.by_streams,
            Need::Other => &mut self.by_others,
        }
    }
}

impl SortingPool {
    pub(super) fn new(bytes: usize) -> SortingPool {
        SortingPool { bytes, held: Mutex::default() }
    }

    fn with<T>(&self, change: impl FnOnce(&mut Held) -> T) -> T {
        change(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Display for SortingPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.reserved(), self.bytes)
    }
}

impl MemoryPool for SortingPool {
    fn name(&self) -> &str {
        "sorting"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.with(|held| held.spillers += usize::from(Need::of(consumer) == Need::Spill));
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.with(|held| held.spillers -= usize::from(Need::of(consumer) == Need::Spill));
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.with(|held| *held.by(Need::of(reservation.consumer())) += additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.with(|held| {
            let by = held.by(Need::of(reservation.consumer()));
            *by = by.saturating_sub(shrink);
        });
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let need = Need::of(reservation.consumer());
        self.with(|held| {
            let (asked, limit) = match need {
                Need::Spill => {
                    let shared = self.bytes.saturating_sub(held.by_others);
                    (reservation.size() + additional, shared / held.spillers.max(1))
                }
                Need::Stream => (0, 0),
                Need::Other => (held.by_others + additional, self.bytes),
            };
            if asked > limit {
                let name = reservation.consumer().name();
                return Err(resources_datafusion_err!(
                    "{name} needs {asked} bytes of memory and has {limit}"
                ));
            }
            *held.by(need) += additional;
            Ok(())
        })
    }

    fn reserved(&self) -> usize {
        self.with(|held| held.by_spillers + held.by_streams + held.by_others)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn consumers_share_the_pool() {
        let pool: Arc<dyn MemoryPool> = Arc::new(SortingPool::new(800));
        let register =
            |name: &str, spills: bool| MemoryConsumer::new(name).with_can_spill(spills).register(&pool);
        let sorts = [register("ExternalSorter[0]", true), register("ExternalSorter[1]", true)];
        let merge = register("ExternalSorterMerge[0]", false);
        for sort in &sorts {
            assert!(sort.try_grow(400).is_ok() && sort.try_grow(1).is_err(), "half of it each");
        }
        assert!(merge.try_grow(1000).is_ok(), "merging is not refused");
        assert_eq!(pool.reserved(), 1800);
        let join = register("HashJoinInput", false);
        assert!(join.try_grow(200).is_ok() && join.try_grow(601).is_err());
        sorts[0].free();
        assert!(
            sorts[0].try_grow(301).is_err() && sorts[0].try_grow(300).is_ok(),
            "less what cannot spill holds"
        );
        drop((sorts, merge, join));
        assert_eq!(pool.reserved(), 0);
    }
}
