use std::{fmt, io, process::ExitStatus, sync::Arc, time::Duration};

use crate::message::OptionError;

/// Error of an engine process.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{engine}: {kind}{transcript}")]
pub struct EngineError {
    /// Name of the engine, or its program before the handshake.
    pub engine: String,
    /// Kind of error.
    pub kind: EngineErrorKind,
    /// Last lines of the conversation, where they help.
    pub transcript: Transcript,
}

/// Kind of [`EngineError`].
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineErrorKind {
    /// The process cannot be started.
    #[error("cannot start: {0}")]
    Spawn(Arc<io::Error>),
    /// No reply in time. After a missing `bestmove` the engine was stopped first, then killed.
    #[error("no {expected} after {waited:?}")]
    Timeout {
        /// `uciok`, `readyok` or `bestmove`.
        expected: &'static str,
        /// Time since the command.
        waited: Duration,
    },
    /// The process exited.
    #[error("exited{}", .0.map_or_else(String::new, |status| format!(" ({status})")))]
    Exited(Option<ExitStatus>),
    /// The engine answered with an illegal move, or with none although there are legal moves.
    #[error("illegal '{reply}' in {fen}")]
    IllegalMove {
        /// The reply.
        reply: String,
        /// Position of the search.
        fen: String,
    },
    /// Unknown option or invalid value.
    #[error(transparent)]
    Option(OptionError),
    /// The game is Chess960, which the engine does not play.
    #[error("does not play Chess960 (it offers no option UCI_Chess960)")]
    NoChess960,
    /// The engine failed too often to be restarted.
    #[error("given up after {0} restarts")]
    TooManyRestarts(u32),
    /// The position has no legal moves.
    #[error("no legal moves in {0}")]
    GameOver(String),
    /// The client was dropped during the request.
    #[error("client closed")]
    Closed,
}

/// Last lines of a conversation: `>` sent, `<` received, `!` from standard error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript(Vec<String>);

const MAX_LINES: usize = 16;
const MAX_WIDTH: usize = 240;

impl Transcript {
    /// Lines, oldest first.
    pub fn lines(&self) -> &[String] {
        &self.0
    }

    pub(super) fn push(&mut self, mark: char, line: &str) {
        if self.0.len() == MAX_LINES {
            self.0.remove(0);
        }
        let mut kept: String = line.chars().take(MAX_WIDTH).collect();
        if kept.len() < line.len() {
            kept.push_str("...");
        }
        self.0.push(format!("{mark} {kept}"));
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        f.write_str("; last lines:")?;
        self.0.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcript_is_bounded() {
        let mut transcript = Transcript::default();
        for number in 0..100 {
            transcript.push('<', &format!("{number} {}", "é".repeat(1000)));
        }
        assert_eq!(transcript.lines().len(), MAX_LINES);
        assert!(transcript.lines()[0].starts_with("< 84 é"));
        assert!(transcript.lines().iter().all(|line| line.chars().count() <= MAX_WIDTH + 5));
    }
}
