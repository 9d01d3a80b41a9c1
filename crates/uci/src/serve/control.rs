use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use super::output::Output;
use crate::message::{Go, Info, Reply};

/// The client, as an engine sees it while it thinks. Cheap to clone and to ask, from any thread.
#[derive(Clone)]
pub struct Control {
    shared: Arc<Shared>,
}

struct Shared {
    /// When `go` arrived.
    begin: Instant,
    stopped: AtomicBool,
    /// From when the time is the engine's own, in nanoseconds since `begin`; [`PONDERING`] until it is.
    own_time_from: AtomicU64,
    infinite: bool,
    finished: AtomicBool,
    /// Held while `stopped` or `own_time_from` change, so that a waiter misses nothing.
    changing: Mutex<()>,
    changed: Condvar,
    output: Output,
}

const PONDERING: u64 = u64::MAX;

impl Control {
    pub(super) fn new(go: &Go, output: Output) -> Control {
        let shared = Shared {
            begin: Instant::now(),
            stopped: AtomicBool::new(false),
            own_time_from: AtomicU64::new(if go.ponder { PONDERING } else { 0 }),
            infinite: go.infinite,
            finished: AtomicBool::new(false),
            changing: Mutex::new(()),
            changed: Condvar::new(),
            output,
        };
        Control { shared: Arc::new(shared) }
    }

    /// Whether the client wants the answer now.
    pub fn stopped(&self) -> bool {
        self.shared.stopped.load(Ordering::Relaxed)
    }

    /// Whether the opponent is still to move: the engine's own clock stands still.
    pub fn pondering(&self) -> bool {
        self.shared.own_time_from.load(Ordering::Relaxed) == PONDERING
    }

    /// Time used of the engine's own: since `go`, or since `ponderhit`, and none while pondering. Compare this with
    /// the limits.
    pub fn elapsed(&self) -> Duration {
        match self.shared.own_time_from.load(Ordering::Relaxed) {
            PONDERING => Duration::ZERO,
            from => self.shared.begin.elapsed().saturating_sub(Duration::from_nanos(from)),
        }
    }

    /// Time since `go`, pondering included: what `info time` means.
    pub fn since_go(&self) -> Duration {
        self.shared.begin.elapsed()
    }

    /// Returns when so much of the engine's own time is used, or the client wants the answer.
    pub fn wait_until(&self, moment: Duration) {
        let shared = &self.shared;
        let mut changing = shared.changing.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.stopped() {
            let Some(left) = moment.checked_sub(self.elapsed()).filter(|left| !left.is_zero()) else {
                return;
            };
            // While pondering nothing is used; a change wakes the waiter.
            let waited = shared.changed.wait_timeout(changing, left);
            changing = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Tells the client something. `time` and, where nodes are said, `nps` are filled in where missing.
    pub fn report(&self, mut info: Info) {
        let text_only = info == Info { string: info.string.clone(), ..Info::default() };
        if !text_only {
            let time = *info.time.get_or_insert_with(|| self.since_go());
            if let (Some(nodes), None) = (info.nodes, info.nps) {
                let nps = u128::from(nodes) * 1_000_000_000 / time.as_nanos().max(1);
                info.nps = Some(u64::try_from(nps).unwrap_or(u64::MAX));
            }
        }
        self.shared.output.say(&Reply::Info(Box::new(info)));
    }

    pub(super) fn stop(&self) {
        self.change(|shared| shared.stopped.store(true, Ordering::Relaxed));
    }

    pub(super) fn ponder_hit(&self) {
        self.change(|shared| {
            // A GUI may say it though it never asked to ponder: then the time already runs.
            if self.pondering() {
                let now = u64::try_from(shared.begin.elapsed().as_nanos()).unwrap_or(PONDERING - 1);
                shared.own_time_from.store(now, Ordering::Relaxed);
            }
        });
    }

    fn change(&self, change: impl FnOnce(&Shared)) {
        let _changing = self.shared.changing.lock().unwrap_or_else(PoisonError::into_inner);
        change(&self.shared);
        self.shared.changed.notify_all();
    }

    /// Returns when the client may hear an answer.
    pub(super) fn wait_until_answerable(&self) {
        let shared = &self.shared;
        let mut changing = shared.changing.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.stopped() && (shared.infinite || self.pondering()) {
            changing = shared.changed.wait(changing).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives the answer; from then on nobody is thinking.
    pub(super) fn answer(&self, reply: &Reply) {
        self.shared.output.say_and(reply, || self.shared.finished.store(true, Ordering::Release));
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
    fn own_time_stands_still_while_pondering() {
        let control = control(&Go { ponder: true, ..Go::default() });
        assert!(control.pondering());
        assert_eq!(control.elapsed(), Duration::ZERO);
        control.ponder_hit();
        assert!(!control.pondering());
        assert!(control.elapsed() <= control.since_go());
        control.wait_until_answerable();
    }

    #[test]
    fn a_wait_ends_with_its_time_or_with_a_stop() {
        let waiting = control(&Go::depth(3));
        waiting.wait_until(Duration::from_millis(3));
        assert!(waiting.elapsed() >= Duration::from_millis(3));
        let stopped = control(&Go::depth(3));
        stopped.stop();
        stopped.wait_until(Duration::from_secs(3600));
    }

    #[test]
    fn an_answer_waits_for_what_the_protocol_says() {
        control(&Go::depth(3)).wait_until_answerable();
        for go in [Go::infinite(), Go { ponder: true, infinite: true, ..Go::default() }] {
            let control = control(&go);
            control.ponder_hit();
            let (tell, told) = std::sync::mpsc::channel();
            let waiting = control.clone();
            let waiter = std::thread::spawn(move || {
                waiting.wait_until_answerable();
                tell.send(waiting.stopped()).expect("somebody listens");
            });
            control.stop();
            assert_eq!(told.recv(), Ok(true));
            waiter.join().expect("it did not panic");
        }
    }
}
