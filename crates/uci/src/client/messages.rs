use std::{sync::mpsc::Sender, time::Instant};

use super::{EngineError, EngineInfo, SearchResult};
use crate::message::{GameHistory, Go, Info};

/// Messages to the actor from its handle and from the threads that read the engine.
pub(super) enum Message {
    /// Start the engine if it is not running.
    Start {
        reply: Sender<Result<EngineInfo, EngineError>>,
    },
    /// Set an option now and after every restart.
    SetOption {
        name: String,
        value: Option<String>,
        reply: Sender<Result<(), EngineError>>,
    },
    NewGame {
        reply: Sender<Result<(), EngineError>>,
    },
    Search(Box<SearchJob>),
    Interrupt(Interrupt),
    /// End the engine and the actor.
    Quit,
    /// A line from the engine.
    Line {
        process: u32,
        stream: Stream,
        line: String,
        at: Instant,
    },
    /// The engine closed a stream.
    Eof {
        process: u32,
        stream: Stream,
    },
}

pub(super) struct SearchJob {
    pub(super) id: SearchId,
    pub(super) game: GameHistory,
    pub(super) go: Go,
    pub(super) on_info: Box<dyn FnMut(&Info) + Send>,
    pub(super) reply: Sender<Result<SearchResult, EngineError>>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SearchId(pub(super) u64);

#[derive(Clone, Copy)]
pub(super) enum Interrupt {
    Stop(SearchId),
    PonderHit(SearchId),
}

impl Interrupt {
    pub(super) fn id(self) -> SearchId {
        match self {
            Interrupt::Stop(id) | Interrupt::PonderHit(id) => id,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}
