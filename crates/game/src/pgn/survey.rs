//! Checks the moves of a game before pgn-reader reads them.
//!
//! pgn-reader ignores unknown tokens, unmatched braces and text after the result. Training data must not have such games,
//! so they are detected here. Only the tokens of the main line are checked, without the rules of chess.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::ops::Range;

use memchr::memchr;
use shakmaty::san::SanPlus;

use super::Problem;

/// Result of the check.
#[derive(Debug)]
pub(super) struct Survey {
    /// The first fault.
    pub(super) fault: Option<Fault>,
    pub(super) has_result: bool,
    /// Moves of the main line, up to the fault.
    pub(super) moves: usize,
}

/// A fault in the moves.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) problem: Problem,
    /// Number of valid moves of the main line before it.
    pub(super) sound: usize,
    pub(super) at: Range<usize>,
}

/// Checks the moves of a game.
pub(super) fn survey(movetext: &[u8]) -> Survey {
    let mut survey = Survey { fault: None, has_result: false, moves: 0 };
    let mut moves_at_last_comment = None;
    let end = movetext.trim_ascii_end().len();
    for mark in (Marks { text: movetext, at: 0 }) {
        let (problem, sound, at) = match mark {
            Mark::Word(at) => match kind_of(movetext.get(at.clone()).unwrap_or_default()) {
                Kind::Result => {
                    survey.has_result = true;
                    continue;
                }
                Kind::Move if survey.has_result => (Problem::AfterResult, survey.moves, at),
                Kind::Move => {
                    survey.moves += 1;
                    continue;
                }
                Kind::Unreadable if !survey.has_result => (Problem::UnreadableMove, survey.moves, at),
                Kind::Other
                    if at.end == end && !survey.has_result && may_be_cut_off(movetext.get(at.clone())) =>
                {
                    (Problem::UnreadableMove, survey.moves, at)
                }
                Kind::Other | Kind::Number | Kind::Unreadable => continue,
            },
            Mark::Comment => {
                moves_at_last_comment = Some(survey.moves);
                continue;
            }
            Mark::UnclosedComment(at) => (Problem::UnclosedComment, survey.moves, at..at + 1),
            Mark::StrayBrace(at) => {
                // The comment may have ended at a brace inside it, so that words of it look like moves.
                let doubtful = moves_at_last_comment.filter(|_| !survey.has_result);
                (Problem::StrayBrace, doubtful.unwrap_or(survey.moves), at..at + 1)
            }
            Mark::UnclosedVariation(at) => (Problem::UnclosedVariation, survey.moves, at..at + 1),
        };
        survey.fault = Some(Fault { problem, sound, at });
        break;
    }
    survey
}

/// Where the main line's move number `index` (from 0) stands.
pub(super) fn find_move(movetext: &[u8], index: usize) -> Option<Range<usize>> {
    let words = Marks { text: movetext, at: 0 }.filter_map(|mark| match mark {
        Mark::Word(at) => Some(at),
        _ => None,
    });
    words.filter(|at| kind_of(movetext.get(at.clone()).unwrap_or_default()) == Kind::Move).nth(index)
}

#[derive(Debug)]
enum Mark {
    Word(Range<usize>),
    Comment,
    UnclosedComment(usize),
    StrayBrace(usize),
    UnclosedVariation(usize),
}

/// The words and comments of the main line.
struct Marks<'a> {
    text: &'a [u8],
    at: usize,
}

impl Marks<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_line(&mut self) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        self.at += memchr(b'\n', rest).unwrap_or(rest.len());
    }

    /// From a `{` to after its `}`; whether there is one.
    fn skip_comment(&mut self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let end = memchr(b'}', rest);
        self.at += end.map_or(rest.len(), |end| end + 1);
        end.is_some()
    }

    fn at_line_start(&self) -> bool {
        self.at.checked_sub(1).is_none_or(|before| self.text.get(before) == Some(&b'\n'))
    }

    /// From a `(` to after its `)`, or the fault inside.
    fn skip_variation(&mut self) -> Option<Mark> {
        let open = self.at;
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'{' => {
                    let comment = self.at;
                    if !self.skip_comment() {
                        return Some(Mark::UnclosedComment(comment));
                    }
                    continue;
                }
                b';' => self.skip_line(),
                b'%' if self.at_line_start() => self.skip_line(),
                b'(' => depth += 1,
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return None;
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        Some(Mark::UnclosedVariation(open))
    }
}

impl Iterator for Marks<'_> {
    type Item = Mark;

    fn next(&mut self) -> Option<Mark> {
        loop {
            let start = self.at;
            match self.peek()? {
                b'{' => {
                    return Some(if self.skip_comment() {
                        Mark::Comment
                    } else {
                        Mark::UnclosedComment(start)
                    });
                }
                b'}' => {
                    self.at += 1;
                    return Some(Mark::StrayBrace(start));
                }
                b'(' => {
                    if let Some(fault) = self.skip_variation() {
                        self.at = self.text.len();
                        return Some(fault);
                    }
                }
                b';' => self.skip_line(),
                b'%' if self.at_line_start() => self.skip_line(),
                b'*' => {
                    self.at += 1;
                    return Some(Mark::Word(start..self.at));
                }
                b'$' => {
                    self.at += 1;
                    while self.peek().is_some_and(|byte| !is_word_end(byte)) {
                        self.at += 1;
                    }
                }
                byte if is_word_end(byte) => self.at += 1,
                _ => {
                    while self.peek().is_some_and(|byte| !is_word_end(byte)) {
                        self.at += 1;
                    }
                    return Some(Mark::Word(start..self.at));
                }
            }
        }
    }
}

