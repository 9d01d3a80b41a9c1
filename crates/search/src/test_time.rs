//! Time for tests.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use crate::SearchControl;

/// Time that passes when somebody waits or thinks, in microseconds.
#[derive(Default)]
pub(crate) struct Passing(AtomicU64);

impl SearchControl for Passing {
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
