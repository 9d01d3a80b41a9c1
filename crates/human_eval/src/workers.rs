use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tabia_data::{RecordError, RecordKey};
use tabia_runtime::RunError;

/// Threads and progress callback of an evaluation.
#[derive(Clone, Copy)]
pub struct Workers<'a> {
    /// Number of threads.
    pub jobs: NonZeroUsize,
    /// Called from any thread with the number of positions just evaluated.
    pub on_progress: &'a (dyn Fn(u64) + Sync),
}

/// Error of an evaluation.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// Inference failed.
    #[error("{name}: {error}")]
    Network {
        /// Name of the network.
        name: String,
        /// Cause.
        error: RunError,
    },
    /// A player cannot be built or cannot move.
    #[error("{name}: {error}")]
    Player {
        /// Name of the player.
        name: String,
        /// Cause.
        error: String,
    },
    /// Invalid game record.
    #[error("game {:016x}: {error}", key.0)]
    Game {
        /// Key of the record.
        key: RecordKey,
        /// Cause.
        error: RecordError,
    },
}

impl Workers<'_> {
    /// Parallel map that keeps the order of `items`.
    pub(crate) fn map<T: Sync, R: Send>(
        &self,
        items: &[T],
        each: impl Fn(&T) -> Result<R, EvalError> + Sync,
    ) -> Result<Vec<R>, EvalError> {
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let results = Mutex::new(Vec::with_capacity(items.len()));
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.get().min(items.len()) {
                scope.spawn(|| {
                    while !failed.load(Ordering::Relaxed) {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(item) = items.get(index) else { return };
                        let result = each(item);
                        failed.fetch_or(result.is_err(), Ordering::Relaxed);
                        results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                    }
                });
            }
        });
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(index, _)| *index);
        results.into_iter().map(|(_, result)| result).collect()
    }
}
