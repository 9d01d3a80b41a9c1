//! A chess engine over any evaluation: principal variation search with a shared transposition table.
//!
//! [`iterate`] is iterative deepening with aspiration windows, [`root`] the root node, [`search`] a node,
//! [`node_pruning`] null moves, razoring, ProbCut and table cutoffs, [`quiescence`] the quiescence search, [`ordering`] and
//! [`histories`] move ordering, [`corrections`] correction history, [`pruning`] the margins, [`parameters`] all numbers of
//! selectivity, [`tablebase`] endgame tables, [`transposition_table`] the table, [`time`] time management.

mod bench;
mod corrections;
mod histories;
mod iterate;
mod key;
mod key_history;
mod node_pruning;
mod ordering;
mod packed_move;
mod parameters;
mod pruning;
mod pv_table;
mod quiescence;
mod root;
mod search;
mod see;
mod shared;
#[cfg(feature = "syzygy")]
mod tablebase;
#[cfg(not(feature = "syzygy"))]
#[path = "no_tablebase.rs"]
mod tablebase;
#[cfg(test)]
mod tests;
mod time;
mod transposition_table;
mod value;
mod window;

#[cfg(target_family = "wasm")]
use std::sync::Mutex;
use std::time::Duration;

use shakmaty::Position;
use tabia_game::History;

pub use self::bench::{Bench, bench};
pub use self::parameters::{ParameterError, ParameterSpec, Parameters};
pub use self::see::is_quiet;
#[cfg(feature = "syzygy")]
pub use self::tablebase::TableUse;
use self::{
    corrections::Corrections,
    histories::Histories,
    iterate::{EarlyStop, Goals, MAX_DEPTH, ThreadRole},
    key_history::KeyHistory,
    root::RootMove,
    search::{Learnt, Search},
    shared::Shared,
    tablebase::{Tablebase, TreeProbe},
    time::TimeBudget,
    transposition_table::TranspositionTable,
};
use crate::{Choice, Evaluator, Limits, Line, SearchControl, SearchError};

/// The options of an [`Engine`].
#[derive(Clone, Debug, PartialEq)]
pub struct EngineOptions {
    /// The size of the transposition table in mebibytes.
    pub hash_mib: usize,
    /// The number of threads; in a browser no more than there are [helpers](tabia_threads::helpers), and one. Only one thread is
    /// deterministic.
    pub threads: usize,
    /// Time reserved on every move for lag.
    pub move_overhead: Duration,
    /// The limits of a search that is given none.
    pub default_limits: Limits,
    /// The numbers of the search.
    pub parameters: Parameters,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            hash_mib: 16,
            threads: 1,
            move_overhead: Duration::from_millis(10),
            default_limits: Limits { depth: Some(10), ..Limits::default() },
            parameters: Parameters::default(),
        }
    }
}

/// Stack size of threads, for long lines.
#[cfg(not(target_family = "wasm"))]
const STACK: usize = 16 << 20;

/// Principal variation search with a shared transposition table.
///
/// With one thread and a limit of depth or nodes it is deterministic: the same games give the same moves, scores and node
/// counts.
///
/// To ponder, search the position after the expected move with the real clocks and a [`SearchControl`] whose time does
/// not advance until that move has been made.
pub struct Engine {
    options: EngineOptions,
    table: TranspositionTable,
    tablebase: Tablebase,
    /// One per thread, the main thread first.
    threads: Vec<Thread>,
}

/// The state of a thread between searches.
struct Thread {
    evaluator: Box<dyn Evaluator>,
    histories: Histories,
    corrections: Corrections,
}

impl Engine {
    /// An engine over `evaluator`.
    pub fn new(options: EngineOptions, evaluator: Box<dyn Evaluator>) -> Engine {
        let table = TranspositionTable::new(options.hash_mib);
        let tablebase = Tablebase::default();
        let mut engine = Engine { options, table, tablebase, threads: vec![Thread::new(evaluator)] };
        engine.match_threads();
        engine
    }

    /// Its options.
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// Changes its options. A new table size clears the table.
    pub fn set_options(&mut self, options: EngineOptions) {
        if options.hash_mib != self.options.hash_mib {
            self.table = TranspositionTable::new(options.hash_mib);
        }
        self.options = options;
        self.match_threads();
    }

    /// Uses endgame tables, or none.
    #[cfg(feature = "syzygy")]
    pub fn set_tables(&mut self, tables: Option<TableUse>) {
        self.tablebase = Tablebase::of(tables);
        self.table.clear();
    }

    fn match_threads(&mut self) {
        let wanted = self.options.threads.clamp(1, most_threads());
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
        probe: &TreeProbe,
    ) -> (Vec<Line>, u64) {
        let time_budget = time::time_budget(limits, game.current().turn(), self.options.move_overhead);
        let goals = goals(limits, time_budget);
        let mut shared = Shared::new(&self.table, control, probe);
        shared.parameters = self.options.parameters;
        shared.hard = time_budget.hard;
        shared.node_limit = limits.nodes.unwrap_or(u64::MAX);
        let (main, helpers) = self.threads.split_first_mut().expect("there is always a main thread");
        let lines = with_helpers(helpers, &shared, game, moves, &goals, || {
            main.search(&shared, game, moves.to_vec(), &goals, ThreadRole::Main)
        });
        (lines, shared.nodes())
    }

