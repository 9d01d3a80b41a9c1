#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, num::NonZeroI32, time::Duration};

use pgn_reader::Nag;
use tabia_encoding::{ForWhite, Score};

use crate::time_control::{Fraction, nanoseconds};

/// Annotations of a move; at the root, of the game.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    /// Comment before the move, if it starts a variation.
    pub before: String,
    /// Comment after the move, without the commands in the fields below. Other commands, such as arrows (`[%cal Gd2d4]`) and
    /// highlights (`[%csl Rd5]`), stay in the text.
    pub after: String,
    /// Judgements such as `!` and `?!`.
    pub nags: Vec<Nag>,
    /// `[%clk]`: the mover's clock *after* the move.
    pub clock: Option<Duration>,
    /// `[%emt]`: how long the move took.
    pub elapsed: Option<Duration>,
    /// `[%eval]`: engine evaluation of the position after the move.
    pub evaluation: Option<Evaluation>,
}

/// The value of `[%eval]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// Score from White's point of view. PGN writes pawns.
    pub score: ForWhite<Score>,
    /// Depth in plies.
    pub depth: Option<u32>,
}

impl Notes {
    /// Adds a comment after the move: known commands go to their fields, the rest to [`after`](Self::after).
    pub fn add_comment(&mut self, comment: &str) {
        let mut text = String::new();
        let mut rest = comment.trim();
        while let Some(open) = rest.find("[%") {
            let (plain, command) = rest.split_at(open);
            text.push_str(plain);
            let Some(close) = command.find(']') else {
                rest = command;
                break;
            };
            let (command, after) = command.split_at(close + 1);
            if self.take_command(command) {
                // The blank before the command separates the rest.
                rest = if text.is_empty() || text.ends_with(' ') { after.trim_start() } else { after };
            } else {
                text.push_str(command);
                rest = after;
            }
        }
        text.push_str(rest);
        let text = text.trim();
        if !text.is_empty() {
            append_text(&mut self.after, text);
        }
    }

    /// Parses `[%name value]`; `false` for unknown or invalid commands.
    fn take_command(&mut self, command: &str) -> bool {
        let inner = command.trim_start_matches("[%").trim_end_matches(']');
        let Some((name, value)) = inner.split_once(' ') else { return false };
        match name {
            "clk" => replace(&mut self.clock, clock_time(value)),
            "emt" => replace(&mut self.elapsed, clock_time(value)),
            "eval" => replace(&mut self.evaluation, evaluation(value)),
            _ => false,
        }
    }

    /// The comment after the move, commands first.
    pub(crate) fn comment(&self) -> String {
        let mut parts = Vec::new();
        if let Some(evaluation) = self.evaluation {
            parts.push(format!("[%eval {evaluation}]"));
        }
        if let Some(clock) = self.clock {
            parts.push(format!("[%clk {}]", ClockTime(clock)));
        }
        if let Some(elapsed) = self.elapsed {
            parts.push(format!("[%emt {}]", ClockTime(elapsed)));
        }
        if !self.after.is_empty() {
            parts.push(self.after.clone());
        }
        parts.join(" ")
    }
}

/// Joins two comments on the same move with a blank.
pub(crate) fn append_text(text: &mut String, more: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(more);
}

fn replace<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    let understood = value.is_some();
    if understood {
        *slot = value;
    }
    understood
}

/// `h:mm:ss`, `m:ss` or `s`, with an optional fraction.
fn clock_time(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let mut seconds: u64 = 0;
    let mut parts = 0;
    for part in whole.split(':') {
        parts += 1;
        if parts > 3 || part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        seconds = seconds.checked_mul(60)?.checked_add(part.parse::<u32>().ok()?.into())?;
    }
    Some(Duration::new(seconds, nanoseconds(fraction)?))
}

struct ClockTime(Duration);

impl fmt::Display for ClockTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        write!(
            f,
            "{}:{:02}:{:02}{}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60,
            Fraction(self.0.subsec_nanos())
        )
    }
}

