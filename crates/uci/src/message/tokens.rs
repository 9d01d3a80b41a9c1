#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{str::FromStr, time::Duration};

use shakmaty::uci::UciMove;

/// Tokens of a line, separated by whitespace, control characters or a byte order mark.
#[derive(Clone, Copy)]
pub(super) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(line: &'a str) -> Tokens<'a> {
        Tokens { rest: line.trim_start_matches(is_separator) }
    }

    pub(super) fn peek(&self) -> Option<&'a str> {
        let mut ahead = *self;
        ahead.next()
    }

    /// Takes the next token if `parse` accepts it.
    pub(super) fn accept<T>(&mut self, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let parsed = parse(self.peek()?)?;
        self.next();
        Some(parsed)
    }

    /// Takes the next token if it is a number.
    pub(super) fn number<T: FromStr>(&mut self) -> Option<T> {
        self.accept(|token| token.parse().ok())
    }

    /// Takes the next token if it is a number of milliseconds. Negative clocks become zero.
    pub(super) fn milliseconds(&mut self) -> Option<Duration> {
        let milliseconds: i64 = self.number()?;
        Some(Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0)))
    }

    /// Takes the next token if it is a move.
    pub(super) fn next_move(&mut self) -> Option<UciMove> {
        self.accept(parse_move)
    }

    /// Takes tokens as long as they are moves.
    pub(super) fn moves(&mut self) -> Vec<UciMove> {
        std::iter::from_fn(|| self.next_move()).collect()
    }

    /// Takes the tokens before the first that matches, joined by single spaces.
    pub(super) fn until(&mut self, matches: impl Fn(&str) -> bool) -> String {
        let mut joined = String::new();
        while let Some(token) = self.peek()
            && !matches(token)
        {
            self.next();
            if !joined.is_empty() {
                joined.push(' ');
            }
            joined.push_str(token);
        }
        joined
    }

    /// Skips the tokens up to and including `token`.
    pub(super) fn skip_past(&mut self, token: &str) {
        self.until(|other| other == token);
        self.next();
    }

    /// The rest of the line as text.
    pub(super) fn text(self) -> String {
        one_line(self.rest)
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (token, rest) = self.rest.split_once(is_separator).unwrap_or((self.rest, ""));
        self.rest = rest.trim_start_matches(is_separator);
        Some(token)
    }
}

fn is_separator(c: char) -> bool {
    c.is_whitespace() || c.is_control() || c == '\u{feff}'
}

/// Parses a move in UCI notation, ignoring case.
fn parse_move(token: &str) -> Option<UciMove> {
    UciMove::from_ascii(token.to_ascii_lowercase().as_bytes()).ok().filter(|mv| !mv.is_put())
}

/// Trims text and replaces control characters by spaces.
pub(super) fn one_line(text: &str) -> String {
    let blank = |c| if c == '\u{feff}' || char::is_control(c) { ' ' } else { c };
    text.chars().map(blank).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whitespace_and_control_characters_separate_tokens() {
        let tokens: Vec<&str> = Tokens::new("\u{feff}  go \t depth\u{0}5 \r\n").collect();
        assert_eq!(tokens, ["go", "depth", "5"]);
    }

    #[test]
    fn unexpected_tokens_are_not_consumed() {
        let mut tokens = Tokens::new("many E2E4 e7e8Q 0000 Q@e4 -5");
        assert_eq!(tokens.number::<u32>(), None);
        assert_eq!(tokens.next(), Some("many"));
        let moves: Vec<String> = tokens.moves().iter().map(ToString::to_string).collect();
        assert_eq!(moves, ["e2e4", "e7e8q", "0000"]);
        assert_eq!(tokens.next(), Some("Q@e4"));
        assert_eq!(tokens.milliseconds(), Some(Duration::ZERO));
    }
}