    /// Clears what was learnt from the last game.
    pub fn new_game(&mut self) {
        self.table.clear();
        for thread in &mut self.threads {
            thread.histories.clear();
            thread.corrections.clear();
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
        let mut moves = root::candidates(game, &limits)?;
        let probe = self.tablebase.rank_root(game, &mut moves, limits.lines);
        // In a browser helpers may have come.
        self.match_threads();
        if self.threads[0].evaluator.depends_on_root() {
            self.table.clear();
            self.threads.iter_mut().for_each(|thread| thread.corrections.clear());
        } else {
            self.table.start_search();
        }
        for thread in &mut self.threads {
            thread.evaluator.set_root(game);
        }
        let (lines, nodes) = self.run(game, &limits, control, &moves, &probe);
        #[cfg(feature = "syzygy")]
        if let Some(failure) = self.tablebase.failure() {
            return Err(failure.into());
        }
        if let Some(failure) = self.threads.iter_mut().find_map(|thread| thread.evaluator.failure()) {
            return Err(failure.into());
        }
        let best = &lines[0].moves;
        Ok(Choice { mv: best[0], ponder: best.get(1).copied(), nodes, lines })
    }
}

impl Thread {
    fn new(evaluator: Box<dyn Evaluator>) -> Thread {
        Thread { evaluator, histories: Histories::new(), corrections: Corrections::new() }
    }

    fn search(
        &mut self,
        shared: &Shared<'_>,
        game: &History,
        mut moves: Vec<RootMove>,
        goals: &Goals,
        role: ThreadRole,
    ) -> Vec<Line> {
        let evaluator = self.evaluator.as_mut();
        let learnt = Learnt { histories: &mut self.histories, corrections: &mut self.corrections };
        let mut search = Search::new(shared, evaluator, learnt, KeyHistory::of(game));
        search.iterate(game.current(), &mut moves, goals, role);
        if moves.iter().any(|candidate| candidate.table.is_some()) {
            moves.sort_by_key(|candidate| std::cmp::Reverse(candidate.table));
        }
        let wanted = goals.lines.clamp(1, moves.len());
        moves[..wanted].iter().zip(1..).map(|(candidate, rank)| search.line(candidate, rank, goals)).collect()
    }
}

/// Runs the main thread and the helpers.
#[cfg(not(target_family = "wasm"))]
fn with_helpers<T>(
    helpers: &mut [Thread],
    shared: &Shared<'_>,
    game: &History,
    moves: &[RootMove],
    goals: &Goals,
    main: impl FnOnce() -> T,
) -> T {
    std::thread::scope(|scope| {
        for (helper, number) in helpers.iter_mut().zip(1..) {
            let work = move || {
                helper.search(shared, game, moves.to_vec(), goals, ThreadRole::Helper(number));
            };
            // A helper that cannot be started is left out.
            let _refused = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        }
        let found = main();
        shared.stop();
        found
    })
}

/// The same in a browser, where helpers come by themselves.
#[cfg(target_family = "wasm")]
fn with_helpers<T>(
    helpers: &mut [Thread],
    shared: &Shared<'_>,
    game: &History,
    moves: &[RootMove],
    goals: &Goals,
    main: impl FnOnce() -> T,
) -> T {
    let most = 1 + helpers.len();
    let states: Vec<Mutex<&mut Thread>> = helpers.iter_mut().map(Mutex::new).collect();
    let lead = |_: &tabia_threads::Member<'_>| {
        let found = main();
        shared.stop();
        found
    };
    tabia_threads::with_team(most, lead, &|member| {
        let number = member.index();
        if let Some(Ok(mut helper)) = states.get(number - 1).map(Mutex::lock) {
            helper.search(shared, game, moves.to_vec(), goals, ThreadRole::Helper(number));
        }
    })
}

/// The most threads that a search can have.
fn most_threads() -> usize {
    if cfg!(target_family = "wasm") { 1 + tabia_threads::helpers() } else { usize::MAX }
}

fn goals(limits: &Limits, time_budget: TimeBudget) -> Goals {
    let seldepth = MAX_DEPTH.unsigned_abs();
    let mut depth = limits.depth.unwrap_or(seldepth);
    if let Some(moves) = limits.mate.filter(|_| limits.depth.is_none() && !limits.infinite) {
        // Pruning may hide a mate for some plies, but not for this many.
        depth = moves.saturating_mul(4).saturating_add(8);
    }
    let timed = time_budget.hard.is_some() && limits.depth.is_none() && limits.nodes.is_none();
    Goals {
        depth: depth.clamp(1, seldepth).cast_signed(),
        lines: limits.lines.max(1),
        within: limits.within,
        soft: time_budget.soft,
        mate: limits.mate.map(|moves| moves.saturating_mul(2).saturating_sub(1)),
        early_stop: if timed && limits.lines <= 1 { EarlyStop::Allowed } else { EarlyStop::Never },
    }
}
