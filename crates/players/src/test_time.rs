//! A clock for tests.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use tabia_search::SearchControl;

/// Time in microseconds that passes only by waiting.
#[derive(Default)]
pub(crate) struct VirtualClock(AtomicU64);

impl SearchControl for VirtualClock {
    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.0.load(Relaxed))
    }

    fn stopped(&self) -> bool {
        false
    }

    fn wait_until(&self, moment: Duration) {
        self.0.fetch_max(u64::try_from(moment.as_micros()).unwrap(), Relaxed);
    }
}
