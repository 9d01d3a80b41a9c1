use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tabia_data::{BytesRead, Faults};

/// What scans of this process have read so far: for a progress bar and for a report at the end.
///
/// A session that has one (as an extension of its configuration) shares the reading of a file between its threads.
#[derive(Debug, Default)]
pub struct Reading {
    bytes: BytesRead,
    rows: AtomicU64,
    faults: AtomicU64,
    sources: Mutex<BTreeMap<String, SourceReport>>,
}

/// What became of one file.
#[derive(Clone, Debug, Default)]
pub struct SourceReport {
    /// Records read from it, duplicates and what a query leaves out included.
    pub records: u64,
    /// Positions with a move that they have.
    pub positions: u64,
    /// What could not be used.
    pub faults: Faults,
}

impl Reading {
    /// Bytes read from the files as they lie on disk.
    pub fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    /// Rows read.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Faults found.
    pub fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }

    /// What became of each file so far, by its name.
    pub fn sources(&self) -> BTreeMap<String, SourceReport> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn counter(&self) -> &BytesRead {
        &self.bytes
    }

    pub(crate) fn add(&self, source: &str, records: u64, positions: u64, faults: Faults) {
        self.rows.fetch_add(records, Ordering::Relaxed);
        self.faults.fetch_add(faults.total(), Ordering::Relaxed);
        let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        if !sources.contains_key(source) {
            sources.insert(source.to_owned(), SourceReport::default());
        }
        if let Some(report) = sources.get_mut(source) {
            report.records += records;
            report.positions += positions;
            report.faults.merge(faults);
        }
    }
}
