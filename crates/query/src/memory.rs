use std::fmt;

use datafusion::error::Result;
use datafusion::execution::memory_pool::{
    FairSpillPool, MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation,
};

/// A pool that whoever can spill shares fairly, and that never refuses the last merge of a sort.
///
/// Sorts that have spilled hold all of the pool while they wait to be merged, and the merge cannot spill: without an
/// overdraft a query would fail for want of a batch for each thread. Those batches are all that is overdrawn.
#[derive(Debug)]
pub(super) struct OverdraftPool {
    inner: FairSpillPool,
}

impl OverdraftPool {
    pub(super) fn new(bytes: usize) -> OverdraftPool {
        OverdraftPool { inner: FairSpillPool::new(bytes) }
    }
}

impl fmt::Display for OverdraftPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl MemoryPool for OverdraftPool {
    fn name(&self) -> &str {
        "fair with overdraft"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.inner.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.inner.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.inner.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.inner.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let merges = reservation.consumer().name().starts_with("SortPreservingMergeExec");
        match self.inner.try_grow(reservation, additional) {
            Err(_) if merges => {
                self.inner.grow(reservation, additional);
                Ok(())
            }
            outcome => outcome,
        }
    }

    fn reserved(&self) -> usize {
        self.inner.reserved()
    }

    fn memory_limit(&self) -> MemoryLimit {
        self.inner.memory_limit()
    }
}
