//! Iterative deepening: one ply more at a time, from a narrow window around the last value.

use std::time::Duration;

use shakmaty::{Chess, Move};

use super::{
    root::RootMove,
    search::Search,
    time::{Course, scaled},
    value::{DRAW, INFINITE, MAX_EVAL, MAX_PLY, is_decided, mate_distance, score},
    window::Window,
};
use crate::{
    Line,
    winning_chance::{score_of_chance, winning_chance},
};

/// When a search ends by itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Goals {
    /// Plies to look ahead.
    pub(super) depth: i32,
    /// How many of the best moves are wanted.
    pub(super) lines: usize,
    /// How much of the chance to win a move may cost to be one of them.
    pub(super) within: Option<f64>,
    /// The time after which no new iteration is begun.
    pub(super) soft: Option<Duration>,
    /// A mate in this many plies is enough.
    pub(super) mate: Option<u32>,
    /// Whether a search may end early when more of it cannot change the move.
    pub(super) patience: Patience,
}

/// Whether there is anything to gain from ending early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patience {
    /// The time saved is worth something.
    Eager,
    /// All that was asked for is looked at.
    Thorough,
}

/// The deepest iteration.
pub(super) const DEEPEST: i32 = MAX_PLY as i32 - 8;

/// From this depth on the window is narrow.
const NARROW_FROM: i32 = 5;
const FIRST_MARGIN: i32 = 16;
/// A window that grew this wide is opened fully.
const WIDEST_MARGIN: i32 = 600;

/// Where only moves close to the best are wanted besides it, one part in so many of the nodes goes to the best alone, so
/// that they are held against what is true of it.
const ALONE_FOR: u64 = 5;

/// A thread's part in the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// It reports, keeps the time and has the last word.
    Lead,
    /// It fills the table for the others, this many threads after the lead.
    #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "a module has one thread"))]
    Helper(usize),
}

