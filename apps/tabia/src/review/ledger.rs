//! The reviewed games on disk: a line of JSON for the terms of the review, then one for each game.

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use tabia_encoding::RatingPool;
use tabia_practice::GameReview;

/// The version of the format.
pub(super) const VERSION: u32 = 1;

/// What the review of a game depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Terms {
    /// The version of the format.
    #[serde(rename = "tabiaReview")]
    pub(super) version: u32,
    pub(super) me: String,
    pub(super) engine: String,
    pub(super) nodes: u64,
    /// The hash of the human network.
    pub(super) network: String,
    pub(super) rating: Option<u16>,
    pub(super) pool: Option<RatingPool>,
}

pub(super) struct Ledger {
    file: File,
    games: BTreeMap<String, GameReview>,
}

impl Ledger {
    /// Opens or creates a ledger. A last line that was cut off is removed; reviews under other terms are an error.
    pub(super) fn open(path: &Path, terms: &Terms, fresh: bool) -> Result<Ledger> {
        let at = || path.display().to_string();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(fresh)
            .open(path)
            .with_context(at)?;
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(at)?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut lines = text[..whole].lines();
        let mut games = BTreeMap::new();
        match lines.next() {
            None => {
                file.set_len(0).with_context(at)?;
                file.rewind().with_context(at)?;
                let mut line = serde_json::to_vec(terms)?;
                line.push(b'\n');
                file.write_all(&line).with_context(at)?;
            }
            Some(first) => {
                let known: Terms = serde_json::from_str(first)
                    .with_context(|| format!("{}: not a ledger of reviews", path.display()))?;
                if known != *terms {
                    bail!(
                        "{}: made with other terms ({first}); use --fresh to start again, or another --out",
                        path.display()
                    );
                }
                for (number, line) in lines.enumerate() {
                    let game: GameReview = serde_json::from_str(line)
                        .with_context(|| format!("{}: line {}", path.display(), number + 2))?;
                    games.insert(game.key.clone(), game);
                }
                file.set_len(whole as u64).with_context(at)?;
                file.seek(SeekFrom::End(0)).with_context(at)?;
            }
        }
        Ok(Ledger { file, games })
    }

    /// Adds a game: it is on disk before it counts. What counts is what will be read back, because JSON may round numbers.
    pub(super) fn add(&mut self, game: &GameReview) -> Result<()> {
        let mut line = serde_json::to_vec(game)?;
        let game: GameReview = serde_json::from_slice(&line)?;
        line.push(b'\n');
        self.file.write_all(&line).context("the ledger")?;
        self.games.insert(game.key.clone(), game);
        Ok(())
    }

    pub(super) fn keys(&self) -> HashSet<String> {
        self.games.keys().cloned().collect()
    }

    /// The games, in the order of their keys.
    pub(super) fn games(&self) -> impl Iterator<Item = &GameReview> {
        self.games.values()
    }

    pub(super) fn get(&self, key: &str) -> Option<&GameReview> {
        self.games.get(key)
    }
}
