//! Several games of one PGN text.

use tabia_game::{RawGame, RawGames, ReadOptions};
use tsify::{Ts, Tsify as _};
use wasm_bindgen::prelude::wasm_bindgen;

use super::{GameTree, PgnEntry, scan};
use crate::Fault;

/// The games of a PGN text. Only the text is kept; a game becomes a tree when it is taken.
#[wasm_bindgen]
pub struct PgnGames {
    text: String,
    entries: Vec<PgnEntry>,
    problems: Vec<String>,
}

#[wasm_bindgen]
impl PgnGames {
    /// The games that can be read, or read to some move.
    #[wasm_bindgen(getter)]
    pub fn games(&self) -> Result<Vec<Ts<PgnEntry>>, Fault> {
        self.entries.iter().map(|entry| Ok(entry.into_ts()?)).collect()
    }

    /// What is wrong with the others.
    #[wasm_bindgen(getter)]
    pub fn problems(&self) -> Vec<String> {
        self.problems.clone()
    }

    /// A game as a tree.
    pub fn take(&self, index: usize) -> Result<GameTree, Fault> {
        let text = self.entries.get(index).and_then(|entry| {
            let start = entry.offset as usize;
            self.text.as_bytes().get(start..start.saturating_add(entry.length as usize))
        });
        let Some(text) = text else {
            return Err(Fault::new(format!(
                "invalid game {index} (expected less than {})",
                self.entries.len()
            )));
        };
        let (game, problem) = scan::readable(RawGame::alone(text).read(ReadOptions::default()));
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
        while let Some(found) = scan::next(&mut games) {
            entries.extend(found.entry);
            problems.extend(found.problem);
        }
        PgnGames { text, entries, problems }
    }
}