impl Search<'_> {
    /// Searches deeper and deeper until told to stop or the goals are met. The best moves are left in front.
    pub(super) fn iterate(&mut self, position: &Chess, moves: &mut [RootMove], goals: &Goals, part: Part) {
        self.begin(position);
        self.order_candidates(position, moves);
        let mut course = Course::default();
        let mut depth = 1;
        let budgeted = goals.within.is_some() && self.shared.node_limit < u64::MAX;
        let mut lines = if budgeted { 1 } else { goals.lines };
        let mut reported = None;
        while depth <= goals.depth {
            self.root_depth = depth;
            let before = (moves[0].m, moves[0].latest());
            let found = self.deepen(position, moves, goals, lines);
            if part == Part::Lead {
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
                self.take_for_worst(moves, goals);
                if self.shared.nodes() + self.poller.untold() >= self.shared.node_limit / ALONE_FOR {
                    // The same depth again, now with the others.
                    lines = goals.lines;
                    continue;
                }
            }
            course = course.after(before, moves);
            if part == Part::Lead && self.is_done(moves, goals, course) {
                break;
            }
            depth += match part {
                // Helpers skip a ply now and then, so as not to do all the same work.
                Part::Helper(number) if (depth.unsigned_abs() as usize + number).is_multiple_of(3) => 2,
                Part::Helper(_) | Part::Lead => 1,
            };
        }
        // Values that are weighed against each other stay as found: an old one says more than a bound.
        if goals.within.is_none() {
            keep_in_order(moves);
        }
        self.poller.look(self.shared);
        // An iteration that was stopped may have found another best move, and one that ended before the first ply has
        // reported none.
        if part == Part::Lead && goals.within.is_none() && reported != Some(moves[0].m) {
            self.report_last(position, &moves[..goals.lines.clamp(1, moves.len())], goals);
        }
    }

    /// Reports the candidates as a stopped search leaves them. What no ply was searched of has the value of the position.
    fn report_last(&mut self, position: &Chess, moves: &[RootMove], goals: &Goals) {
        let still = score(self.evaluate(position));
        for (candidate, rank) in moves.iter().zip(1..) {
            let line = self.line(candidate, rank, goals);
            self.shared.control.report(&Line { score: line.score.or(Some(still)), ..line });
        }
    }

    /// One iteration: the best moves one after the other. Returns how many there are, or none if it was stopped.
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
            let value = self.search_around(position, &mut moves[rank..], floor);
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

    /// Says of all moves but the best that they cost too much, until they are shown not to.
    fn take_for_worst(&self, moves: &mut [RootMove], goals: &Goals) {
        let Some((best, others)) = moves.split_first_mut() else { return };
        if let (Some(within), Some(value)) = (goals.within, best.latest()) {
            let floor = worst(value, within);
            others.iter_mut().for_each(|candidate| candidate.assume_at_most(floor));
        }
    }

    /// Searches `moves` with a window around their last value that grows until the value lies inside, or is shown to be
    /// no more than `floor`. Returns the value.
    fn search_around(&mut self, position: &Chess, moves: &mut [RootMove], floor: i32) -> i32 {
        let depth = self.root_depth;
        let mut margin = FIRST_MARGIN;
        let mut window = match moves[0].latest() {
            Some(value) if depth >= NARROW_FROM && !is_decided(value) => {
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
            let far = margin > WIDEST_MARGIN || is_decided(value);
            if value <= window.alpha {
                window.beta = (window.alpha + window.beta) / 2;
                window.alpha = if far { -INFINITE } else { value - margin };
                window.beta = window.beta.max(window.alpha + 1);
            } else {
                window.beta = if far { INFINITE } else { value + margin };
            }
        }
    }

    fn is_done(&self, moves: &[RootMove], goals: &Goals, course: Course) -> bool {
        let value = moves[0].latest().unwrap_or(DRAW);
        let mate = mate_distance(value);
        if value > 0 && goals.mate.is_some_and(|wanted| mate.is_some_and(|found| found <= wanted)) {
            return true;
        }
        if goals.patience == Patience::Eager {
            let known = mate.is_some_and(|plies| 2 * plies.cast_signed() <= self.root_depth);
            if known || moves.len() == 1 {
                return true;
            }
        }
        goals.soft.is_some_and(|soft| self.shared.control.elapsed() >= scaled(soft, course))
    }

    /// What to say of a candidate. Where values are weighed against each other, a bound is better than nothing.
    pub(super) fn line(&self, candidate: &RootMove, rank: usize, goals: &Goals) -> Line {
        let depth = candidate.depth.unsigned_abs();
        let deepest = u32::try_from(candidate.deepest).expect("lines are short");
        let shown = if goals.within.is_some() { candidate.shown_or_bounded() } else { candidate.shown() };
        Line {
            rank,
            depth,
            deepest: deepest.max(depth),
            score: shown.map(|(value, _)| score(value)),
            upper_bound: shown.is_some_and(|(_, upper_bound)| upper_bound),
            wdl: None,
            think_time: None,
            probability: None,
            nodes: self.shared.nodes() + self.poller.untold(),
            table_permille: Some(self.shared.table.permille()),
            moves: candidate.line.clone(),
        }
    }
}

/// A search that was stopped has not looked again at the last of the best moves: they have values of the iteration before.
/// As far as it got, none of them was better than those before it.
fn keep_in_order(moves: &mut [RootMove]) {
    let mut above = INFINITE;
    for candidate in moves {
        candidate.lower_to(above);
        above = candidate.latest().unwrap_or(above);
    }
}

/// The least a move may be worth that costs no more than `within` of the chance to win.
fn worst(best: i32, within: f64) -> i32 {
    // Too large a number becomes the largest.
    (score_of_chance(winning_chance(score(best)) - within) as i32).clamp(-INFINITE, MAX_EVAL)
}

impl Course {
    /// The course after another iteration, which began with `before` as the best move and its value.
    fn after(self, before: (Move, Option<i32>), moves: &[RootMove]) -> Course {
        let (best, value) = (moves[0].m, moves[0].latest());
        let total: u64 = moves.iter().map(|candidate| candidate.nodes).sum();
        let effort = moves[0].nodes * 1000 / total.max(1);
        Course {
            unchanged: if best == before.0 { self.unchanged + 1 } else { 0 },
            fell: before.1.zip(value).map_or(0, |(then, now)| then - now),
            effort: u32::try_from(effort).expect("a part of a thousand"),
        }
    }
}
