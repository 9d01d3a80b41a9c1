//! Choosing the games to ask about: whole games, at random by their keys, the same ones every time.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tabia_data::{
    BytesRead, Chunks, Faults, GameBytes, GameRules, OpenError, RecordError, RecordKey, RecordKind, Set,
    SetError, Side, SourceFile, SourceKind, Split,
};

/// Which of the games or puzzles of some files count.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// What is taken for granted about games of PGN.
    pub rules: GameRules,
    /// How trainings divide records.
    pub split: Split,
    /// The side of it that counts.
    pub side: Side,
    /// Games are taken until they have so many positions; `None` takes all.
    pub positions: Option<u64>,
    /// Threads that read.
    pub jobs: NonZeroUsize,
}

/// What was chosen.
#[derive(Debug, Default)]
pub struct Selected {
    /// In the order of their keys, each once.
    pub games: Vec<SelectedGame>,
    /// How many games or puzzles were read.
    pub read: u64,
    /// What could not be read.
    pub faults: Faults,
}

/// A game or puzzle.
#[derive(Clone, Debug)]
pub struct SelectedGame {
    /// What it is known by.
    pub key: RecordKey,
    /// Its bytes, as [`GameBytes`] reads them.
    pub bytes: Vec<u8>,
    /// How many of its positions count.
    pub positions: u64,
}

