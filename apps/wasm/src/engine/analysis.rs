//! Analysis in slices of time.

use std::time::Duration;

use tabia_players::{Limits, Player, SearchControl as _};

use super::{GameInput, Thought};
use crate::{Fault, stopwatch::Stopwatch};

/// An engine and its last request.
pub(super) struct Analyst {
    engine: Box<dyn Player>,
    /// The threads it searches with.
    threads: usize,
    last: Option<(GameInput, usize, Thought)>,
}

impl Analyst {
    pub(super) fn new(engine: Box<dyn Player>, threads: usize) -> Analyst {
        Analyst { engine, threads, last: None }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Searches for a slice of time. The same request again continues through the transposition table; the deepest result
    /// counts.
    pub(super) fn slice(&mut self, game: &GameInput, lines: usize, time: Duration) -> Result<Thought, Fault> {
        let history = game.history()?;
        let limits = Limits { movetime: Some(time), lines, ..Limits::default() };
        let stopwatch = Stopwatch::start();
        let choice = self.engine.choose(&history, &limits, &stopwatch)?;
        let mut thought = Thought::new(history.current(), &choice, stopwatch.elapsed());
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
