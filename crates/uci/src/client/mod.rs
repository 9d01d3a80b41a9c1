//! The client's end: drives any engine process.
//!
//! ```no_run
//! use tabia_uci::{client::{Client, Launch}, message::{GameSoFar, Go}};
//!
//! let client = Client::start(Launch::new("stockfish").option("UCI_LimitStrength", "true"))?;
//! let thought = client.think(&GameSoFar::default(), &Go::nodes(1000))?;
//! assert!(thought.best.is_capture() == false);
//! # Ok::<_, tabia_uci::client::Fault>(())
//! ```

mod actor;
mod fault;
mod handle;
mod messages;
mod process;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use shakmaty::Move;

pub use self::{
    fault::{Fault, Recent},
    handle::{Client, Interrupt, Thinking},
};
use crate::message::{Info, OptionSpec};

/// How to start an engine, and how to treat it.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The program; without a slash it is looked for in the `PATH`.
    pub program: PathBuf,
    /// What it is started with.
    pub arguments: Vec<OsString>,
    /// The folder it runs in; else the folder of this process.
    pub folder: Option<PathBuf>,
    /// What to set, in order, whenever it is started; a button has no value.
    pub options: Vec<(String, Option<String>)>,
    /// How long to wait for it.
    pub patience: Patience,
    /// How often it may be started again after it crashed, hung or was killed.
    pub most_restarts: u32,
}

impl Launch {
    /// A program without arguments or options.
    pub fn new(program: impl Into<PathBuf>) -> Launch {
        Launch {
            program: program.into(),
            arguments: Vec::new(),
            folder: None,
            options: Vec::new(),
            patience: Patience::default(),
            most_restarts: 10,
        }
    }

    /// One more argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Launch {
        self.arguments.push(argument.into());
        self
    }

    /// One more option to set.
    #[must_use]
    pub fn option(mut self, name: &str, value: &str) -> Launch {
        self.options.push((name.to_owned(), Some(value.to_owned())));
        self
    }
}

/// How long to wait for an engine.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For `uciok`.
    pub handshake: Duration,
    /// For `readyok`: an engine may load a big network first.
    pub ready: Duration,
    /// For `bestmove`, beyond the time it has for the move or on its clock.
    pub margin: Duration,
    /// For `bestmove`, where only depth, nodes or nothing limits it.
    pub unclocked: Duration,
    /// For `bestmove` after `stop`.
    pub stop: Duration,
    /// For its end after `quit`.
    pub quit: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            handshake: Duration::from_secs(20),
            ready: Duration::from_secs(60),
            margin: Duration::from_secs(5),
            unclocked: Duration::from_secs(600),
            stop: Duration::from_secs(5),
            quit: Duration::from_secs(2),
        }
    }
}

/// What an engine says it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Its name; its file name where it has none.
    pub name: String,
    /// Who made it.
    pub author: Option<String>,
    /// What may be set.
    pub options: Vec<OptionSpec>,
}

/// What an engine came to.
#[derive(Clone, Debug)]
pub struct Thought {
    /// A legal move.
    pub best: Move,
    /// The legal answer it would like to ponder on.
    pub ponder: Option<Move>,
    /// Its last word on each of its best lines, best first: those with a score or moves.
    pub lines: Vec<Info>,
    /// From `go` (or `ponderhit`) to the answer.
    pub time: Duration,
    /// Why it answered when it did.
    pub cue: Cue,
}

/// Why an engine answered when it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cue {
    /// By itself.
    Own,
    /// It was asked to stop.
    Stopped,
    /// It was past its deadline and told to stop.
    Overdue,
}
