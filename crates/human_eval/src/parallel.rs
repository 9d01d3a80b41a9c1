use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use tabia_data::{RecordError, RecordKey};
use tabia_model::runtime::RunError;

/// How much of the machine to use, and whom to tell.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// Threads.
    pub jobs: NonZeroUsize,
    /// Is told how many more positions have been looked at, by any thread.
    pub done: &'a (dyn Fn(u64) + Sync),
}

/// Why networks could not be judged.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// A network failed.
    #[error("{name}: {error}")]
    Network {
        /// Which.
        name: String,
        /// How.
        error: RunError,
    },
    /// A player cannot be made, or cannot move.
    #[error("{name}: {error}")]
    Player {
        /// Which.
        name: String,
        /// How.
        error: String,
    },
    /// A game makes no sense.
    #[error("the game with key {:016x}: {error}", key.0)]
    Game {
        /// Which.
        key: RecordKey,
        /// What is wrong.
        error: RecordError,
    },
}

impl Work<'_> {
    /// Does `each` for all things, several at a time. The answers are in the order of the things.
    pub(crate) fn map<T: Sync, R: Send>(
        &self,
        things: &[T],
        each: impl Fn(&T) -> Result<R, JudgeError> + Sync,
    ) -> Result<Vec<R>, JudgeError> {
        let next = AtomicUsize::new(0);
        let failed = AtomicBool::new(false);
        let answers = Mutex::new(Vec::with_capacity(things.len()));
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.get().min(things.len()) {
                scope.spawn(|| {
                    while !failed.load(Ordering::Relaxed) {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(thing) = things.get(at) else { return };
                        let answer = each(thing);
                        failed.fetch_or(answer.is_err(), Ordering::Relaxed);
                        answers.lock().unwrap_or_else(PoisonError::into_inner).push((at, answer));
                    }
                });
            }
        });
        let mut answers = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
        answers.sort_by_key(|(at, _)| *at);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }
}
