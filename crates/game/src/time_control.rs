#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{fmt, num::NonZeroU32, str::FromStr, time::Duration};

use tabia_encoding::Pace;

/// A time control, as in the PGN tag `TimeControl`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TimeControl {
    /// `?`: unknown.
    Unknown,
    /// `-`: the game had no time control.
    Unlimited,
    /// `300+3`, `40/7200:3600`: one or more periods; never empty. A last period with a number of moves repeats.
    Stages(Vec<Stage>),
    /// `*180`: what one player uses the other gains.
    Hourglass(Duration),
}

/// One period of a time control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stage {
    /// How many moves must be made in this period; `None` is the rest of the game.
    pub moves: Option<NonZeroU32>,
    /// Time added when the period begins.
    pub time: Duration,
    /// Time added after every move of the period.
    pub increment: Duration,
}

/// A `TimeControl` value that does not follow the PGN standard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid time control `{0}`")]
pub struct BadTimeControl(pub String);

impl TimeControl {
    /// One period for the whole game.
    pub fn sudden_death(time: Duration, increment: Duration) -> TimeControl {
        TimeControl::Stages(vec![Stage { moves: None, time, increment }])
    }

    /// Time and increment, where one period without a number of moves is the whole game.
    pub fn pace(&self) -> Option<Pace> {
        match self {
            TimeControl::Stages(stages) => match stages.as_slice() {
                [Stage { moves: None, time, increment }] => Some(Pace { base: *time, increment: *increment }),
                _ => None,
            },
            TimeControl::Unknown | TimeControl::Unlimited | TimeControl::Hourglass(_) => None,
        }
    }

    /// The time on each clock before the first move, when there is any.
    pub fn start(&self) -> Option<Duration> {
        match self {
            TimeControl::Unknown | TimeControl::Unlimited => None,
            TimeControl::Stages(stages) => stages.first().map(|stage| stage.time),
            TimeControl::Hourglass(time) => Some(*time),
        }
    }
}

impl FromStr for TimeControl {
    type Err = BadTimeControl;

    fn from_str(text: &str) -> Result<TimeControl, BadTimeControl> {
        let bad = || BadTimeControl(text.to_owned());
        match text.trim() {
            "?" | "" => Ok(TimeControl::Unknown),
            "-" => Ok(TimeControl::Unlimited),
            trimmed => match trimmed.strip_prefix('*') {
                Some(time) => seconds(time).map(TimeControl::Hourglass).ok_or_else(bad),
                None => {
                    let stages: Option<Vec<Stage>> = trimmed.split(':').map(stage).collect();
                    stages.map(TimeControl::Stages).ok_or_else(bad)
                }
            },
        }
    }
}

fn stage(text: &str) -> Option<Stage> {
    let (moves, rest) = match text.split_once('/') {
        Some((moves, rest)) => (Some(moves.trim().parse().ok()?), rest),
        None => (None, text),
    };
    let (time, increment) = rest.split_once('+').unwrap_or((rest, "0"));
    Some(Stage { moves, time: seconds(time)?, increment: seconds(increment)? })
}

/// Seconds with an optional decimal fraction.
fn seconds(text: &str) -> Option<Duration> {
    let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let whole: u32 =
        if whole.bytes().all(|b| b.is_ascii_digit()) { whole.parse().ok()? } else { return None };
    Some(Duration::new(whole.into(), nanoseconds(fraction)?))
}

/// The digits after a decimal point, as nanoseconds. At most nine count; the rest is below the resolution.
pub(crate) fn nanoseconds(fraction: &str) -> Option<u32> {
    let mut nanos = 0;
    let mut worth = 100_000_000;
    for byte in fraction.bytes() {
        if !byte.is_ascii_digit() {
            return None;
        }
        nanos += u32::from(byte - b'0') * worth;
        worth /= 10;
    }
    Some(nanos)
}

/// Seconds as PGN writes them: a fraction only where there is one.
pub(crate) struct Fraction(pub u32);

impl fmt::Display for Fraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return Ok(());
        }
        let digits = format!("{:09}", self.0);
        write!(f, ".{}", digits.trim_end_matches('0'))
    }
}

impl fmt::Display for TimeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Duration| format!("{}{}", time.as_secs(), Fraction(time.subsec_nanos()));
        match self {
            TimeControl::Unknown => f.write_str("?"),
            TimeControl::Unlimited => f.write_str("-"),
            TimeControl::Hourglass(time) => write!(f, "*{}", seconds(*time)),
            TimeControl::Stages(stages) => {
                for (index, stage) in stages.iter().enumerate() {
                    if index > 0 {
                        f.write_str(":")?;
                    }
                    if let Some(moves) = stage.moves {
                        write!(f, "{moves}/")?;
                    }
                    f.write_str(&seconds(stage.time))?;
                    // A lone period always shows its increment: "300+0" is what servers write.
                    if !stage.increment.is_zero() || (stages.len() == 1 && stage.moves.is_none()) {
                        write!(f, "+{}", seconds(stage.increment))?;
                    }
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_round_trips() {
        for text in
            ["?", "-", "300+3", "180+0", "10+0.1", "40/7200:3600", "40/5400+30:1800+30", "*180", "1/259200"]
        {
            let control: TimeControl = text.parse().unwrap();
            assert_eq!(control.to_string(), text);
        }
        assert_eq!("900".parse::<TimeControl>().unwrap().to_string(), "900+0");
    }

    #[test]
    fn stages_hold_moves_time_and_increment() {
        let control: TimeControl = "40/7200+30:0.5".parse().unwrap();
        let first = Stage {
            moves: NonZeroU32::new(40),
            time: Duration::from_secs(7200),
            increment: Duration::from_secs(30),
        };
        let last = Stage { moves: None, time: Duration::from_millis(500), increment: Duration::ZERO };
        assert_eq!(control, TimeControl::Stages(vec![first, last]));
        assert_eq!(control.start(), Some(Duration::from_secs(7200)));
    }

    #[test]
    fn invalid_time_controls_are_errors() {
        for text in ["blitz", "3+", "+3", "40/", "0/300", "300+-1", "5 min", "99999999999", "1:", "1e3", "∞"]
        {
            assert_eq!(text.parse::<TimeControl>(), Err(BadTimeControl(text.to_owned())), "{text}");
        }
    }
}
