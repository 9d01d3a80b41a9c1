//! State shared by the threads of a search.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use super::{
    parameters::Parameters, pruning::Selectivity, tablebase::TreeProbe,
    transposition_table::TranspositionTable,
};
use crate::SearchControl;

/// The table, the stop flag and the node count.
pub(super) struct Shared<'a> {
    pub(super) table: &'a TranspositionTable,
    pub(super) control: &'a dyn SearchControl,
    pub(super) probe: &'a TreeProbe,
    pub(super) selectivity: Selectivity,
    pub(super) parameters: Parameters,
    /// The hard time limit.
    pub(super) hard: Option<Duration>,
    pub(super) node_limit: u64,
    stop: AtomicBool,
    nodes: AtomicU64,
}

impl<'a> Shared<'a> {
    pub(super) fn new(
        table: &'a TranspositionTable,
        control: &'a dyn SearchControl,
        probe: &'a TreeProbe,
    ) -> Shared<'a> {
        Shared {
            table,
            control,
            probe,
            selectivity: Selectivity::Selective,
            parameters: Parameters::default(),
            hard: None,
            node_limit: u64::MAX,
            stop: AtomicBool::new(false),
            nodes: AtomicU64::new(0),
        }
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Nodes reported by all threads.
    pub(super) fn nodes(&self) -> u64 {
        self.nodes.load(Relaxed)
    }
}

/// The node counter of a thread, which polls time and stop requests now and then.
pub(super) struct StopPoller {
    nodes: u64,
    /// Nodes already added to the shared count.
    reported_nodes: u64,
    /// Nodes until the next poll.
    countdown: u32,
    /// Nodes between polls.
    interval: u32,
    last_poll: Duration,
    stopped: bool,
}

/// Target time between polls.
const POLL_INTERVAL: Duration = Duration::from_micros(500);
const MAX_NODES_BETWEEN_POLLS: u32 = 1024;

impl StopPoller {
    pub(super) fn new() -> StopPoller {
        StopPoller {
            nodes: 0,
            reported_nodes: 0,
            countdown: 1,
            interval: 1,
            last_poll: Duration::ZERO,
            stopped: false,
        }
    }

    pub(super) fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Nodes not yet in [`Shared::nodes`].
    pub(super) fn unreported_nodes(&self) -> u64 {
        self.nodes - self.reported_nodes
    }

    /// Whether the search is over, which makes values meaningless.
    pub(super) fn stopped(&self) -> bool {
        self.stopped
    }

    /// Counts a node.
    pub(super) fn count_node(&mut self, shared: &Shared<'_>) {
        if self.nodes >= shared.node_limit {
            self.stopped = true;
            return;
        }
        self.nodes += 1;
        self.countdown -= 1;
        if self.countdown == 0 {
            self.poll(shared);
        }
    }

    /// Adds to the shared count and checks for a stop.
    pub(super) fn poll(&mut self, shared: &Shared<'_>) {
        let total = shared.nodes.fetch_add(self.unreported_nodes(), Relaxed) + self.unreported_nodes();
        self.reported_nodes = self.nodes;
        let now = shared.control.elapsed();
        self.stopped |= shared.stop.load(Relaxed)
            || total >= shared.node_limit
            || shared.hard.is_some_and(|hard| now >= hard)
            || shared.control.stopped();
        // Evaluations take from a fraction of a microsecond to many milliseconds: adapt the interval to time.
        let gap = now.saturating_sub(self.last_poll);
        self.last_poll = now;
        if gap < POLL_INTERVAL / 2 {
            self.interval = (self.interval * 2).min(MAX_NODES_BETWEEN_POLLS);
        } else if gap > POLL_INTERVAL * 2 {
            self.interval = (self.interval / 2).max(1);
        }
        self.countdown = self.interval;
    }
}
