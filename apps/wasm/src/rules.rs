//! Positions, openings and time controls, for the page's forms.

use std::time::Duration;

use serde::Serialize;
use tabia_arena::Openings;
use tabia_encoding::Pace;
use tabia_game::{Chess960, TimeControl, UnknownChess960, fen_of, position_from_fen};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{Fault, notation};

/// The result of reading a FEN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct CheckedFen {
    /// Whether a game can start there.
    pub ok: bool,
    /// The normalised FEN; empty if invalid.
    pub fen: String,
    /// The error; empty if valid.
    pub problem: String,
}

/// An opening of a book.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct OpeningEntry {
    /// Its name.
    pub name: String,
    /// The initial position.
    pub fen: String,
    /// Its moves.
    pub moves: Vec<String>,
}

/// A time control of one period.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
pub struct Pacing {
    /// Seconds on the clock before the first move; 0 without a clock.
    pub base: f64,
    /// Seconds added after every move.
    pub increment: f64,
    /// Its text form: `5+3`, `1/2+0`, `20s+1`, `5400+30` or `untimed`.
    pub label: String,
}

/// Whether a game can start in a position.
#[wasm_bindgen(js_name = checkFen)]
pub fn check_fen(fen: &str) -> Result<Ts<CheckedFen>, Fault> {
    Ok(checked(fen).into_ts()?)
}

fn checked(fen: &str) -> CheckedFen {
    match position_from_fen(fen) {
        Ok(position) => CheckedFen { ok: true, fen: fen_of(&position), problem: String::new() },
        Err(error) => CheckedFen { ok: false, fen: String::new(), problem: error.to_string() },
    }
}

/// The empty board, for the editor.
#[wasm_bindgen(js_name = emptyFen)]
pub fn empty_fen() -> String {
    "8/8/8/8/8/8/8/8 w - - 0 1".to_owned()
}

/// The start position of Chess960 with a number, 0 to 959.
#[wasm_bindgen(js_name = chess960Fen)]
pub fn chess960_fen(number: u16) -> Result<String, Fault> {
    let position = Chess960::new(number).map(Chess960::position);
    position
        .map(|position| fen_of(&position))
        .ok_or_else(|| Fault::new(UnknownChess960(number.to_string()).to_string()))
}

/// 25 balanced openings.
#[wasm_bindgen(js_name = openingBook)]
pub fn opening_book() -> Result<Vec<Ts<OpeningEntry>>, Fault> {
    book().iter().map(|entry| Ok(entry.into_ts()?)).collect()
}

fn book() -> Vec<OpeningEntry> {
    let entry = |opening: &tabia_arena::Opening| OpeningEntry {
        name: opening.name.clone(),
        fen: fen_of(opening.start()),
        moves: opening.moves().iter().map(|m| notation::uci(opening.start(), *m)).collect(),
    };
    Openings::balanced().list().iter().map(entry).collect()
}

/// Reads a time control: minutes and seconds as sites write them (`5+3`, `1/2+0`), from 60 on seconds as PGN does
/// (`300+3`), seconds where it says so (`20s+1`), or `untimed`.
#[wasm_bindgen(js_name = timeControl)]
pub fn time_control(text: &str) -> Result<Ts<Pacing>, Fault> {
    Ok(pacing(text)?.into_ts()?)
}

/// Bases below this are minutes, others seconds as in PGN.
const FIRST_SECONDS: Duration = Duration::from_secs(60);

/// Parts of a minute as sites write them, and their seconds.
const FRACTIONS: [(&str, u64); 6] = [("1/4", 15), ("1/2", 30), ("3/4", 45), ("¼", 15), ("½", 30), ("¾", 45)];

/// Parses a time control; `None` is untimed.
pub(crate) fn read_time_control(text: &str) -> Result<Option<TimeControl>, Fault> {
    if matches!(text.trim(), "" | "-" | "?" | "untimed") {
        return Ok(None);
    }
    let pace = read_pace(text).filter(|pace| !(pace.base + pace.increment).is_zero());
    let pace = pace.ok_or_else(|| {
        Fault::new(format!(
            "invalid time control {text:?} (expected minutes+seconds as in 5+3, or \"untimed\")"
        ))
    })?;
    Ok(Some(TimeControl::sudden_death(pace.base, pace.increment)))
}

