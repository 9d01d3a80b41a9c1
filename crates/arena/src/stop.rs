use std::sync::atomic::{AtomicU8, Ordering};

/// The wish to end a run, shared by those who may have it and those who play.
#[derive(Debug, Default)]
pub struct Stop {
    wish: AtomicU8,
}

/// How soon a run should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopRequest {
    /// It goes on.
    GoOn = 0,
    /// Games under way are finished, none is begun.
    AfterGames = 1,
    /// Games under way are given up: they count as never played.
    Now = 2,
}

impl Stop {
    /// Nobody wishes to stop yet.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Wishes to stop; a wish cannot be taken back or made weaker.
    pub fn request(&self, wish: StopRequest) {
        self.wish.fetch_max(wish as u8, Ordering::Relaxed);
    }

    /// What is wished.
    pub fn requested(&self) -> StopRequest {
        match self.wish.load(Ordering::Relaxed) {
            0 => StopRequest::GoOn,
            1 => StopRequest::AfterGames,
            _ => StopRequest::Now,
        }
    }
}
