//! Deterministic selection of whole games, in random order by record key.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tabia_data::{
    BytesRead, Chunks, Faults, GameBytes, GameRules, OpenError, RecordError, RecordKey, RecordKind, Set,
    SetError, Side, SourceFile, SourceKind, Split,
};

use crate::EvalError;

/// Counts the usable positions of a game.
type CountPositions<'a> = &'a (dyn Fn(&GameBytes<'_>) -> Result<u64, RecordError> + Sync);

/// Selects games or puzzles from files.
#[derive(Clone, Copy, Debug)]
pub struct GameSelection {
    /// Assumptions about PGN games.
    pub rules: GameRules,
    /// Train/test split.
    pub split: Split,
    /// Side of the split to use.
    pub side: Side,
    /// Minimum number of positions to select; `None` selects all games.
    pub positions: Option<u64>,
    /// Number of reader threads.
    pub jobs: NonZeroUsize,
}

/// Selected games.
#[derive(Debug, Default)]
pub struct SelectedGames {
    /// Unique games, sorted by key.
    pub games: Vec<SelectedGame>,
    /// Number of games or puzzles read.
    pub read: u64,
    /// Games that could not be read.
    pub faults: Faults,
}

/// A game or puzzle.
#[derive(Clone, Debug)]
pub struct SelectedGame {
    /// Record key.
    pub key: RecordKey,
    /// Encoded record, see [`GameBytes`].
    pub bytes: Vec<u8>,
    /// Number of usable positions.
    pub positions: u64,
}

impl SelectedGame {
    pub(crate) fn parse(&self) -> Result<GameBytes<'_>, EvalError> {
        GameBytes::parse(&self.bytes).map_err(|error| self.invalid(error))
    }

    pub(crate) fn invalid(&self, error: RecordError) -> EvalError {
        EvalError::Game { key: self.key, error }
    }
}

/// Error selecting games.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// A source cannot be opened.
    #[error(transparent)]
    Source(#[from] OpenError),
    /// A set cannot be read.
    #[error(transparent)]
    Set(#[from] SetError),
    /// The input contains evaluations.
    #[error("{0}: contains engine evaluations (expected games or puzzles)")]
    NotGames(String),
    /// Invalid record of a set.
    #[error("{}: game {:016x}: {error}", path.display(), key.0)]
    Record {
        /// Folder of the set.
        path: PathBuf,
        /// Key of the record.
        key: RecordKey,
        /// Cause.
        error: RecordError,
    },
}

impl SelectedGames {
    /// Total number of usable positions.
    pub fn positions(&self) -> u64 {
        self.games.iter().map(|game| game.positions).sum()
    }
}

impl GameSelection {
    /// Selects from `inputs`: files, folders of files, sets, or `-`. Games without usable positions according to
    /// `count` are skipped. `on_progress` receives the number of bytes read.
    ///
    /// Duplicates are merged. The selection depends only on the set of games, not on their order or on threads.
    ///
    /// # Errors
    /// If an input cannot be opened or contains no games. Unreadable games are counted in [`SelectedGames::faults`].
    pub fn select(
        &self,
        inputs: &[PathBuf],
        count: CountPositions<'_>,
        on_progress: &(dyn Fn(u64) + Sync),
    ) -> Result<SelectedGames, SelectError> {
        let selected = Mutex::new(Selection { max_positions: self.positions, ..Selection::default() });
        let bytes_read = BytesRead::default();
        for input in inputs {
            if input.join("set.json").is_file() {
                self.select_from_set(input, count, &selected)?;
                continue;
            }
            for file in SourceFile::find(input)? {
                let chunks = Chunks::open(&file, &bytes_read)?;
                if chunks.kind() == SourceKind::EvaluationsJsonl {
                    return Err(SelectError::NotGames(file.name.to_string()));
                }
                self.select_from_chunks(chunks, count, &selected, &|| on_progress(bytes_read.get()));
            }
        }
        let selected = selected.into_inner().unwrap_or_else(PoisonError::into_inner);
        let games = selected
            .games
            .into_iter()
            .map(|(key, (bytes, positions))| SelectedGame { key, bytes, positions })
            .collect();
        Ok(SelectedGames { games, read: selected.read, faults: selected.faults })
    }

    fn select_from_set(
        &self,
        folder: &Path,
        count: CountPositions<'_>,
        selected: &Mutex<Selection>,
    ) -> Result<(), SelectError> {
        let set = Set::open(folder)?;
        if set.kind() != RecordKind::Games {
            return Err(SelectError::NotGames(folder.display().to_string()));
        }
        let mut selected = selected.lock().unwrap_or_else(PoisonError::into_inner);
        for record in set.iter() {
            let (key, bytes) = record?;
            // Records of a set are sorted by key.
            if !selected.accepts(key) {
                break;
            }
            let invalid = |error| SelectError::Record { path: folder.to_owned(), key, error };
            let game = GameBytes::parse(&bytes).map_err(invalid)?;
            selected.read += 1;
            if self.side.takes(self.split.side(key, game.head.players)) {
                let positions = count(&game).map_err(invalid)?;
                selected.insert(key, bytes, positions, count);
            }
        }
        Ok(())
    }

    fn select_from_chunks(
        &self,
        chunks: Chunks,
        count: CountPositions<'_>,
        selected: &Mutex<Selection>,
        on_progress: &(dyn Fn() + Sync),
    ) {
        let chunks = Mutex::new(chunks);
        std::thread::scope(|scope| {
            for _ in 0..self.jobs.get() {
                scope.spawn(|| {
                    loop {
                        let chunk = chunks.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some(chunk) = chunk else { return };
                        let parsed_chunk = chunk.read(&self.rules);
                        let mut candidates = Vec::new();
                        let read = parsed_chunk.games.len() as u64;
                        for game in parsed_chunk.games {
                            // Games read from text always encode and parse.
                            let Ok(bytes) = game.to_bytes() else { continue };
                            let Ok(parsed) = GameBytes::parse(&bytes) else { continue };
                            let key = parsed.key();
                            if self.side.takes(self.split.side(key, parsed.head.players))
                                && let Ok(positions) = count(&parsed)
                            {
                                candidates.push((key, bytes, positions));
                            }
                        }
                        let mut selected = selected.lock().unwrap_or_else(PoisonError::into_inner);
                        selected.read += read;
                        selected.faults.merge(parsed_chunk.faults);
                        for (key, bytes, positions) in candidates {
                            selected.insert(key, bytes, positions, count);
                        }
                        drop(selected);
                        on_progress();
                    }
                });
            }
        });
    }
}

/// Games selected so far: those with the smallest keys, as many as needed to reach `max_positions`.
#[derive(Default)]
struct Selection {
    games: BTreeMap<RecordKey, (Vec<u8>, u64)>,
    positions: u64,
    max_positions: Option<u64>,
    read: u64,
    faults: Faults,
}

impl Selection {
    /// Whether a game with this key would be selected.
    fn accepts(&self, key: RecordKey) -> bool {
        let is_full = self.max_positions.is_some_and(|max| self.positions >= max);
        !is_full || self.games.last_key_value().is_some_and(|(last, _)| key <= *last)
    }

    fn insert(&mut self, key: RecordKey, bytes: Vec<u8>, positions: u64, count: CountPositions<'_>) {
        if positions == 0 || !self.accepts(key) {
            return;
        }
        let (bytes, positions) = match self.games.remove(&key) {
            None => (bytes, positions),
            Some((other, other_positions)) => {
                self.positions -= other_positions;
                // Keep the copy with more information.
                let both = [bytes.as_slice(), other.as_slice()];
                let united = RecordKind::Games.unite(both).unwrap_or(bytes);
                let positions = GameBytes::parse(&united).and_then(|game| count(&game)).unwrap_or(positions);
                (united, positions)
            }
        };
        self.positions += positions;
        self.games.insert(key, (bytes, positions));
        while let (Some(max), Some(last)) = (self.max_positions, self.games.last_entry()) {
            if self.positions - last.get().1 < max {
                break;
            }
            self.positions -= last.remove().1;
        }
    }
}
