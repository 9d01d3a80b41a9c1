use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::output::Output;
use crate::message::{Go, Info, Reply};

/// Search control of one `go`: stop flag, time and `info` output. Cheap to clone and usable from any thread.
#[derive(Clone)]
pub struct Control {
    shared: Arc<Shared>,
}

struct Shared {
    /// When `go` arrived.
    start: Instant,
    stopped: AtomicBool,
    /// When the engine's clock started, in nanoseconds since `start`; [`PONDERING`] before `ponderhit`.
    clock_start: AtomicU64,
    infinite: bool,
    finished: AtomicBool,
    /// Held while `stopped` or `clock_start` change.
    changing: Mutex<()>,
    changed: Condvar,
    output: Output,
}

const PONDERING: u64 = u64::MAX;

impl Control {
    pub(super) fn new(go: &Go, output: Output) -> Control {
        let shared = Shared {
            start: Instant::now(),
            stopped: AtomicBool::new(false),
            clock_start: AtomicU64::new(if go.ponder { PONDERING } else { 0 }),
            infinite: go.infinite,
            finished: AtomicBool::new(false),
            changing: Mutex::new(()),
            changed: Condvar::new(),
            output,
        };
        Control { shared: Arc::new(shared) }
    }

    /// Whether `stop` arrived.
    pub fn stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Relaxed)
    }

    /// Whether `ponderhit` is still awaited, so that the engine's clock does not run.
    pub fn pondering(&self) -> bool {
        self.shared.clock_start.load(Ordering::Relaxed) == PONDERING
    }

    /// Time used on the engine's clock: since `go` or `ponderhit`, zero while pondering. Compare it with the limits.
    pub fn elapsed(&self) -> Duration {
        match self.shared.clock_start.load(Ordering::Relaxed) {
            PONDERING => Duration::ZERO,
            from => self.shared.start.elapsed().saturating_sub(Duration::from_nanos(from)),
        }
    }

    /// Time since `go` including pondering, as in `info time`.
    pub fn since_go(&self) -> Duration {
        self.shared.start.elapsed()
    }

    /// Blocks until [`elapsed`](Self::elapsed) reaches `moment` or the search is stopped.
    pub fn wait_until(&self, moment: Duration) {
        let shared = &self.shared;
        let mut changing = shared.changing.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.stopped() {
            let Some(left) = moment.checked_sub(self.elapsed()).filter(|left| !left.is_zero()) else {
                return;
            };
            // Time does not pass while pondering; `ponderhit` wakes the waiter.
            let waited = shared.changed.wait_timeout(changing, left);
            changing = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Sends `info`. Fills in `time`, and `nps` if there are nodes.
    pub fn report(&self, mut info: Info) {
        let text_only = info == Info { string: info.string.clone(), ..Info::default() };
        if !text_only {
            let time = *info.time.get_or_insert_with(|| self.since_go());
            if let (Some(nodes), None) = (info.nodes, info.nps) {
                let nps = u128::from(nodes) * 1_000_000_000 / time.as_nanos().max(1);
                info.nps = Some(u64::try_from(nps).unwrap_or(u64::MAX));
            }
        }
        self.shared.output.send(&Reply::Info(Box::new(info)));
    }

    pub(super) fn stop(&self) {
        self.change(|shared| shared.stopped.store(true, Ordering::Relaxed));
    }

    pub(super) fn ponder_hit(&self) {
        self.change(|shared| {
            // Ignored without `go ponder`.
            if self.pondering() {
                let now = u64::try_from(shared.start.elapsed().as_nanos()).unwrap_or(PONDERING - 1);
                shared.clock_start.store(now, Ordering::Relaxed);
            }
        });
    }

    fn change(&self, change: impl FnOnce(&Shared)) {
        let _changing = self.shared.changing.lock().unwrap_or_else(PoisonError::into_inner);
        change(&self.shared);
        self.shared.changed.notify_all();
    }

    /// Blocks until `bestmove` may be sent: after `stop` for infinite searches, after `ponderhit` for pondering.
    pub(super) fn wait_for_release(&self) {
        let shared = &self.shared;
        let mut changing = shared.changing.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.stopped() && (shared.infinite || self.pondering()) {
            changing = shared.changed.wait(changing).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Sends `bestmove` and marks the search as finished.
    pub(super) fn finish(&self, reply: &Reply) {
        self.shared.output.send_then(reply, || self.shared.finished.store(true, Ordering::Release));
    }

    pub(super) fn finished(&self) -> bool {
        self.shared.finished.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn control(go: &Go) -> Control {
        Control::new(go, Output::new(std::io::sink()))
    }

    #[test]
    fn clock_does_not_run_while_pondering() {
        let control = control(&Go { ponder: true, ..Go::default() });
        assert!(control.pondering());
        assert_eq!(control.elapsed(), Duration::ZERO);
        control.ponder_hit();
        assert!(!control.pondering());
        assert!(control.elapsed() <= control.since_go());
        control.wait_for_release();
    }

    #[test]
    fn wait_until_returns_after_the_time_or_on_stop() {
        let waiting = control(&Go::depth(3));
        waiting.wait_until(Duration::from_millis(3));
        assert!(waiting.elapsed() >= Duration::from_millis(3));
        let stopped = control(&Go::depth(3));
        stopped.stop();
        stopped.wait_until(Duration::from_secs(3600));
    }

    #[test]
    fn infinite_search_is_released_by_stop() {
        control(&Go::depth(3)).wait_for_release();
        for go in [Go::infinite(), Go { ponder: true, infinite: true, ..Go::default() }] {
            let control = control(&go);
            control.ponder_hit();
            let waiting = control.clone();
            let waiter = std::thread::spawn(move || {
                waiting.wait_for_release();
                waiting.stopped()
            });
            control.stop();
            assert!(waiter.join().unwrap());
        }
    }
}
