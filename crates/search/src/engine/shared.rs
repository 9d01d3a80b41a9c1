//! What the threads of one search share.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use super::{pruning::Selectivity, table::Table};
use crate::SearchControl;

/// The table, the wish to stop and the count of nodes.
pub(super) struct Shared<'a> {
    pub(super) table: &'a Table,
    pub(super) control: &'a dyn SearchControl,
    pub(super) selectivity: Selectivity,
    /// The time after which nothing is finished.
    pub(super) hard: Option<Duration>,
    pub(super) node_limit: u64,
    stop: AtomicBool,
    nodes: AtomicU64,
}

impl<'a> Shared<'a> {
    pub(super) fn new(table: &'a Table, control: &'a dyn SearchControl) -> Shared<'a> {
        Shared {
            table,
            control,
            selectivity: Selectivity::Selective,
            hard: None,
            node_limit: u64::MAX,
            stop: AtomicBool::new(false),
            nodes: AtomicU64::new(0),
        }
    }

    #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "a module has one thread"))]
    pub(super) fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Nodes of all threads, as far as they have told.
    pub(super) fn nodes(&self) -> u64 {
        self.nodes.load(Relaxed)
    }
}

/// A thread's count of nodes and its look at the outside world now and then.
pub(super) struct StopPoller {
    nodes: u64,
    /// How many of the nodes the others know of.
    told: u64,
    /// Nodes until the next look.
    countdown: u32,
    /// Nodes between two looks.
    interval: u32,
    last_look: Duration,
    stopped: bool,
}

/// Looks this far apart in time find a stop soon and cost nothing noticeable.
const OFTEN: Duration = Duration::from_micros(500);
const MOST_NODES_BETWEEN_LOOKS: u32 = 1024;

impl StopPoller {
    pub(super) fn new() -> StopPoller {
        StopPoller { nodes: 0, told: 0, countdown: 1, interval: 1, last_look: Duration::ZERO, stopped: false }
    }

    pub(super) fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Nodes that [`Shared::nodes`] does not count yet.
    pub(super) fn untold(&self) -> u64 {
        self.nodes - self.told
    }

    /// Whether the search is over, and values mean nothing.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Counts a node.
    pub(super) fn beat(&mut self, shared: &Shared<'_>) {
        if self.nodes >= shared.node_limit {
            self.stopped = true;
            return;
        }
        self.nodes += 1;
        self.countdown -= 1;
        if self.countdown == 0 {
            self.look(shared);
        }
    }

    /// Tells the others of this thread's nodes and listens whether to stop.
    pub(super) fn look(&mut self, shared: &Shared<'_>) {
        let total = shared.nodes.fetch_add(self.untold(), Relaxed) + self.untold();
        self.told = self.nodes;
        let now = shared.control.elapsed();
        self.stopped |= shared.stop.load(Relaxed)
            || total >= shared.node_limit
            || shared.hard.is_some_and(|hard| now >= hard)
            || shared.control.stopped();
        // Evaluations take from a fraction of a microsecond to many milliseconds: look by time, not by nodes.
        let gap = now.saturating_sub(self.last_look);
        self.last_look = now;
        if gap < OFTEN / 2 {
            self.interval = (self.interval * 2).min(MOST_NODES_BETWEEN_LOOKS);
        } else if gap > OFTEN * 2 {
            self.interval = (self.interval / 2).max(1);
        }
        self.countdown = self.interval;
    }
}
