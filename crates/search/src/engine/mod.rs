//! A chess engine over any evaluation: principal variation search with a shared transposition table.
//!
//! One idea per file. [`iterate`] deepens, [`root`] holds the candidates, [`search`] is a node, [`shortcuts`] what it
//! need not look at, [`quiescence`] the end of a line; [`ordering`] and [`histories`] say what to try first, [`pruning`] what not to try, [`time`] for how long.

mod bench;
mod histories;
mod iterate;
mod key;
mod key_history;
mod ordering;
mod packed;
mod pruning;
mod pv_table;
mod quiescence;
mod root;
mod search;
mod see;
mod shared;
mod shortcuts;
mod table;
#[cfg(test)]
mod tests;
mod time;
mod value;
mod window;

use std::time::Duration;

use shakmaty::Position;
use tabia_game::History;

pub use self::bench::{Bench, bench};
pub use self::see::is_quiet;
use self::{
    histories::Histories,
    iterate::{DEEPEST, Goals, Part, Patience},
    key_history::KeyHistory,
    root::RootMove,
    search::Search,
    shared::Shared,
    table::Table,
    time::Budget,
};
use crate::{Choice, Evaluator, Limits, Line, SearchControl, SearchError};

/// How an [`Engine`] is set up.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineOptions {
    /// The size of the transposition table in mebibytes.
    pub hash_mib: usize,
    /// How many threads search; in a browser one does, whatever this says. Only one thread is deterministic.
    pub threads: usize,
    /// Time kept back on every move for the way to the clock.
    pub move_overhead: Duration,
    /// The limits of a search that is given none.
    pub default_limits: Limits,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            hash_mib: 16,
            threads: 1,
            move_overhead: Duration::from_millis(10),
            default_limits: Limits { depth: Some(10), ..Limits::default() },
        }
    }
}

/// Threads are given this much stack: lines can be long.
#[cfg(not(target_family = "wasm"))]
const STACK: usize = 16 << 20;

/// A player that searches.
///
/// With one thread and a limit of depth or nodes it is deterministic: the same games lead to the same moves, values
/// and node counts.
///
/// To think on the opponent's time, let it choose in the position after the expected move, with the real clocks and a
/// [`SearchControl`] whose time stands still until that move has been made.
pub struct Engine {
    options: EngineOptions,
    table: Table,
    /// One for each thread, the lead first.
    threads: Vec<Thread>,
}

/// What a thread keeps between searches.
struct Thread {
    evaluator: Box<dyn Evaluator>,
    histories: Histories,
}

impl Engine {
    /// An engine that judges positions by `evaluator`.
    pub fn new(options: EngineOptions, evaluator: Box<dyn Evaluator>) -> Engine {
        let table = Table::new(options.hash_mib);
        let mut engine = Engine { options, table, threads: vec![Thread::new(evaluator)] };
        engine.match_threads();
        engine
    }

    /// How it is set up.
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// Sets it up anew. Another size of the table empties it.
    pub fn set_options(&mut self, options: EngineOptions) {
        if options.hash_mib != self.options.hash_mib {
            self.table = Table::new(options.hash_mib);
        }
        self.options = options;
        self.match_threads();
    }

    fn match_threads(&mut self) {
        let wanted = if cfg!(target_family = "wasm") { 1 } else { self.options.threads.max(1) };
        self.threads.truncate(wanted);
        while self.threads.len() < wanted {
            let evaluator = self.threads[0].evaluator.fork();
            self.threads.push(Thread::new(evaluator));
        }
    }

    fn run(
        &mut self,
        game: &History,
        limits: &Limits,
        control: &dyn SearchControl,
        moves: &[RootMove],
    ) -> (Vec<Line>, u64) {
        let budget = time::budget(limits, game.current().turn(), self.options.move_overhead);
        let goals = goals(limits, budget);
        let mut shared = Shared::new(&self.table, control);
        shared.hard = budget.hard;
        shared.node_limit = limits.nodes.unwrap_or(u64::MAX);
        let (lead, helpers) = self.threads.split_first_mut().expect("there is always a lead");
        let lines = with_helpers(helpers, &shared, game, moves, &goals, || {
            lead.search(&shared, game, moves.to_vec(), &goals, Part::Lead)
        });
        (lines, shared.nodes())
    }