/// Why games cannot be chosen.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// A source cannot be opened.
    #[error(transparent)]
    Source(#[from] OpenError),
    /// A set cannot be read.
    #[error(transparent)]
    Set(#[from] SetError),
    /// Not games.
    #[error("{0}: holds engine evaluations; this needs games or puzzles")]
    NotGames(String),
    /// A record of a set makes no sense.
    #[error("{}: the game with key {:016x}: {error}", path.display(), key.0)]
    Record {
        /// The set.
        path: PathBuf,
        /// Which of its records.
        key: RecordKey,
        /// What is wrong.
        error: RecordError,
    },
}

impl Selected {
    /// How many positions count.
    pub fn positions(&self) -> u64 {
        self.games.iter().map(|game| game.positions).sum()
    }
}

impl Choice {
    /// Chooses among the games of `inputs`: files, folders of files, sets, or `-`. `counts` says how many positions of a
    /// game count; a game of which none does is left out. `progress` is told how many bytes of files have been read.
    ///
    /// A game that comes more than once is taken once. Which games are taken depends on nothing but the games.
    ///
    /// # Errors
    /// If an input cannot be opened or holds something else. Games that cannot be read are counted, not errors.
    pub fn select(
        &self,
        inputs: &[PathBuf],
        counts: &(dyn Fn(&GameBytes<'_>) -> Result<u64, RecordError> + Sync),
        progress: &(dyn Fn(u64) + Sync),
    ) -> Result<Selected, SelectError> {
        let chosen = Mutex::new(Chosen { most: self.positions, ..Chosen::default() });
        let bytes_read = BytesRead::default();
        for input in inputs {
            if input.join("set.json").is_file() {
                self.select_of_set(input, counts, &chosen)?;
                continue;
            }
            for file in SourceFile::find(input)? {
                let chunks = Chunks::open(&file, &bytes_read)?;
                if chunks.kind() == SourceKind::EvaluationsJsonl {
                    return Err(SelectError::NotGames(file.name.to_string()));
                }
                self.select_of_chunks(chunks, counts, &chosen, &|| progress(bytes_read.get()));
            }
        }
        let chosen = chosen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let games = chosen
            .games
            .into_iter()
            .map(|(key, (bytes, positions))| SelectedGame { key, bytes, positions })
            .collect();
        Ok(Selected { games, read: chosen.read, faults: chosen.faults })
    }

    fn select_of_set(
        &self,
        folder: &Path,
        counts: &(dyn Fn(&GameBytes<'_>) -> Result<u64, RecordError> + Sync),
        chosen: &Mutex<Chosen>,
    ) -> Result<(), SelectError> {
        let set = Set::open(folder)?;
        if set.kind() != RecordKind::Games {
            return Err(SelectError::NotGames(folder.display().to_string()));
        }
        let mut chosen = chosen.lock().unwrap_or_else(PoisonError::into_inner);
        for record in set.iter() {
            let (key, bytes) = record?;
            // The records of a set come in the order of their keys.
            if !chosen.may_take(key) {
                break;
            }
            let fault = |error| SelectError::Record { path: folder.to_owned(), key, error };
            let game = GameBytes::parse(&bytes).map_err(fault)?;
            chosen.read += 1;
            if self.side.takes(self.split.side(key, game.head.players)) {
                let positions = counts(&game).map_err(fault)?;
                chosen.offer(key, bytes, positions, counts);
            }
        }
        Ok(())
    }

    fn select_of_chunks(
        &self,
        chunks: Chunks,
        counts: &(dyn Fn(&GameBytes<'_>) -> Result<u64, RecordError> + Sync),
        chosen: &Mutex<Chosen>,
        progress: &(dyn Fn() + Sync),
    ) {
        let chunks = Mutex::new(chunks);
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.get() {
                scope.spawn(|| {
                    loop {
                        let chunk = chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some(chunk) = chunk else { return };
                        let harvest = chunk.read(&self.rules);
                        let mut offers = Vec::new();
                        let read = harvest.games.len() as u64;
                        for game in harvest.games {
                            // Whatever was read from text has bytes that can be read again.
                            let Ok(bytes) = game.to_bytes() else { continue };
                            let Ok(parsed) = GameBytes::parse(&bytes) else { continue };
                            let key = parsed.key();
                            if self.side.takes(self.split.side(key, parsed.head.players))
                                && let Ok(positions) = counts(&parsed)
                            {
                                offers.push((key, bytes, positions));
                            }
                        }
                        let mut chosen = chosen.lock().unwrap_or_else(PoisonError::into_inner);
                        chosen.read += read;
                        chosen.faults.merge(harvest.faults);
                        for (key, bytes, positions) in offers {
                            chosen.offer(key, bytes, positions, counts);
                        }
                        drop(chosen);
                        progress();
                    }
                });
            }
        });
    }
}

/// The games chosen so far: those with the smallest keys, as many as it takes to reach `most` positions.
#[derive(Default)]
struct Chosen {
    games: BTreeMap<RecordKey, (Vec<u8>, u64)>,
    positions: u64,
    most: Option<u64>,
    read: u64,
    faults: Faults,
}

impl Chosen {
    /// Whether a game with this key would be taken.
    fn may_take(&self, key: RecordKey) -> bool {
        let is_full = self.most.is_some_and(|most| self.positions >= most);
        !is_full || self.games.last_key_value().is_some_and(|(last, _)| key <= *last)
    }

    fn offer(
        &mut self,
        key: RecordKey,
        bytes: Vec<u8>,
        positions: u64,
        counts: &dyn Fn(&GameBytes<'_>) -> Result<u64, RecordError>,
    ) {
        if positions == 0 || !self.may_take(key) {
            return;
        }
        let (bytes, positions) = match self.games.remove(&key) {
            None => (bytes, positions),
            Some((other, other_positions)) => {
                self.positions -= other_positions;
                // Of the same game, the one of which most is known.
                let both = [bytes.as_slice(), other.as_slice()];
                let united = RecordKind::Games.unite(both).unwrap_or(bytes);
                let positions = GameBytes::parse(&united).and_then(|game| counts(&game)).unwrap_or(positions);
                (united, positions)
            }
        };
        self.positions += positions;
        self.games.insert(key, (bytes, positions));
        while let (Some(most), Some(last)) = (self.most, self.games.last_entry()) {
            if self.positions - last.get().1 < most {
                break;
            }
            self.positions -= last.remove().1;
        }
    }
}