/// `0.25`, `-1.3,20`, `#3`, `#-3,18`.
fn evaluation(text: &str) -> Option<Evaluation> {
    let (score, depth) = match text.trim().split_once(',') {
        Some((score, depth)) => (score.trim(), Some(depth.trim().parse().ok()?)),
        None => (text.trim(), None),
    };
    let score = match score.strip_prefix('#') {
        Some(mate) => Score::Mate(mate.parse::<NonZeroI32>().ok().filter(|moves| *moves != NonZeroI32::MIN)?),
        None => Score::Centipawns(centipawns(score)?),
    };
    Some(Evaluation { score: ForWhite(score), depth })
}

/// Pawns in decimal notation, rounded to hundredths.
fn centipawns(text: &str) -> Option<i32> {
    if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+')) {
        return None;
    }
    let hundredths = (text.parse::<f64>().ok()? * 100.0).round();
    #[expect(clippy::cast_possible_truncation, reason = "checked to be in range")]
    (hundredths.abs() <= f64::from(i32::MAX)).then_some(hundredths as i32)
}

impl fmt::Display for Evaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.score.0 {
            Score::Centipawns(score) => {
                let sign = if score < 0 { "-" } else { "" };
                write!(f, "{sign}{}.{:02}", score.unsigned_abs() / 100, score.unsigned_abs() % 100)?;
            }
            Score::Mate(moves) => write!(f, "#{moves}")?,
        }
        match self.depth {
            Some(depth) => write!(f, ",{depth}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(comment: &str) -> Notes {
        let mut notes = Notes::default();
        notes.add_comment(comment);
        notes
    }

    #[test]
    fn known_commands_become_fields() {
        let notes = read(" [%eval -1.07,22] [%clk 0:02:59.9] best [%cal Gd2d4] move ");
        assert_eq!(
            notes.evaluation,
            Some(Evaluation { score: ForWhite(Score::Centipawns(-107)), depth: Some(22) })
        );
        assert_eq!(notes.clock, Some(Duration::from_millis(179_900)));
        assert_eq!(notes.after, "best [%cal Gd2d4] move");
    }

    #[test]
    fn removing_a_command_leaves_one_blank() {
        assert_eq!(read("before [%emt 0:00:07] after").after, "before after");
        assert_eq!(read("before [%emt 0:00:07] after").elapsed, Some(Duration::from_secs(7)));
    }

    #[test]
    fn invalid_commands_stay_in_the_text() {
        for text in [
            "[%clk soon]",
            "[%clk -0:00:01]",
            "[%clk 1:2:3:4]",
            "[%eval ?]",
            "[%eval NaN]",
            "[%eval #0]",
            "[%clk",
            "[%clk]",
        ] {
            let notes = read(text);
            assert_eq!(notes, Notes { after: text.to_owned(), ..Notes::default() });
        }
    }

    #[test]
    fn comments_on_the_same_move_are_joined() {
        let mut notes = read("one");
        notes.add_comment("[%clk 1:00:00]");
        notes.add_comment("two");
        assert_eq!((notes.after.as_str(), notes.clock), ("one two", Some(Duration::from_secs(3600))));
    }

    #[test]
    fn fields_round_trip() {
        for text in [
            "[%eval 0.00] [%clk 0:00:00]",
            "[%eval #3] [%clk 12:34:56.07] [%emt 0:00:01.5] text",
            "[%eval #-12,40]",
            "[%eval -0.05]",
            "[%eval 100.00]",
        ] {
            assert_eq!(read(text).comment(), text);
        }
    }

    #[test]
    fn short_and_huge_clocks() {
        assert_eq!(read("[%clk 5]").clock, Some(Duration::from_secs(5)));
        assert_eq!(read("[%clk 1:05]").clock, Some(Duration::from_secs(65)));
        assert_eq!(read("[%clk 99999999999:00:00]").clock, None);
    }
}
