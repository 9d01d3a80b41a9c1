use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use tabia_data::{BytesRead, Faults};

/// Counts of what scans of this process have read, for progress meters and reports.
///
/// In a session with one, as an extension of its configuration, threads share the reading of files.
#[derive(Debug, Default)]
pub struct Reading {
    bytes: BytesRead,
    rows: AtomicU64,
    faults: AtomicU64,
    sources: Mutex<BTreeMap<String, SourceReport>>,
}

/// Report of one file.
#[derive(Clone, Debug, Default)]
pub struct SourceReport {
    /// Records read, including duplicates and filtered ones.
    pub records: u64,
    /// Number of their positions with a move.
    pub positions: u64,
    /// Faults.
    pub faults: Faults,
}

impl Reading {
    /// Bytes read from disk.
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

    /// Reports by file name.
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
