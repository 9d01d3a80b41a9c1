//! The sets that are served, and finding positions in them.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use tabia_data::{AnyRecord, LabelStrategy, PositionIndex, RecordKind, Set, SetError};

use super::filter::Filter;
use super::view::{Focus, View};
use crate::OfferError;

/// How many positions a search for one that passes a filter looks at before it gives up: a second or so.
const PATIENCE: u64 = 200_000;

/// The sets that are served, by name.
pub(crate) struct SetStore {
    sets: BTreeMap<String, OpenSet>,
}

/// One set.
pub(super) struct OpenSet {
    name: String,
    set: Set,
}

/// What the list says of a set.
#[derive(Serialize)]
pub(super) struct About {
    name: String,
    kind: RecordKind,
    records: u64,
    positions: u64,
    sources: Vec<String>,
}

/// Which way to go.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
    #[default]
    Forward,
    Back,
}

/// How a search ended.
pub(super) enum Found {
    Position(PositionIndex),
    Nothing { looked_at: u64 },
}

impl SetStore {
    /// Opens sets, or all sets directly inside a folder. A set is called by its folder's name.
    pub(crate) fn open(paths: &[PathBuf]) -> Result<SetStore, OfferError> {
        let mut sets = BTreeMap::new();
        for path in paths {
            for dir in sets_at(path)? {
                let set = Set::open(&dir)?;
                let base = dir
                    .canonicalize()
                    .ok()
                    .and_then(|full| Some(full.file_name()?.to_string_lossy().into_owned()));
                let base = base.unwrap_or_else(|| "set".to_owned());
                // Two folders may share a name; the second is called name-2.
                let taken = |name: &String| sets.contains_key(name);
                let name = std::iter::once(base.clone())
                    .chain((2..).map(|n: u32| format!("{base}-{n}")))
                    .find(|name| !taken(name))
                    .unwrap_or(base);
                sets.insert(name.clone(), OpenSet { name, set });
            }
        }
        Ok(SetStore { sets })
    }

    pub(crate) fn summary(&self) -> String {
        let line = |set: &OpenSet| {
            format!(
                "{}: {} {}, {} positions",
                set.name,
                set.set.records(),
                set.set.kind(),
                set.set.positions()
            )
        };
        self.sets.values().map(line).collect::<Vec<_>>().join("\n")
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.sets.keys().map(String::as_str).collect()
    }

    pub(super) fn list(&self) -> Vec<About> {
        self.sets.values().map(OpenSet::about).collect()
    }

    pub(super) fn set(&self, name: &str) -> Option<&OpenSet> {
        self.sets.get(name)
    }
}

/// `path` itself if it is a set, else the sets directly inside it.
fn sets_at(path: &Path) -> Result<Vec<PathBuf>, OfferError> {
    let is_set = |dir: &Path| dir.join("set.json").is_file();
    if is_set(path) {
        return Ok(vec![path.to_owned()]);
    }
    let unreadable = |error| OfferError::Unreadable { path: path.to_owned(), error };
    let entries = path.read_dir().map_err(unreadable)?;
    let mut inside: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|dir| is_set(dir)).collect();
    inside.sort();
    if inside.is_empty() {
        return Err(OfferError::NoSets(path.to_owned()));
    }
    Ok(inside)
}

impl OpenSet {
    pub(super) fn about(&self) -> About {
        let sources = &self.set.manifest().sources;
        About {
            name: self.name.clone(),
            kind: self.set.kind(),
            records: self.set.records(),
            positions: self.set.positions(),
            sources: sources.iter().map(|source| source.name.clone()).collect(),
        }
    }

    pub(super) fn positions(&self) -> u64 {
        self.set.positions()
    }

    pub(super) fn view(&self, index: PositionIndex, strategy: LabelStrategy) -> Result<View, SetError> {
        let (at, ply) = self.set.position(index)?;
        let record = self.set.record(at)?;
        Ok(View::of(&self.name, index, at, &Focus::on(&record, ply, strategy), &record))
    }

    /// A random position that passes: positions at random first, then all in order from a random one on.
    pub(super) fn random(
        &self,
        filter: &Filter,
        strategy: LabelStrategy,
        rng: &mut Rng,
    ) -> Result<Found, SetError> {
        let positions = self.positions();
        if positions == 0 {
            return Ok(Found::Nothing { looked_at: 0 });
        }
        let tries = 500.min(positions);
        for _ in 0..tries {
            let index = PositionIndex(rng.u64(..positions));
            let (at, ply) = self.set.position(index)?;
            let record = self.set.record(at)?;
            if filter.lets_through(Focus::on(&record, ply, strategy).facts()) {
                return Ok(Found::Position(index));
            }
        }
        match self.next(rng.u64(..positions), Direction::Forward, filter, strategy)? {
            Found::Position(index) => Ok(Found::Position(index)),
            Found::Nothing { looked_at } => Ok(Found::Nothing { looked_at: looked_at + tries }),
        }
    }

    /// The nearest position beyond `from` that passes, going round at the end of the set.
    pub(super) fn next(
        &self,
        from: u64,
        direction: Direction,
        filter: &Filter,
        strategy: LabelStrategy,
    ) -> Result<Found, SetError> {
        let positions = self.positions();
        let mut looked_at = 0;
        let mut index = from;
        let mut record: Option<(tabia_data::RecordIndex, AnyRecord)> = None;
        while looked_at < PATIENCE.min(positions) {
            index = match direction {
                Direction::Forward if index.saturating_add(1) >= positions => 0,
                Direction::Forward => index + 1,
                Direction::Back if index == 0 || index > positions => positions.saturating_sub(1),
                Direction::Back => index - 1,
            };
            looked_at += 1;
            let (at, ply) = self.set.position(PositionIndex(index))?;
            // Neighbours are mostly of the same game, which need not be read again.
            let current = match record.take() {
                Some((same, read)) if same == at => read,
                _ => self.set.record(at)?,
            };
            let passes = filter.lets_through(Focus::on(&current, ply, strategy).facts());
            record = Some((at, current));
            if passes {
                return Ok(Found::Position(PositionIndex(index)));
            }
        }
        Ok(Found::Nothing { looked_at })
    }
}
