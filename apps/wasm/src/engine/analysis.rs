//! The engine's opinion of a position, deeper with every slice.

use std::time::Duration;

use tabia_search::{Limits, Player, SearchControl as _};

use super::{GameInput, Thought};
use crate::{Fault, stopwatch::Stopwatch};

/// An engine that remembers what it was last asked.
pub(super) struct Analyst {
    engine: Box<dyn Player>,
    last: Option<(GameInput, usize, Thought)>,
}

impl Analyst {
    pub(super) fn new(engine: Box<dyn Player>) -> Analyst {
        Analyst { engine, last: None }
    }

    /// Thinks for a while. Asked for the same again it goes on: its table knows what it has seen, and the deepest
    /// answer counts.
    pub(super) fn slice(&mut self, game: &GameInput, lines: usize, time: Duration) -> Result<Thought, Fault> {
        let history = game.history()?;
        let limits = Limits { movetime: Some(time), lines, ..Limits::default() };
        let watch = Stopwatch::start();
        let choice = self.engine.choose(&history, &limits, &watch)?;
        let mut thought = Thought::new(history.current(), &choice, watch.elapsed());
        if let Some((asked, so_many, before)) = self.last.take()
            && asked == *game
            && so_many == lines
        {
            let (nodes, seconds) = (before.nodes + thought.nodes, before.seconds + thought.seconds);
            if depth(&before) > depth(&thought) {
                thought = before;
            }
            (thought.nodes, thought.seconds) = (nodes, seconds);
        }
        self.last = Some((game.clone(), lines, thought.clone()));
        Ok(thought)
    }
}

fn depth(thought: &Thought) -> u32 {
    thought.lines.first().map_or(0, |line| line.depth)
}
