use std::sync::atomic::{AtomicU8, Ordering};

/// A stop request shared between a run and its caller.
#[derive(Debug, Default)]
pub struct Stop {
    request: AtomicU8,
}

/// How soon a run should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopRequest {
    /// No request.
    Continue = 0,
    /// Finish running games and start no more.
    AfterGames = 1,
    /// Abort running games; they are not recorded.
    Now = 2,
}

impl Stop {
    /// No request.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Requests a stop. A request cannot be withdrawn or weakened.
    pub fn request(&self, request: StopRequest) {
        self.request.fetch_max(request as u8, Ordering::Relaxed);
    }

    /// The strongest request so far.
    pub fn requested(&self) -> StopRequest {
        match self.request.load(Ordering::Relaxed) {
            0 => StopRequest::Continue,
            1 => StopRequest::AfterGames,
            _ => StopRequest::Now,
        }
    }
}
