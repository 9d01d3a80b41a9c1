#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, str::FromStr};

use super::{
    Go, Position, Unreadable,
    option::{read_text, write_text},
    words::{Words, one_line},
};

/// What a client tells an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Speak UCI: say who you are and what may be set.
    Uci,
    /// Say more than usual, or no longer.
    Debug(bool),
    /// Answer when all that came before is done, or at once while thinking.
    IsReady,
    /// Set what the engine offers to set.
    SetOption {
        /// Which; never empty.
        name: String,
        /// To what; a button has none.
        value: Option<String>,
    },
    /// Who the user is, for engines that want to know.
    Register(Registration),
    /// What comes is of another game.
    NewGame,
    /// The game to think about.
    Position(Position),
    /// Think.
    Go(Go),
    /// Answer now.
    Stop,
    /// The move pondered on was played: from now on the time is yours.
    PonderHit,
    /// End.
    Quit,
}

/// Who the user of an engine is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registration {
    /// Not said now.
    Later,
    /// A registered user.
    As {
        /// The user's name.
        name: String,
        /// The code that came with it.
        code: String,
    },
}

impl FromStr for Command {
    type Err = Unreadable;

    /// Reads one line. Words before the first that begins a command are passed over.
    fn from_str(line: &str) -> Result<Command, Unreadable> {
        let mut words = Words::new(line);
        let first = words.peek().ok_or(Unreadable::Blank)?;
        while let Some(word) = words.next() {
            return Ok(match word {
                "uci" => Command::Uci,
                "debug" => Command::Debug(switch(words)?),
                "isready" => Command::IsReady,
                "setoption" => set_option(words)?,
                "register" => Command::Register(registration(words)?),
                "ucinewgame" => Command::NewGame,
                "position" => Command::Position(Position::parse(words)?),
                "go" => Command::Go(Go::parse(words)),
                "stop" => Command::Stop,
                "ponderhit" => Command::PonderHit,
                "quit" => Command::Quit,
                _ => continue,
            });
        }
        Err(Unreadable::Unknown(first.to_owned()))
    }
}

fn switch(mut words: Words<'_>) -> Result<bool, Unreadable> {
    match words.next() {
        Some("on") => Ok(true),
        Some("off") => Ok(false),
        _ => Err(Unreadable::malformed("debug", "neither on nor off")),
    }
}

fn set_option(mut words: Words<'_>) -> Result<Command, Unreadable> {
    words.until(|word| word == "name");
    words.next();
    let name = words.until(|word| word == "value");
    if name.is_empty() {
        return Err(Unreadable::malformed("setoption", "no name"));
    }
    let value = words.next().map(|_| read_text(words));
    Ok(Command::SetOption { name, value })
}

fn registration(mut words: Words<'_>) -> Result<Registration, Unreadable> {
    words.until(|word| matches!(word, "later" | "name"));
    if words.next() == Some("name") {
        let name = words.until(|word| word == "code");
        words.next();
        let code = words.until(|_| false);
        if !name.is_empty() {
            return Ok(Registration::As { name, code });
        }
        return Err(Unreadable::malformed("register", "no name"));
    }
    Ok(Registration::Later)
}

impl fmt::Display for Command {
    /// One line, without its end.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Uci => f.write_str("uci"),
            Command::Debug(on) => f.write_str(if *on { "debug on" } else { "debug off" }),
            Command::IsReady => f.write_str("isready"),
            Command::SetOption { name, value } => {
                write!(f, "setoption name {}", one_line(name))?;
                value.iter().try_for_each(|value| write!(f, " value {}", write_text(value)))
            }
            Command::Register(Registration::Later) => f.write_str("register later"),
            Command::Register(Registration::As { name, code }) => {
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
    fn every_command_is_read_and_written() {
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
    fn odd_spacing_line_ends_and_junk_before_a_command() {
        assert_eq!("joho debug on\r\n".parse(), Ok(Command::Debug(true)));
        assert_eq!("\u{feff}\tuci \r".parse(), Ok(Command::Uci));
        let set = Command::SetOption { name: "Skill Level".to_owned(), value: Some("3".to_owned()) };
        assert_eq!(" setoption   name  Skill \t Level  value   3 \r\n".parse(), Ok(set));
    }

    #[test]
    fn lines_without_a_command() {
        assert_eq!(" \r\n".parse::<Command>(), Err(Unreadable::Blank));
        assert_eq!("hello there".parse::<Command>(), Err(Unreadable::Unknown("hello".to_owned())));
        assert!("debug joho on".parse::<Command>().is_err());
        assert!("setoption Hash 3".parse::<Command>().is_err());
        assert!("position".parse::<Command>().is_err());
    }
}
