#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, str::FromStr};

use shakmaty::uci::UciMove;

use super::{
    Info, OptionSpec, ParseError,
    tokens::{Tokens, one_line},
};

/// A reply from engine to client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// `id name`
    Name(String),
    /// `id author`
    Author(String),
    /// `uciok`
    UciOk,
    /// `readyok`
    ReadyOk,
    /// `bestmove`
    BestMove {
        /// Best move; `None` is written `(none)`.
        best: Option<UciMove>,
        /// Move to ponder on.
        ponder: Option<UciMove>,
    },
    /// `copyprotection`
    CopyProtection(CheckStatus),
    /// `registration`
    Registration(CheckStatus),
    /// `info`
    Info(Box<Info>),
    /// `option`
    Option(OptionSpec),
}

/// Status of `copyprotection` and `registration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStatus {
    /// In progress.
    Checking,
    /// Passed.
    Ok,
    /// Failed.
    Error,
}

impl FromStr for Reply {
    type Err = ParseError;

    /// Reads one line. Its first word decides: engines chat, and a sentence with `bestmove` in it is no answer.
    fn from_str(line: &str) -> Result<Reply, ParseError> {
        let mut tokens = Tokens::new(line);
        Ok(match tokens.next().ok_or(ParseError::Empty)? {
            "id" => match tokens.next() {
                Some("name") => Reply::Name(tokens.text()),
                Some("author") => Reply::Author(tokens.text()),
                _ => return Err(ParseError::malformed("id", "expected name or author")),
            },
            "uciok" => Reply::UciOk,
            "readyok" => Reply::ReadyOk,
            "bestmove" => best_move(tokens)?,
            "copyprotection" => Reply::CopyProtection(check("copyprotection", tokens)?),
            "registration" => Reply::Registration(check("registration", tokens)?),
            "info" => Reply::Info(Box::new(Info::parse(tokens))),
            "option" => Reply::Option(OptionSpec::parse(tokens)?),
            token => return Err(ParseError::Unknown(token.to_owned())),
        })
    }
}

fn best_move(mut tokens: Tokens<'_>) -> Result<Reply, ParseError> {
    let is_none =
        |token: &str| ["(none)", "none", "null", "0000"].iter().any(|none| token.eq_ignore_ascii_case(none));
    let best = match tokens.accept(|token| is_none(token).then_some(())) {
        Some(()) => None,
        None => Some(tokens.next_move().ok_or_else(|| {
            ParseError::malformed("bestmove", format!("invalid move '{}'", tokens.peek().unwrap_or("")))
        })?),
    };
    tokens.skip_past("ponder");
    Ok(Reply::BestMove { best, ponder: tokens.next_move().filter(|ponder| !ponder.is_null()) })
}

fn check(message: &'static str, mut tokens: Tokens<'_>) -> Result<CheckStatus, ParseError> {
    match tokens.next() {
        Some("checking") => Ok(CheckStatus::Checking),
        Some("ok") => Ok(CheckStatus::Ok),
        Some("error") => Ok(CheckStatus::Error),
        _ => Err(ParseError::malformed(message, "expected checking, ok or error")),
    }
}

impl fmt::Display for Reply {
    /// One line without line ending.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Name(name) => write!(f, "id name {}", one_line(name)),
            Reply::Author(author) => write!(f, "id author {}", one_line(author)),
            Reply::UciOk => f.write_str("uciok"),
            Reply::ReadyOk => f.write_str("readyok"),
            Reply::BestMove { best, ponder } => {
                match best {
                    Some(best) => write!(f, "bestmove {best}")?,
                    None => f.write_str("bestmove (none)")?,
                }
                ponder.iter().try_for_each(|ponder| write!(f, " ponder {ponder}"))
            }
            Reply::CopyProtection(check) => write!(f, "copyprotection {check}"),
            Reply::Registration(check) => write!(f, "registration {check}"),
            Reply::Info(info) => info.fmt(f),
            Reply::Option(spec) => spec.fmt(f),
        }
    }
}

impl fmt::Display for CheckStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CheckStatus::Checking => "checking",
            CheckStatus::Ok => "ok",
            CheckStatus::Error => "error",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_round_trip() {
        for line in [
            "id name Shredder X.Y",
            "id author Stefan MK",
            "uciok",
            "readyok",
            "bestmove g1f3",
            "bestmove g1f3 ponder d8f6",
            "bestmove (none)",
            "copyprotection checking",
            "copyprotection ok",
            "registration error",
            "info depth 12",
            "option name Nullmove type check default true",
        ] {
            assert_eq!(line.parse::<Reply>().unwrap().to_string(), line);
        }
    }

    #[test]
    fn bestmove_variants() {
        let best = |line: &str| match line.parse::<Reply>() {
            Ok(Reply::BestMove { best, ponder }) => {
                Ok((best.map(|mv| mv.to_string()), ponder.map(|mv| mv.to_string())))
            }
            other => Err(other),
        };
        for none in [
            "bestmove 0000",
            "bestmove NULL\r\n",
            "bestmove none ponder (none)",
            "bestmove (none) ponder 0000",
        ] {
            assert_eq!(best(none), Ok((None, None)), "{none}");
        }
        assert_eq!(best("bestmove A7A8Q  ponder"), Ok((Some("a7a8q".to_owned()), None)));
        assert_eq!(best("bestmove e2e4 ponder (none)"), Ok((Some("e2e4".to_owned()), None)));
        assert!(best("bestmove").is_err());
        assert!(best("bestmove Nf3").is_err());
        assert!(best("the bestmove e2e4").is_err());
    }
}
