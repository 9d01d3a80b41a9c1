use std::{sync::mpsc::Sender, time::Instant};

use super::{About, Fault, Thought};
use crate::message::{GameSoFar, Go, Info};

/// Everything that reaches the actor: wishes of its handle, and what its engine does.
pub(super) enum Message {
    /// Start the engine, if it does not run, and say what it is.
    About { reply: Sender<Result<About, Fault>> },
    /// Set an option, now and whenever the engine is started again.
    SetOption { name: String, value: Option<String>, reply: Sender<Result<(), Fault>> },
    /// The next position is of another game.
    NewGame { reply: Sender<Result<(), Fault>> },
    /// Choose a move.
    Think(Box<Think>),
    /// Answer now.
    Stop(ThinkId),
    /// The move pondered on was played.
    PonderHit(ThinkId),
    /// End the engine and the actor.
    Quit,
    /// The engine said a line.
    Said { process: u32, stream: Stream, line: String, at: Instant },
    /// The engine closed a stream, or ended.
    Ended { process: u32, stream: Stream },
}

/// A question to the engine.
pub(super) struct Think {
    pub(super) id: ThinkId,
    pub(super) game: GameSoFar,
    pub(super) go: Go,
    pub(super) hear: Box<dyn FnMut(&Info) + Send>,
    pub(super) reply: Sender<Result<Thought, Fault>>,
}

/// Which question an interruption is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ThinkId(pub(super) u64);

/// Where an engine said something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Output,
    Errors,
}
