//! Several games of one PGN text.

use std::ops::Range;

use serde::Serialize;
use tabia_game::{BrokenGame, Game, RawGame, RawGames, ReadOptions};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use super::GameTree;
use crate::Fault;

/// What a list of games shows of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct PgnEntry {
    /// Who played, and where.
    pub title: String,
    /// The result as PGN writes it.
    pub result: String,
    /// Half-moves of the main line.
    pub plies: u32,
    /// The tag pairs.
    pub headers: Vec<(String, String)>,
}

/// The games of a PGN text. Only the text is kept; a game becomes a tree when it is taken.
#[wasm_bindgen]
pub struct PgnGames {
    text: String,
    entries: Vec<(PgnEntry, Range<usize>)>,
    problems: Vec<String>,
}

#[wasm_bindgen]
impl PgnGames {
    /// The games that can be read, or read to some move.
    #[wasm_bindgen(getter)]
    pub fn games(&self) -> Result<Vec<Ts<PgnEntry>>, Fault> {
        self.entries.iter().map(|(entry, _)| Ok(entry.into_ts()?)).collect()
    }

    /// What is wrong with the others.
    #[wasm_bindgen(getter)]
    pub fn problems(&self) -> Vec<String> {
        self.problems.clone()
    }

    /// A game as a tree.
    pub fn take(&self, index: usize) -> Result<GameTree, Fault> {
        let Some(text) =
            self.entries.get(index).and_then(|(_, range)| self.text.as_bytes().get(range.clone()))
        else {
            return Err(Fault::new(format!("there is no game {index}: there are {}", self.entries.len())));
        };
        let (game, problem) = readable(RawGame::alone(text).read(ReadOptions::default()));
        match game {
            Some(game) => Ok(GameTree::of(game)),
            None => Err(Fault::new(problem.unwrap_or_default())),
        }
    }
}

impl PgnGames {
    pub(super) fn read(text: String) -> PgnGames {
        let (mut entries, mut problems) = (Vec::new(), Vec::new());
        let mut games = RawGames::new(text.as_bytes());
        while let Some(raw) = games.next() {
            match raw {
                Ok(raw) => {
                    let start = usize::try_from(raw.place.offset).unwrap_or(usize::MAX);
                    let range = start..start.saturating_add(raw.bytes.len());
                    let (game, problem) = readable(raw.read(ReadOptions::default()));
                    problems.extend(problem);
                    entries.extend(game.map(|game| (entry(&game), range)));
                }
                Err(broken) => problems.push(broken.to_string()),
            }
        }
        PgnGames { text, entries, problems }
    }
}

/// What can be read of a game, and what is wrong with it.
fn readable(game: Result<Game, BrokenGame>) -> (Option<Game>, Option<String>) {
    match game {
        Ok(game) => (Some(game), None),
        Err(broken) => {
            let problem = broken.to_string();
            let game = broken.readable.map(|game| *game).filter(|game| game.mainline().next().is_some());
            (game, Some(problem))
        }
    }
}

fn entry(game: &Game) -> PgnEntry {
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
        headers: game.headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
    }
}
