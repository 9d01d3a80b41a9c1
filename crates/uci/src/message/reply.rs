#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, str::FromStr};

use shakmaty::uci::UciMove;

use super::{
    Info, OptionSpec, Unreadable,
    words::{Words, one_line},
};

/// What an engine tells its client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// What the engine is called.
    Name(String),
    /// Who made it.
    Author(String),
    /// All that may be set has been named.
    UciOk,
    /// All that came before is done.
    ReadyOk,
    /// The end of thinking.
    BestMove {
        /// The move to play; `None` where there is none, written `(none)`.
        best: Option<UciMove>,
        /// The answer the engine would like to ponder on.
        ponder: Option<UciMove>,
    },
    /// Whether the copy is a lawful one.
    CopyProtection(Check),
    /// Whether the user is registered.
    Registration(Check),
    /// What the engine thinks meanwhile.
    Info(Box<Info>),
    /// Something that may be set.
    Option(OptionSpec),
}

/// How a check goes that the engine makes of its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// It is being made.
    Checking,
    /// Passed.
    Ok,
    /// Failed.
    Error,
}

impl FromStr for Reply {
    type Err = Unreadable;

    /// Reads one line. Its first word decides: engines chat, and a sentence with `bestmove` in it is no answer.
    fn from_str(line: &str) -> Result<Reply, Unreadable> {
        let mut words = Words::new(line);
        Ok(match words.next().ok_or(Unreadable::Blank)? {
            "id" => match words.next() {
                Some("name") => Reply::Name(words.text()),
                Some("author") => Reply::Author(words.text()),
                _ => return Err(Unreadable::malformed("id", "neither name nor author")),
            },
            "uciok" => Reply::UciOk,
            "readyok" => Reply::ReadyOk,
            "bestmove" => best_move(words)?,
            "copyprotection" => Reply::CopyProtection(check("copyprotection", words)?),
            "registration" => Reply::Registration(check("registration", words)?),
            "info" => Reply::Info(Box::new(Info::parse(words))),
            "option" => Reply::Option(OptionSpec::parse(words)?),
            word => return Err(Unreadable::Unknown(word.to_owned())),
        })
    }
}

fn best_move(mut words: Words<'_>) -> Result<Reply, Unreadable> {
    let none = |word: &str| ["(none)", "none", "null", "0000"].iter().any(|no| word.eq_ignore_ascii_case(no));
    let best = match words.accept(|word| none(word).then_some(())) {
        Some(()) => None,
        None => Some(words.a_move().ok_or_else(|| {
            Unreadable::malformed("bestmove", format!("'{}' is not a move", words.peek().unwrap_or("")))
        })?),
    };
    words.until(|word| word == "ponder");
    words.next();
    Ok(Reply::BestMove { best, ponder: words.a_move().filter(|ponder| !ponder.is_null()) })
}

fn check(message: &'static str, mut words: Words<'_>) -> Result<Check, Unreadable> {
    match words.next() {
        Some("checking") => Ok(Check::Checking),
        Some("ok") => Ok(Check::Ok),
        Some("error") => Ok(Check::Error),
        _ => Err(Unreadable::malformed(message, "neither checking nor ok nor error")),
    }
}

impl fmt::Display for Reply {
    /// One line, without its end.
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

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Check::Checking => "checking",
            Check::Ok => "ok",
            Check::Error => "error",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reply_is_read_and_written() {
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
    fn odd_best_moves() {
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
