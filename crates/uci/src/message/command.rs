#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, str::FromStr};

use super::{
    Go, ParseError, Position,
    option::{format_text, parse_text},
    tokens::{Tokens, one_line},
};

/// A command from client to engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `uci`
    Uci,
    /// `debug on` or `debug off`
    Debug(bool),
    /// `isready`
    IsReady,
    /// `setoption`
    SetOption {
        /// Name, not empty.
        name: String,
        /// Value; `None` for buttons.
        value: Option<String>,
    },
    /// `register`
    Register(Registration),
    /// `ucinewgame`
    NewGame,
    /// `position`
    Position(Position),
    /// `go`
    Go(Go),
    /// `stop`
    Stop,
    /// `ponderhit`
    PonderHit,
    /// `quit`
    Quit,
}

/// Parameters of `register`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registration {
    /// `later`
    Later,
    /// A registered user.
    User {
        /// User name.
        name: String,
        /// Registration code.
        code: String,
    },
}

impl FromStr for Command {
    type Err = ParseError;

    /// Parses one line. Tokens before the first known command are skipped.
    fn from_str(line: &str) -> Result<Command, ParseError> {
        let mut tokens = Tokens::new(line);
        let first = tokens.peek().ok_or(ParseError::Empty)?;
        while let Some(token) = tokens.next() {
            return Ok(match token {
                "uci" => Command::Uci,
                "debug" => Command::Debug(on_off(tokens)?),
                "isready" => Command::IsReady,
                "setoption" => set_option(tokens)?,
                "register" => Command::Register(registration(tokens)?),
                "ucinewgame" => Command::NewGame,
                "position" => Command::Position(Position::parse(tokens)?),
                "go" => Command::Go(Go::parse(tokens)),
                "stop" => Command::Stop,
                "ponderhit" => Command::PonderHit,
                "quit" => Command::Quit,
                _ => continue,
            });
        }
        Err(ParseError::Unknown(first.to_owned()))
    }
}

fn on_off(mut tokens: Tokens<'_>) -> Result<bool, ParseError> {
    match tokens.next() {
        Some("on") => Ok(true),
        Some("off") => Ok(false),
        _ => Err(ParseError::malformed("debug", "expected on or off")),
    }
}

fn set_option(mut tokens: Tokens<'_>) -> Result<Command, ParseError> {
    tokens.skip_past("name");
    let name = tokens.until(|token| token == "value");
    if name.is_empty() {
        return Err(ParseError::malformed("setoption", "missing name"));
    }
    let value = tokens.next().map(|_| parse_text(tokens));
    Ok(Command::SetOption { name, value })
}

fn registration(mut tokens: Tokens<'_>) -> Result<Registration, ParseError> {
    tokens.until(|token| matches!(token, "later" | "name"));
    if tokens.next() != Some("name") {
        return Ok(Registration::Later);
    }
    let name = tokens.until(|token| token == "code");
    tokens.next();
    let code = tokens.until(|_| false);
    if name.is_empty() {
        return Err(ParseError::malformed("register", "missing name"));
    }
    Ok(Registration::User { name, code })
}

impl fmt::Display for Command {
    /// One line without line ending.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Uci => f.write_str("uci"),
            Command::Debug(on) => f.write_str(if *on { "debug on" } else { "debug off" }),
            Command::IsReady => f.write_str("isready"),
            Command::SetOption { name, value } => {
                write!(f, "setoption name {}", one_line(name))?;
                value.iter().try_for_each(|value| write!(f, " value {}", format_text(value)))
            }
            Command::Register(Registration::Later) => f.write_str("register later"),
            Command::Register(Registration::User { name, code }) => {
                write!(f, "register name {} code {}", one_line(name), one_line(code))
            }
            Command::NewGame => f.write_str("ucinewgame"),
            Command::Position(position) => position.fmt(f),
            Command::Go(go) => go.fmt(f),
            Command::Stop => f.write_str("stop"),
            Command::PonderHit => f.write_str("ponderhit"),
            Command::Quit => f.write_str("quit"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_round_trip() {
        for line in [
            "uci",
            "debug on",
            "debug off",
            "isready",
            "setoption name Clear Hash",
            "setoption name NalimovPath value c:\\chess\\tb\\4;c:\\a value",
            "setoption name SyzygyPath value <empty>",
            "register later",
            "register name Stefan MK code 4359874324",
            "ucinewgame",
            "position startpos",
            "position startpos moves e2e4 e7e5",
            "position fen 8/8/4k3/8/8/3QK3/8/8 b - - 0 1 moves e6e5",
            "go",
            "go infinite searchmoves e2e4",
            "stop",
            "ponderhit",
            "quit",
        ] {
            assert_eq!(line.parse::<Command>().unwrap().to_string(), line);
        }
    }

    #[test]
    fn whitespace_line_endings_and_leading_junk_are_ignored() {
        assert_eq!("joho debug on\r\n".parse(), Ok(Command::Debug(true)));
        assert_eq!("\u{feff}\tuci \r".parse(), Ok(Command::Uci));
        let set = Command::SetOption { name: "Skill Level".to_owned(), value: Some("3".to_owned()) };
        assert_eq!(" setoption   name  Skill \t Level  value   3 \r\n".parse(), Ok(set));
    }

    #[test]
    fn invalid_commands_are_rejected() {
        assert_eq!(" \r\n".parse::<Command>(), Err(ParseError::Empty));
        assert_eq!("hello there".parse::<Command>(), Err(ParseError::Unknown("hello".to_owned())));
        for (line, expected) in
            [("debug joho on", "debug"), ("setoption Hash 3", "setoption"), ("position", "position")]
        {
            let error = line.parse::<Command>().unwrap_err();
            assert!(matches!(error, ParseError::Malformed { message, .. } if message == expected), "{line}");
        }
    }
}