fn read_pace(text: &str) -> Option<Pace> {
    let (base, increment) = text.split_once('+').unwrap_or((text, "0"));
    let (base, increment) = (base.trim(), increment.trim());
    let seconds = |text: &str| {
        let control: TimeControl = text.parse().ok()?;
        control.pace().filter(|pace| pace.increment.is_zero()).map(|pace| pace.base)
    };
    let increment = seconds(increment)?;
    let base = if let Some((_, seconds)) = FRACTIONS.iter().find(|(written, _)| *written == base) {
        Duration::from_secs(*seconds)
    } else if let Some(base) = base.strip_suffix('s') {
        seconds(base)?
    } else {
        let base = seconds(base)?;
        if base < FIRST_SECONDS { base * 60 } else { base }
    };
    Some(Pace { base, increment })
}

fn pacing(text: &str) -> Result<Pacing, Fault> {
    let Some(pace) = read_time_control(text)?.and_then(|control| control.pace()) else {
        return Ok(Pacing { base: 0.0, increment: 0.0, label: "untimed".to_owned() });
    };
    let (base, increment) = (pace.base.as_secs_f64(), pace.increment.as_secs_f64());
    let fraction = FRACTIONS.iter().find(|(_, seconds)| Duration::from_secs(*seconds) == pace.base);
    let minutes = base / 60.0;
    let written = match fraction {
        Some((written, _)) => (*written).to_owned(),
        None if pace.base >= FIRST_SECONDS * 60 => base.to_string(),
        None if (minutes * 2.0).fract() == 0.0 => minutes.to_string(),
        None => format!("{base}s"),
    };
    Ok(Pacing { base, increment, label: format!("{written}+{increment}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_controls_read_in_minutes_or_seconds() {
        let read = |text| pacing(text).map(|pacing| (pacing.base, pacing.increment, pacing.label));
        let as_written = |base, increment, label: &str| Ok((base, increment, label.to_owned()));
        assert_eq!(read("5+3"), as_written(300.0, 3.0, "5+3"));
        assert_eq!(read("300+3"), as_written(300.0, 3.0, "5+3"));
        assert_eq!(read("10"), as_written(600.0, 0.0, "10+0"));
        assert_eq!(read("1/2+1"), as_written(30.0, 1.0, "1/2+1"));
        assert_eq!(read(" 1.5 + 0 "), as_written(90.0, 0.0, "1.5+0"));
        assert_eq!(read("100+1"), as_written(100.0, 1.0, "100s+1"));
        assert_eq!(read("30+20"), as_written(1800.0, 20.0, "30+20"));
        assert_eq!(read("20s"), as_written(20.0, 0.0, "20s+0"));
        assert_eq!(read("untimed"), as_written(0.0, 0.0, "untimed"));
        for text in ["0+0", "blitz", "5+", "5+-1", "40/7200:3600", "99999999999", "1e9", "NaN"] {
            assert!(read(text).unwrap_err().to_string().contains("invalid time control"), "{text}");
        }
    }

    #[test]
    fn labels_read_back_as_the_same_control() {
        for text in [
            "5+3", "300+3", "1/4+0", "100+1", "15+10", "29+0", "1.5+1", "30", "5400+30", "0+5", "20s",
            "7.3s+1",
        ] {
            let once = pacing(text).unwrap();
            assert_eq!(pacing(&once.label).unwrap(), once, "{text}");
        }
    }

    #[test]
    fn a_fen_is_checked_and_made_normal() {
        let fen = checked("8/8/4k3/8/8/3QK3/8/8 b - -");
        assert_eq!((fen.ok, fen.fen.as_str()), (true, "8/8/4k3/8/8/3QK3/8/8 b - - 0 1"));
        for bad in [empty_fen(), "hello".to_owned(), String::new(), "8/".repeat(1_000_000)] {
            let checked = checked(&bad);
            assert!(!checked.ok && checked.fen.is_empty() && !checked.problem.is_empty());
        }
    }

    #[test]
    fn positions_of_chess960_have_numbers() {
        assert_eq!(chess960_fen(867).unwrap(), "bqrkrnnb/pppppppp/8/8/8/8/PPPPPPPP/BQRKRNNB w KQkq - 0 1");
        assert!(chess960_fen(960).unwrap_err().to_string().contains("expected 0 to 959"));
    }

    #[test]
    fn the_book_has_25_openings() {
        let book = book();
        assert_eq!(book.len(), 25);
        for entry in &book {
            assert!(!entry.name.is_empty() && checked(&entry.fen).ok, "{entry:?}");
        }
    }
}