/// Where pgn-reader ends a word.
fn is_word_end(byte: u8) -> bool {
    matches!(
        byte,
        b' ' | b'\t' | b'\n' | b'\r' | b'{' | b'}' | b'(' | b')' | b'!' | b'?' | b'$' | b';' | b'.' | b'*'
    )
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Move,
    Result,
    Number,
    /// Looks like a move, but is not one for pgn-reader.
    Unreadable,
    /// Text that pgn-reader ignores.
    Other,
}

fn kind_of(word: &[u8]) -> Kind {
    if word == b"*" {
        return Kind::Result;
    }
    if let Some(rest) = word.strip_prefix(b"0").and_then(strip_dash) {
        return match rest.first() {
            Some(b'1') => Kind::Result,
            Some(b'0') => Kind::Move,
            _ => Kind::Other,
        };
    }
    if word.strip_prefix(b"1").and_then(strip_dash).is_some_and(|rest| rest.starts_with(b"0"))
        || word.strip_prefix(b"1/2").and_then(strip_dash).is_some_and(|rest| rest.starts_with(b"1/2"))
        || word
            .strip_prefix("½".as_bytes())
            .and_then(strip_dash)
            .is_some_and(|rest| rest.starts_with("½".as_bytes()))
    {
        return Kind::Result;
    }
    // "1e4" is a number and a move.
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let word = word.get(digits..).unwrap_or_default();
    if word.is_empty() {
        return Kind::Number;
    }
    match SanPlus::from_ascii_prefix(word) {
        Ok((_, length)) if length == word.len() => Kind::Move,
        _ if looks_like_a_move(word) => Kind::Unreadable,
        _ => Kind::Other,
    }
}

fn strip_dash(text: &[u8]) -> Option<&[u8]> {
    ["-", "–", "—"].into_iter().find_map(|dash| text.strip_prefix(dash.as_bytes()))
}

/// Names a square, or castles.
fn looks_like_a_move(word: &[u8]) -> bool {
    let square = |pair: &[u8]| matches!(pair, [b'a'..=b'h', b'1'..=b'8']);
    word.windows(2).any(square) || word.starts_with(b"O-O") || word.starts_with(b"o-o")
}

/// Whether the last word may be a truncated move.
fn may_be_cut_off(word: Option<&[u8]>) -> bool {
    let part_of_a_move = |byte: &u8| matches!(byte, b'a'..=b'h' | b'1'..=b'8' | b'N' | b'B' | b'R' | b'Q' | b'K' | b'O' | b'x' | b'-' | b'=');
    word.is_some_and(|word| word.iter().all(part_of_a_move))
}

#[cfg(test)]
mod tests {
    use std::mem::{Discriminant, discriminant};

    use super::*;

    fn fault(text: &str) -> Option<(Discriminant<Problem>, usize, &str)> {
        survey(text.as_bytes())
            .fault
            .map(|fault| (discriminant(&fault.problem), fault.sound, &text[fault.at]))
    }

    #[test]
    fn valid_moves_have_no_fault() {
        for text in [
            "1. e4 e5 2. Nf3! (2. f4 (2. d4 {)} d5) ; ( {\n exf4) 2... Nc6 $14 3. O-O 0-1",
            "1.e4 e5 2.Nf3 Nc6 1/2-1/2 {agreed}",
            "1e4 1...e5 ½–½",
            "1. e4\n% escaped } line ( { \n e5 *",
            "e4 mate +- N D e.p. White resigns 1-0",
            "1. e4 e5 White resigns",
            "1. e4 e5",
            "",
        ] {
            assert_eq!(fault(text), None, "{text}");
        }
    }

    #[test]
    fn faults_have_offsets() {
        for (text, problem, moves, token) in [
            ("1. e4 e5 2. Nf3 e8Q 1-0", Problem::UnreadableMove, 3, "e8Q"),
            ("1. e4 o-o *", Problem::UnreadableMove, 1, "o-o"),
            ("1. e4 e5 2. N", Problem::UnreadableMove, 2, "N"),
            ("1. e4 { e5 *", Problem::UnclosedComment, 1, "{"),
            ("1. e4 {a {b} e5 } d5 *", Problem::StrayBrace, 1, "}"),
            ("1. e4 {a} e5 1-0 } *", Problem::StrayBrace, 2, "}"),
            ("1. e4 (1. d4 (c4) *", Problem::UnclosedVariation, 1, "("),
            ("1. e4 (1. d4 { ) *", Problem::UnclosedComment, 1, "{"),
            ("1. e4 1-0 1. d4", Problem::AfterResult, 1, "d4"),
        ] {
            assert_eq!(fault(text), Some((discriminant(&problem), moves, token)), "{text}");
        }
    }

    #[test]
    fn moves_are_found_by_number() {
        let text = "1. e4 {d4} (1. c4) e5 2. O-O *";
        let found = |index| find_move(text.as_bytes(), index).map(|at| &text[at]);
        assert_eq!([found(0), found(1), found(2), found(3)], [Some("e4"), Some("e5"), Some("O-O"), None]);
    }
}
