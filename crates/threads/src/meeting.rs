//! Where the members of a team wait for each other.

use std::hint;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, PoisonError};

/// A barrier that can be used again and again. Members are expected within microseconds, so that they look for each other for a
/// while before they sleep.
#[derive(Debug)]
pub(crate) struct Meeting {
    expected: usize,
    arrived: AtomicUsize,
    /// Meetings that took place.
    held: AtomicUsize,
    sleeping: AtomicUsize,
    cancelled: AtomicBool,
    lock: Mutex<()>,
    bell: Condvar,
}

/// Looks before sleeping: some tens of microseconds.
const LOOKS: u32 = 20_000;

impl Meeting {
    pub(crate) fn of(expected: usize) -> Meeting {
        Meeting {
            expected,
            arrived: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
            sleeping: AtomicUsize::new(0),
            cancelled: AtomicBool::new(false),
            lock: Mutex::new(()),
            bell: Condvar::new(),
        }
    }

    /// Waits until all members are here.
    ///
    /// # Panics
    /// If a member will not come because it panicked.
    pub(crate) fn attend(&self) {
        let number = self.held.load(SeqCst);
        if self.arrived.fetch_add(1, SeqCst) + 1 == self.expected {
            self.arrived.store(0, SeqCst);
            self.held.fetch_add(1, SeqCst);
            self.wake();
            return;
        }
        let over = || self.held.load(SeqCst) != number || self.cancelled.load(SeqCst);
        for _ in 0..LOOKS {
            if over() {
                return self.check();
            }
            hint::spin_loop();
        }
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever ends the meeting after this sees it, and rings with the lock.
        self.sleeping.fetch_add(1, SeqCst);
        while !over() {
            guard = self.bell.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.sleeping.fetch_sub(1, SeqCst);
        drop(guard);
        self.check();
    }

    /// Ends this meeting and all later ones: a member panicked.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, SeqCst);
        self.wake();
    }

    fn wake(&self) {
        if self.sleeping.load(SeqCst) > 0 {
            let _guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.bell.notify_all();
        }
    }

    fn check(&self) {
        assert!(!self.cancelled.load(SeqCst), "another thread of the team panicked");
    }
}
