use std::time::Duration;

use crate::Line;

/// What a search sees of its caller: the time, a request to stop, and a listener for its output.
pub trait SearchControl: Sync {
    /// Time since the search was requested.
    fn elapsed(&self) -> Duration;

    /// Whether to stop and return the best move so far.
    fn stopped(&self) -> bool;

    /// Blocks until this much time has passed since the request, or until a stop. Returns at once where there is no clock
    /// or blocking is impossible.
    fn wait_until(&self, moment: Duration) {
        let _ = moment;
    }

    /// Receives a line of output during the search.
    fn report(&self, line: &Line) {
        let _ = line;
    }
}

/// No clock, no stop and no listener: for searches limited by depth or nodes.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoControl;

impl SearchControl for NoControl {
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn stopped(&self) -> bool {
        false
    }
}