    /// Clears what was learnt from the last game.
    pub fn new_game(&mut self) {
        self.table.clear();
        for thread in &mut self.threads {
            thread.histories.clear();
        }
    }

    /// Searches the current position of `game`.
    ///
    /// # Errors
    /// If there is no legal move to search, or the evaluator's network fails.
    pub fn search(
        &mut self,
        game: &History,
        limits: &Limits,
        control: &dyn SearchControl,
    ) -> Result<Choice, SearchError> {
        let limits = if limits.is_unlimited() {
            limits.replaced_by(&self.options.default_limits)
        } else {
            limits.clone()
        };
        let moves = root::candidates(game, &limits)?;
        if self.threads[0].evaluator.depends_on_root() {
            self.table.clear();
        } else {
            self.table.grow_older();
        }
        for thread in &mut self.threads {
            thread.evaluator.set_root(game);
        }
        let (lines, nodes) = self.run(game, &limits, control, &moves);
        if let Some(failure) = self.threads.iter_mut().find_map(|thread| thread.evaluator.failure()) {
            return Err(failure.into());
        }
        let best = &lines[0].moves;
        Ok(Choice { mv: best[0], ponder: best.get(1).copied(), nodes, lines })
    }
}

impl Thread {
    fn new(evaluator: Box<dyn Evaluator>) -> Thread {
        Thread { evaluator, histories: Histories::new() }
    }

    fn search(
        &mut self,
        shared: &Shared<'_>,
        game: &History,
        mut moves: Vec<RootMove>,
        goals: &Goals,
        part: Part,
    ) -> Vec<Line> {
        let evaluator = self.evaluator.as_mut();
        let mut search = Search::new(shared, evaluator, &mut self.histories, KeyHistory::of(game));
        search.iterate(game.current(), &mut moves, goals, part);
        let wanted = goals.lines.clamp(1, moves.len());
        moves[..wanted].iter().zip(1..).map(|(candidate, rank)| search.line(candidate, rank, goals)).collect()
    }
}

/// Lets `lead` search while the helpers do.
#[cfg(not(target_family = "wasm"))]
fn with_helpers<T>(
    helpers: &mut [Thread],
    shared: &Shared<'_>,
    game: &History,
    moves: &[RootMove],
    goals: &Goals,
    lead: impl FnOnce() -> T,
) -> T {
    std::thread::scope(|scope| {
        for (helper, number) in helpers.iter_mut().zip(1..) {
            let work = move || {
                helper.search(shared, game, moves.to_vec(), goals, Part::Helper(number));
            };
            // A helper that cannot be had is done without.
            let _refused = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        }
        let found = lead();
        shared.stop();
        found
    })
}

/// There is one thread in a browser.
#[cfg(target_family = "wasm")]
fn with_helpers<T>(
    _: &mut [Thread],
    _: &Shared<'_>,
    _: &History,
    _: &[RootMove],
    _: &Goals,
    lead: impl FnOnce() -> T,
) -> T {
    lead()
}

fn goals(limits: &Limits, budget: Budget) -> Goals {
    let deepest = DEEPEST.unsigned_abs();
    let mut depth = limits.depth.unwrap_or(deepest);
    if let Some(moves) = limits.mate.filter(|_| limits.depth.is_none() && !limits.infinite) {
        // Pruning may hide a mate for some plies, but not for so many.
        depth = moves.saturating_mul(4).saturating_add(8);
    }
    let timed = budget.hard.is_some() && limits.depth.is_none() && limits.nodes.is_none();
    Goals {
        depth: depth.clamp(1, deepest).cast_signed(),
        lines: limits.lines.max(1),
        within: limits.within,
        soft: budget.soft,
        mate: limits.mate.map(|moves| moves.saturating_mul(2).saturating_sub(1)),
        patience: if timed && limits.lines <= 1 { Patience::Eager } else { Patience::Thorough },
    }
}
