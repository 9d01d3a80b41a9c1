//! Iterative deepening with aspiration windows.

use std::time::Duration;

use shakmaty::{Chess, Move};

use super::{
    root::RootMove,
    search::Search,
    time::{Stability, scaled},
    value::{DRAW, INFINITE, MAX_EVAL, MAX_PLY, is_decisive, mate_distance, score},
    window::Window,
};
use crate::{
    Line,
    winning_chance::{score_of_chance, winning_chance},
};

/// What a search aims at, and when it ends by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goals {
    /// Maximum depth.
    pub(super) depth: i32,
    /// The number of lines (MultiPV).
    pub(super) lines: usize,
    /// The largest loss of winning chance of a line.
    pub(super) within: Option<f64>,
    /// The soft time limit.
    pub(super) soft: Option<Duration>,
    /// Stop at a mate in this many plies.
    pub(super) mate: Option<u32>,
    /// Whether to stop early when the move cannot change.
    pub(super) early_stop: EarlyStop,
}

/// Whether a search may stop early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EarlyStop {
    /// Saved time counts.
    Allowed,
    /// The requested search is completed.
    Never,
}

/// The maximum depth of an iteration.
pub(super) const MAX_DEPTH: i32 = MAX_PLY as i32 - 8;

/// From this depth on the window is narrow.
const ASPIRATION_DEPTH: i32 = 5;
/// Beyond this margin the window is opened fully.
const WIDEST_MARGIN: i32 = 600;

/// With [`Goals::within`], one node in this many goes to the best move alone, so that the others are compared with a
/// reliable value.
const ALONE_FOR: u64 = 5;

/// The role of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadRole {
    /// It reports, keeps the time and gives the result.
    Main,
    /// It fills the table; numbered from 1.
    Helper(usize),
}

