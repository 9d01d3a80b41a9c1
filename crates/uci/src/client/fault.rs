use std::{fmt, io, path::PathBuf, process::ExitStatus, sync::Arc, time::Duration};

use crate::message::OptionFault;

/// Why an engine did not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The process cannot be started.
    #[error("cannot start {}: {error}", program.display())]
    Start {
        /// What was to be started.
        program: PathBuf,
        /// Why it cannot.
        error: Arc<io::Error>,
    },
    /// It did not say `uciok`: it is no UCI engine, or too slow.
    #[error("{engine} did not say uciok within {waited:?}{recent}")]
    NoHandshake {
        /// Its name.
        engine: String,
        /// How long it was given.
        waited: Duration,
        /// Its last lines.
        recent: Recent,
    },
    /// It did not say `readyok`.
    #[error("{engine} did not say readyok within {waited:?}{recent}")]
    NotReady {
        /// Its name.
        engine: String,
        /// How long it was given.
        waited: Duration,
        /// Its last lines.
        recent: Recent,
    },
    /// It was past its deadline, was told to stop, and still said nothing. It was killed.
    #[error("{engine} gave no move after {waited:?}, and was killed{recent}")]
    Silent {
        /// Its name.
        engine: String,
        /// How long it had since `go`.
        waited: Duration,
        /// Its last lines.
        recent: Recent,
    },
    /// The process ended.
    #[error("{engine} ended{}{recent}", ending(.status))]
    Died {
        /// Its name.
        engine: String,
        /// How it ended.
        status: Option<ExitStatus>,
        /// Its last lines.
        recent: Recent,
    },
    /// It answered with a move that is not legal, or with none though there are some.
    #[error("{engine} answered '{answer}' in {fen}, which is not a legal move{recent}")]
    IllegalMove {
        /// Its name.
        engine: String,
        /// What it said.
        answer: String,
        /// Where.
        fen: String,
        /// Its last lines.
        recent: Recent,
    },
    /// It does not offer an option, or not that value.
    #[error("{engine}: {fault}")]
    Option {
        /// Its name.
        engine: String,
        /// What is wrong.
        fault: OptionFault,
    },
    /// It failed too often to be started again.
    #[error("{engine} was started again {restarts} times and is left alone now")]
    GaveUp {
        /// Its name.
        engine: String,
        /// How often it was started again.
        restarts: u32,
    },
    /// There is nothing to choose.
    #[error("the game is over in {fen}")]
    GameOver {
        /// Where.
        fen: String,
    },
    /// The handle was dropped while the engine was asked.
    #[error("{engine} was closed")]
    Closed {
        /// Its name.
        engine: String,
    },
}

fn ending(status: &Option<ExitStatus>) -> String {
    status.map_or_else(String::new, |status| format!(" ({status})"))
}

/// The last lines between client and engine: sent `>`, said `<`, said on standard error `!`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recent(Vec<String>);

/// How many lines are kept, and how much of each.
const LINES: usize = 16;
const WIDTH: usize = 240;

impl Recent {
    /// The lines, oldest first.
    pub fn lines(&self) -> &[String] {
        &self.0
    }

    pub(super) fn push(&mut self, mark: char, line: &str) {
        if self.0.len() == LINES {
            self.0.remove(0);
        }
        let mut kept: String = line.chars().take(WIDTH).collect();
        if kept.len() < line.len() {
            kept.push_str("...");
        }
        self.0.push(format!("{mark} {kept}"));
    }
}

impl fmt::Display for Recent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        f.write_str("; the last lines:")?;
        self.0.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_lines_are_kept_and_not_all_of_them() {
        let mut recent = Recent::default();
        for number in 0..100 {
            recent.push('<', &format!("{number} {}", "é".repeat(1000)));
        }
        assert_eq!(recent.lines().len(), LINES);
        assert!(recent.lines()[0].starts_with("< 84 é"));
        assert!(recent.lines().iter().all(|line| line.chars().count() <= WIDTH + 5));
    }
}
