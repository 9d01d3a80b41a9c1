//! Positions as Python users write them.

use pyo3::prelude::*;
use pyo3::types::PyString;
use shakmaty::{ByColor, Chess, Move, san::San};
use tabia_encoding::{PlayerInfo, parse_uci};
use tabia_game::{History, position_from_fen};

use crate::error::invalid;

/// One position or several.
pub(crate) enum Given {
    One(History),
    Many(Vec<History>),
}

impl Given {
    /// A FEN, moves from the start, a `chess.Board`, or a sequence of these.
    pub(crate) fn of(given: &Bound<'_, PyAny>) -> PyResult<Given> {
        if let Some(one) = one(given)? {
            return Ok(Given::One(one));
        }
        let items = given.try_iter().map_err(|_| unexpected(given))?;
        let many = items.enumerate().map(|(number, item)| {
            let item = item?;
            one(&item)
                .map_err(|error| invalid(format!("position {number}: {}", error.value(item.py()))))?
                .ok_or_else(|| unexpected(&item))
        });
        Ok(Given::Many(many.collect::<PyResult<_>>()?))
    }

    pub(crate) fn as_slice(&self) -> &[History] {
        match self {
            Given::One(one) => std::slice::from_ref(one),
            Given::Many(many) => many,
        }
    }
}

/// A single position.
pub(crate) fn single(given: &Bound<'_, PyAny>) -> PyResult<History> {
    one(given)?.ok_or_else(|| unexpected(given))
}

fn unexpected(given: &Bound<'_, PyAny>) -> PyErr {
    let kind = given.get_type().name().map_or_else(|_| "this".to_owned(), |name| name.to_string());
    pyo3::exceptions::PyTypeError::new_err(format!(
        "expected a FEN, moves such as \"e2e4 e7e5\", a chess.Board, or a sequence of these, not {kind}"
    ))
}

/// `None` if it is not a single position.
fn one(given: &Bound<'_, PyAny>) -> PyResult<Option<History>> {
    if let Ok(text) = given.cast::<PyString>() {
        return read(&text.to_cow()?).map(Some);
    }
    // A board of python-chess, with its history.
    if given.hasattr("move_stack")? && given.hasattr("root")? {
        let fen: String = given.call_method0("root")?.call_method0("fen")?.extract()?;
        let mut history = beginning(position_from_fen(&fen).map_err(invalid)?);
        for played in given.getattr("move_stack")?.try_iter()? {
            let text: String = played?.call_method0("uci")?.extract()?;
            push(&mut history, &text)?;
        }
        return Ok(Some(history));
    }
    Ok(None)
}

fn beginning(start: Chess) -> History {
    History::new(start, ByColor::new_with(|_| PlayerInfo::default()))
}

/// A FEN, `FEN moves e2e4 ...`, or moves from the start in UCI or algebraic notation.
fn read(text: &str) -> PyResult<History> {
    let (start, moves) = match text.split_once(" moves ") {
        Some((start, moves)) => (start.trim(), moves),
        None if text.contains('/') => (text.trim(), ""),
        None => ("startpos", text),
    };
    let moves = moves.trim().strip_prefix("startpos").unwrap_or(moves);
    let start = match start {
        "startpos" => Chess::default(),
        fen => position_from_fen(fen).map_err(|error| invalid(format!("{fen:?}: {error}")))?,
    };
    let mut history = beginning(start);
    for word in moves.split_whitespace() {
        // `1.e4`, `1. e4` and `1... e5`.
        let word = word.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        if !word.is_empty() {
            push(&mut history, word)?;
        }
    }
    Ok(history)
}

fn push(history: &mut History, word: &str) -> PyResult<()> {
    let played = parse_move(history.current(), word)?;
    history.push(played, None);
    Ok(())
}

/// A legal move in UCI or algebraic notation.
pub(crate) fn parse_move(position: &Chess, word: &str) -> PyResult<Move> {
    if let Ok(played) = parse_uci(position, word) {
        return Ok(played);
    }
    let san = word.trim_end_matches(['+', '#', '!', '?']).parse::<San>();
    match san.ok().and_then(|san| san.to_move(position).ok()) {
        Some(played) => Ok(played),
        None => {
            let fen = tabia_game::fen_of(position);
            Err(invalid(format!("{word:?} is not a legal move, in UCI or algebraic notation, in {fen}")))
        }
    }
}
