#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{str::FromStr, time::Duration};

use shakmaty::uci::UciMove;

/// The words of a line, taken from the front. Blanks, control characters and a byte order mark separate words.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    rest: &'a str,
}

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a str) -> Words<'a> {
        Words { rest: line.trim_start_matches(separates) }
    }

    pub(super) fn peek(&self) -> Option<&'a str> {
        let mut ahead = *self;
        ahead.next()
    }

    /// Takes the next word if it makes sense.
    pub(super) fn accept<T>(&mut self, understand: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let understood = understand(self.peek()?)?;
        self.next();
        Some(understood)
    }

    /// Takes the next word if it is a number; one that is not stays to be passed over as unknown.
    pub(super) fn number<T: FromStr>(&mut self) -> Option<T> {
        self.accept(|word| word.parse().ok())
    }

    /// Takes the next word if it is a number of milliseconds. A clock that ran below zero shows zero.
    pub(super) fn milliseconds(&mut self) -> Option<Duration> {
        let milliseconds: i64 = self.number()?;
        Some(Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0)))
    }

    /// Takes the next word if it looks like a move.
    pub(super) fn a_move(&mut self) -> Option<UciMove> {
        self.accept(read_move)
    }

    /// Takes words as long as they look like moves.
    pub(super) fn moves(&mut self) -> Vec<UciMove> {
        std::iter::from_fn(|| self.a_move()).collect()
    }

    /// Takes the words up to one that ends them, which stays; gives them with single blanks between.
    pub(super) fn until(&mut self, ends: impl Fn(&str) -> bool) -> String {
        let mut joined = String::new();
        while let Some(word) = self.peek()
            && !ends(word)
        {
            self.next();
            if !joined.is_empty() {
                joined.push(' ');
            }
            joined.push_str(word);
        }
        joined
    }

    /// The rest of the line as free text.
    pub(super) fn text(self) -> String {
        one_line(self.rest)
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (word, rest) = self.rest.split_once(separates).unwrap_or((self.rest, ""));
        self.rest = rest.trim_start_matches(separates);
        Some(word)
    }
}

fn separates(c: char) -> bool {
    c.is_whitespace() || c.is_control() || c == '\u{feff}'
}

/// A move as UCI writes it; the letters may be capitals.
fn read_move(word: &str) -> Option<UciMove> {
    UciMove::from_ascii(word.to_ascii_lowercase().as_bytes()).ok().filter(|read| !read.is_put())
}

/// Free text as it fits on one line: no control characters, no blanks around it.
pub(super) fn one_line(text: &str) -> String {
    let blank = |c| if c == '\u{feff}' || char::is_control(c) { ' ' } else { c };
    text.chars().map(blank).collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_spacing_separates_words() {
        let words: Vec<&str> = Words::new("\u{feff}  go \t depth\u{0}5 \r\n").collect();
        assert_eq!(words, ["go", "depth", "5"]);
    }

    #[test]
    fn what_is_not_understood_stays() {
        let mut words = Words::new("many E2E4 e7e8Q 0000 Q@e4 -5");
        assert_eq!(words.number::<u32>(), None);
        assert_eq!(words.next(), Some("many"));
        let moves: Vec<String> = words.moves().iter().map(ToString::to_string).collect();
        assert_eq!(moves, ["e2e4", "e7e8q", "0000"]);
        assert_eq!(words.next(), Some("Q@e4"));
        assert_eq!(words.milliseconds(), Some(Duration::ZERO));
    }
}
