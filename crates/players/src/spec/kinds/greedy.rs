use std::fmt;

use tabia_game::History;
use tabia_search::{Choice, Limits, Line, SearchControl};

use super::super::{BuildError, ParseKind, PlayerContext, PlayerKind, SpecProblem, settings::Settings};
use crate::{Decision, Player, PlayerError, move_order};

/// `greedy`: the move that wins the most material at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GreedySpec;

impl ParseKind for GreedySpec {
    const NAME: &'static str = "greedy";
    const USAGE: &'static str = "greedy";

    fn parse(subject: Option<String>, _: &mut Settings) -> Result<GreedySpec, SpecProblem> {
        subject.map_or(Ok(GreedySpec), |_| Err(SpecProblem::Usage(Self::USAGE)))
    }
}

impl PlayerKind for GreedySpec {
    fn write(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    fn build(&self, _: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError> {
        Ok(Box::new(GreedyPlayer))
    }
}

struct GreedyPlayer;

impl Player for GreedyPlayer {
    fn name(&self) -> String {
        "Greedy".to_owned()
    }

    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        _: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        // Ordered by material gain.
        let mv = move_order::candidates(game, limits)?[0];
        let line = Line { rank: 1, moves: vec![mv], ..Line::default() };
        Ok(Choice { mv, ponder: None, lines: vec![line], nodes: 0 }.into())
    }
}
