//! A client that drives an engine process.
//!
//! ```no_run
//! use tabia_uci::{client::{Client, EngineConfig}, message::{GameHistory, Go}};
//!
//! let client = Client::start(EngineConfig::new("stockfish").option("UCI_LimitStrength", "true"))?;
//! let result = client.search(&GameHistory::default(), &Go::nodes(1000))?;
//! assert!(!result.best.is_capture());
//! # Ok::<_, tabia_uci::client::EngineError>(())
//! ```

mod actor;
mod error;
mod handle;
mod messages;
mod process;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use shakmaty::Move;

pub use self::{
    error::{EngineError, EngineErrorKind, Transcript},
    handle::{Client, PendingSearch, SearchHandle},
};
use crate::{
    message::{Info, OptionSpec},
    serve::CHESS960,
};

/// Command line, options and timeouts of an engine.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Program; looked up in `PATH` if it has no slash.
    pub program: PathBuf,
    /// Command-line arguments.
    pub args: Vec<OsString>,
    /// Working directory; `None` inherits it.
    pub working_dir: Option<PathBuf>,
    /// Options set on every start, in order; buttons have no value.
    pub options: Vec<(String, Option<String>)>,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Maximum number of restarts after crashes and timeouts.
    pub max_restarts: u32,
}

impl EngineConfig {
    /// A program without arguments or options.
    pub fn new(program: impl Into<PathBuf>) -> EngineConfig {
        EngineConfig {
            program: program.into(),
            args: Vec::new(),
            working_dir: None,
            options: Vec::new(),
            timeouts: Timeouts::default(),
            max_restarts: 10,
        }
    }

    /// Adds a command-line argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> EngineConfig {
        self.args.push(arg.into());
        self
    }

    /// Adds an option.
    #[must_use]
    pub fn option(mut self, name: &str, value: &str) -> EngineConfig {
        self.options.push((name.to_owned(), Some(value.to_owned())));
        self
    }

    fn file_name(&self) -> String {
        self.program.file_name().unwrap_or(self.program.as_os_str()).to_string_lossy().into_owned()
    }
}

/// Timeouts of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// For `uciok`.
    pub handshake: Duration,
    /// For `readyok`. Engines may load a large network first.
    pub ready: Duration,
    /// For `bestmove`, beyond the move time or the clock.
    pub margin: Duration,
    /// For `bestmove` in searches without a time limit.
    pub untimed: Duration,
    /// For `bestmove` after `stop`.
    pub stop: Duration,
    /// For the process to exit after `quit`.
    pub quit: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            handshake: Duration::from_secs(20),
            ready: Duration::from_secs(60),
            margin: Duration::from_secs(5),
            untimed: Duration::from_secs(600),
            stop: Duration::from_secs(5),
            quit: Duration::from_secs(2),
        }
    }
}

/// Identification and options from the handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineInfo {
    /// `id name`, or the file name.
    pub name: String,
    /// `id author`.
    pub author: Option<String>,
    /// Options.
    pub options: Vec<OptionSpec>,
}

impl EngineInfo {
    /// Whether the engine offers `UCI_Chess960`. The client switches it by the game of each search.
    pub fn plays_chess960(&self) -> bool {
        OptionSpec::find(&self.options, CHESS960).is_ok()
    }
}

/// Result of a search.
#[derive(Clone, Debug)]
pub struct SearchResult {
    /// Best move, legal.
    pub best: Move,
    /// Expected reply, legal.
    pub ponder: Option<Move>,
    /// Last `info` with a score or pv of each MultiPV line, best first.
    pub lines: Vec<Info>,
    /// Time from `go` or `ponderhit` to `bestmove`.
    pub time: Duration,
    /// Why the search ended.
    pub ended_by: SearchEnd,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchEnd {
    /// The engine finished.
    Engine,
    /// Stopped by the caller.
    Stopped,
    /// Stopped after its deadline.
    Timeout,
}
