//! The games of a PGN, found one after the other.

use std::io::{self, Read};

use js_sys::{Function, Uint8Array};
use serde::Serialize;
use tabia_game::{BrokenGame, Game, RawGames, ReadOptions};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::{JsCast as _, JsValue, wasm_bindgen};

use crate::Fault;

/// What a list of games shows of one, and where it stands in the text.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
pub struct PgnEntry {
    /// Who played, and where.
    pub title: String,
    /// The result as PGN writes it.
    pub result: String,
    /// Half-moves of the main line.
    pub plies: u32,
    /// The byte it begins at, from 0.
    pub offset: f64,
    /// Its bytes.
    pub length: f64,
}

/// The games a scan found since it was last asked.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Tsify)]
pub struct PgnPart {
    /// The games that can be read, or read to some move.
    pub games: Vec<PgnEntry>,
    /// What is wrong with the others.
    pub problems: Vec<String>,
    /// Bytes looked at so far, of the whole text.
    pub read: f64,
    /// Whether this was all.
    pub done: bool,
}

/// Finds the games of a PGN of any size, some at a time; what it holds in memory is one game.
#[wasm_bindgen]
pub struct PgnScan {
    games: RawGames<Bytes>,
    read: f64,
}

#[wasm_bindgen]
impl PgnScan {
    /// A scan of what a function gives out piece by piece: called with the most bytes it may give, it gives none at the end.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "(most: number) => Uint8Array")] bytes: Function,
    ) -> PgnScan {
        PgnScan { games: RawGames::new(Bytes(bytes)), read: 0.0 }
    }

    /// Looks at so many more games.
    pub fn step(&mut self, games: u32) -> Result<Ts<PgnPart>, Fault> {
        let mut part = PgnPart::default();
        for _ in 0..games {
            let Some(found) = next(&mut self.games) else {
                part.done = true;
                break;
            };
            if let Some(entry) = &found.entry {
                self.read = entry.offset + entry.length;
            }
            part.games.extend(found.entry);
            part.problems.extend(found.problem);
        }
        part.read = self.read;
        Ok(part.into_ts()?)
    }
}

/// Bytes that come from the page.
pub(crate) struct Bytes(pub(crate) Function);

impl Read for Bytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = JsValue::from_f64(buffer.len() as f64);
        let given = self.0.call1(&JsValue::NULL, &most).map_err(|thrown| io::Error::other(words(&thrown)))?;
        let Some(bytes) = given.dyn_ref::<Uint8Array>() else {
            return Err(io::Error::other("what was read is no bytes"));
        };
        let length = bytes.length() as usize;
        let Some(room) = buffer.get_mut(..length) else {
            return Err(io::Error::other(format!("{length} bytes were given where {} fit", buffer.len())));
        };
        bytes.copy_to(room);
        Ok(length)
    }
}

fn words(thrown: &JsValue) -> String {
    match thrown.dyn_ref::<js_sys::Error>() {
        Some(error) => error.message().into(),
        None => "it cannot be read".to_owned(),
    }
}

/// A game that was come upon. It has an entry unless nothing of it can be read.
pub(super) struct Found {
    pub(super) entry: Option<PgnEntry>,
    pub(super) problem: Option<String>,
}

/// The next game of a text; `None` at the end.
pub(super) fn next<R: Read>(games: &mut RawGames<R>) -> Option<Found> {
    Some(match games.next()? {
        Ok(raw) => {
            let (offset, length) = (raw.place.offset as f64, raw.bytes.len() as f64);
            let (game, problem) = readable(raw.read(ReadOptions::default()));
            Found { entry: game.map(|game| entry(&game, offset, length)), problem }
        }
        Err(broken) => Found { entry: None, problem: Some(broken.to_string()) },
    })
}

/// What can be read of a game, and what is wrong with it.
pub(super) fn readable(game: Result<Game, BrokenGame>) -> (Option<Game>, Option<String>) {
    match game {
        Ok(game) => (Some(game), None),
        Err(broken) => {
            let problem = broken.to_string();
            let game = broken.readable.map(|game| *game).filter(|game| game.mainline().next().is_some());
            (game, Some(problem))
        }
    }
}

fn entry(game: &Game, offset: f64, length: f64) -> PgnEntry {
    let known = |name| game.headers.get(name).filter(|value| !matches!(*value, "" | "?"));
    let mut title = format!("{} - {}", known("White").unwrap_or("?"), known("Black").unwrap_or("?"));
    for more in [known("Event"), known("Date").filter(|date| !date.starts_with('?'))].into_iter().flatten() {
        title.push_str(", ");
        title.push_str(more);
    }
    PgnEntry {
        title,
        result: game.result.to_string(),
        plies: u32::try_from(game.mainline().count()).unwrap_or(u32::MAX),
        offset,
        length,
    }
}
