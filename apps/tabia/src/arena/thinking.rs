//! How long the players of a contest think.

use std::time::Duration;

use tabia_game::TimeControl;
use tabia_search::{Budget, NetSearch, Spec};

use crate::cli::LimitArgs;

/// Time for a move when nothing else is said.
const USUAL_MOVE: Duration = Duration::from_millis(100);

/// How long the players of a contest think: clocks for all, or a budget for those who search and have none of their own.
///
/// The levels, networks that look one ply ahead and players from probabilities take what they take; only clocks can
/// hurry them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Thinking {
    /// The clocks; the budget is empty then.
    pub(crate) control: Option<TimeControl>,
    /// For each move.
    pub(crate) budget: Budget,
    /// How much longer than allowed a move may take.
    pub(crate) margin: Duration,
}

impl From<&LimitArgs> for Thinking {
    fn from(args: &LimitArgs) -> Thinking {
        let asked = Budget {
            depth: args.depth,
            nodes: args.nodes,
            movetime: args.movetime.map(Duration::from_millis),
        };
        let usual = Budget { movetime: Some(USUAL_MOVE), ..Budget::default() };
        let budget = if asked.is_empty() && args.tc.is_none() { usual } else { asked };
        let margin = args.margin.unwrap_or(if args.tc.is_some() { 100 } else { 1000 });
        Thinking { control: args.tc.clone(), budget, margin: Duration::from_millis(margin) }
    }
}

impl Thinking {
    /// For players who need no limit.
    pub(crate) fn unlimited() -> Thinking {
        Thinking { control: None, budget: Budget::default(), margin: Duration::ZERO }
    }

    /// The spec with the budget filled in where it has none.
    pub(crate) fn fill_in(&self, spec: &Spec) -> Spec {
        let mut spec = spec.clone();
        if let Some(own) = budget_of(&mut spec)
            && own.is_empty()
        {
            *own = self.budget.clone();
        }
        spec
    }

    /// What ties games to it.
    pub(crate) fn describe(&self) -> String {
        let allowed = tabia_arena::Budget {
            depth: self.budget.depth,
            nodes: self.budget.nodes,
            movetime: self.budget.movetime,
            control: self.control.clone(),
            margin: self.margin,
        };
        allowed.to_string()
    }
}

/// The budget of a spec whose player searches.
pub(super) fn budget_of(spec: &mut Spec) -> Option<&mut Budget> {
    match spec {
        Spec::Engine(engine) => Some(&mut engine.settings.budget),
        Spec::Uci(process) => Some(&mut process.budget),
        Spec::Net(net) => match &mut net.search {
            NetSearch::AlphaBeta(settings) => Some(&mut settings.budget),
            NetSearch::OnePly => None,
        },
        Spec::Level(_) | Spec::Human(_) | Spec::Maia(_) | Spec::Random { .. } => None,
    }
}
