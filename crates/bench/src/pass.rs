#![expect(clippy::disallowed_methods, reason = "part of a program: it reads the clock")]

use std::time::{Duration, Instant};

use crate::{Contender, Round};

/// Appends its outputs and returns the time it took.
type Evaluate<'a> = dyn FnMut(&mut Vec<f32>) -> Duration + 'a;

/// A contender that evaluates everything once a round.
pub struct Pass<'a> {
    /// Its name in the table.
    pub name: String,
    evaluate: Box<Evaluate<'a>>,
    work: usize,
    /// The outputs of the last round.
    pub outputs: Vec<f32>,
}

impl<'a> Pass<'a> {
    /// Times `evaluate`, which appends its outputs for `work` evaluations.
    pub fn new(name: String, work: usize, mut evaluate: impl FnMut(&mut Vec<f32>) + 'a) -> Box<Self> {
        Pass::self_timed(name, work, move |outputs| {
            let started = Instant::now();
            evaluate(outputs);
            started.elapsed()
        })
    }

    /// The same for an `evaluate` that returns the time it took.
    pub fn self_timed(
        name: String,
        work: usize,
        evaluate: impl FnMut(&mut Vec<f32>) -> Duration + 'a,
    ) -> Box<Self> {
        Box::new(Pass { name, evaluate: Box::new(evaluate), work, outputs: Vec::new() })
    }
}

impl Contender for Pass<'_> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn round(&mut self) -> Round {
        self.outputs.clear();
        let time = (self.evaluate)(&mut self.outputs);
        Round { work: self.work as u64, time }
    }
}