impl Search<'_> {
    /// Deepens until stopped or the goals are met. Leaves the best moves in front.
    pub(super) fn iterate(
        &mut self,
        position: &Chess,
        moves: &mut [RootMove],
        goals: &Goals,
        role: ThreadRole,
    ) {
        self.init_root(position);
        self.order_candidates(position, moves);
        let mut stability = Stability::default();
        let mut depth = 1;
        let budgeted = goals.within.is_some() && self.shared.node_limit < u64::MAX;
        let mut lines = if budgeted { 1 } else { goals.lines };
        let mut reported = None;
        while depth <= goals.depth {
            self.root_depth = depth;
            let before = (moves[0].m, moves[0].latest());
            let found = self.deepen(position, moves, goals, lines);
            if role == ThreadRole::Main {
                for (candidate, rank) in moves[..found].iter().zip(1..) {
                    self.shared.control.report(&self.line(candidate, rank, goals));
                }
                if found > 0 {
                    reported = Some(moves[0].m);
                }
            }
            if self.poller.stopped() {
                break;
            }
            if lines < goals.lines {
                self.assume_others_worse(moves, goals);
                if self.shared.nodes() + self.poller.unreported_nodes() >= self.shared.node_limit / ALONE_FOR
                {
                    // Repeat the depth with the other lines.
                    lines = goals.lines;
                    continue;
                }
            }
            stability = stability.after(before, moves);
            if role == ThreadRole::Main && self.should_stop(moves, goals, stability) {
                break;
            }
            depth += match role {
                // Helpers skip some depths, to diversify.
                ThreadRole::Helper(number) if (depth.unsigned_abs() as usize + number).is_multiple_of(3) => 2,
                ThreadRole::Helper(_) | ThreadRole::Main => 1,
            };
        }
        // With `within`, values stay as found: an old one says more than a bound.
        if goals.within.is_none() {
            keep_in_order(moves);
        }
        self.poller.poll(self.shared);
        // A stopped iteration may have found another best move, or nothing has been reported yet.
        if role == ThreadRole::Main && goals.within.is_none() && reported != Some(moves[0].m) {
            self.report_last(position, &moves[..goals.lines.clamp(1, moves.len())], goals);
        }
    }

    /// Reports the final lines of a stopped search. Moves without a value get the static evaluation.
    fn report_last(&mut self, position: &Chess, moves: &[RootMove], goals: &Goals) {
        let still = score(self.evaluate(position));
        for (candidate, rank) in moves.iter().zip(1..) {
            let line = self.line(candidate, rank, goals);
            self.shared.control.report(&Line { score: line.score.or(Some(still)), ..line });
        }
    }

    /// One iteration over all lines. Returns the number of lines, or 0 if stopped.
    fn deepen(&mut self, position: &Chess, moves: &mut [RootMove], goals: &Goals, lines: usize) -> usize {
        for candidate in &mut *moves {
            candidate.carry_over();
        }
        let lines = lines.clamp(1, moves.len());
        for rank in 0..lines {
            let floor = match (goals.within, moves[0].latest()) {
                (Some(within), Some(best)) if rank > 0 => worst(best, within),
                _ => -INFINITE,
            };
            let value = self.aspiration_search(position, &mut moves[rank..], floor);
            if !self.poller.stopped() && value <= floor {
                for candidate in &mut moves[rank..] {
                    candidate.is_at_most(floor);
                }
                return rank;
            }
            moves[..=rank].sort_by_key(|candidate| -candidate.latest().unwrap_or(-INFINITE));
            if self.poller.stopped() {
                return 0;
            }
        }
        lines
    }

    /// Assumes that all moves but the best lose too much until they are searched.
    fn assume_others_worse(&self, moves: &mut [RootMove], goals: &Goals) {
        let Some((best, others)) = moves.split_first_mut() else { return };
        if let (Some(within), Some(value)) = (goals.within, best.latest()) {
            let floor = worst(value, within);
            others.iter_mut().for_each(|candidate| candidate.assume_at_most(floor));
        }
    }

    /// Searches `moves` with a growing window around their last value, until the value lies inside or is at most `floor`.
    fn aspiration_search(&mut self, position: &Chess, moves: &mut [RootMove], floor: i32) -> i32 {
        let depth = self.root_depth;
        let mut margin = self.shared.parameters.aspiration;
        let mut window = match moves[0].latest() {
            Some(value) if depth >= ASPIRATION_DEPTH && !is_decisive(value) => {
                Window { alpha: value - margin, beta: value + margin }
            }
            _ => Window::FULL,
        };
        loop {
            window.alpha = window.alpha.max(floor);
            window.beta = window.beta.max(window.alpha + 1);
            let value = self.search_root(position, moves, depth, window);
            let inside = value > window.alpha && value < window.beta;
            if self.poller.stopped() || inside || value <= floor {
                return value;
            }
            margin += margin / 2 + 5;
            let far = margin > WIDEST_MARGIN || is_decisive(value);
            if value <= window.alpha {
                window.beta = (window.alpha + window.beta) / 2;
                window.alpha = if far { -INFINITE } else { value - margin };
                window.beta = window.beta.max(window.alpha + 1);
            } else {
                window.beta = if far { INFINITE } else { value + margin };
            }
        }
    }

    fn should_stop(&self, moves: &[RootMove], goals: &Goals, stability: Stability) -> bool {
        let value = moves[0].latest().unwrap_or(DRAW);
        let mate = mate_distance(value);
        if value > 0 && goals.mate.is_some_and(|wanted| mate.is_some_and(|found| found <= wanted)) {
            return true;
        }
        if goals.early_stop == EarlyStop::Allowed {
            let known = mate.is_some_and(|plies| 2 * plies.cast_signed() <= self.root_depth);
            if known || moves.len() == 1 {
                return true;
            }
        }
        goals.soft.is_some_and(|soft| self.shared.control.elapsed() >= scaled(soft, stability))
    }

    /// The output line of a candidate. With `within`, a bound is reported where there is no value.
    pub(super) fn line(&self, candidate: &RootMove, rank: usize, goals: &Goals) -> Line {
        let depth = candidate.depth.unsigned_abs();
        let seldepth = u32::try_from(candidate.seldepth).expect("lines are short");
        let shown = if goals.within.is_some() { candidate.shown_or_bounded() } else { candidate.shown() };
        // A table knows the result, and a mate says more.
        let by_table =
            candidate.table.filter(|_| shown.is_none_or(|(value, _)| mate_distance(value).is_none()));
        Line {
            rank,
            depth,
            seldepth: seldepth.max(depth),
            score: by_table.or(shown.map(|(value, _)| value)).map(score),
            upper_bound: by_table.is_none() && shown.is_some_and(|(_, upper_bound)| upper_bound),
            wdl: None,
            think_time: None,
            probability: None,
            nodes: self.shared.nodes() + self.poller.unreported_nodes(),
            table_permille: Some(self.shared.table.hashfull()),
            tablebase_hits: self.shared.probe.hits(),
            moves: candidate.line.clone(),
        }
    }
}

/// Lines that a stopped iteration did not reach have values of the iteration before: caps them by the lines above.
fn keep_in_order(moves: &mut [RootMove]) {
    let mut above = INFINITE;
    for candidate in moves {
        candidate.lower_to(above);
        above = candidate.latest().unwrap_or(above);
    }
}

/// The lowest value within this loss of winning chance.
fn worst(best: i32, within: f64) -> i32 {
    // The cast saturates.
    (score_of_chance(winning_chance(score(best)) - within) as i32).clamp(-INFINITE, MAX_EVAL)
}

impl Stability {
    /// The stability after an iteration that began with this best move and value.
    fn after(self, before: (Move, Option<i32>), moves: &[RootMove]) -> Stability {
        let (best, value) = (moves[0].m, moves[0].latest());
        let total: u64 = moves.iter().map(|candidate| candidate.nodes).sum();
        let effort = moves[0].nodes * 1000 / total.max(1);
        Stability {
            unchanged: if best == before.0 { self.unchanged + 1 } else { 0 },
            fell: before.1.zip(value).map_or(0, |(then, now)| then - now),
            effort: u32::try_from(effort).expect("a part of a thousand"),
        }
    }
}
