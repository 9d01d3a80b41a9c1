//! Served data sets and the search for positions in them.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use tabia_data::{AnyRecord, LabelStrategy, PositionIndex, RecordKind};

use super::contents::{Contents, ReadError, paths_at};
use super::filter::Filter;
use super::view::{PositionView, Sample};
use crate::{ConfigError, unique_name};

/// Maximum number of positions scanned per request, about a second.
const MAX_SCANNED: u64 = 200_000;
/// Random draws before scanning in order.
const RANDOM_DRAWS: u64 = 500;

/// Served sets by name.
pub(crate) struct SetStore {
    sets: BTreeMap<String, OpenSet>,
}

pub(super) struct OpenSet {
    name: String,
    set: Contents,
}

/// List entry of a set.
#[derive(Serialize)]
pub(super) struct About {
    name: String,
    kind: RecordKind,
    records: u64,
    positions: u64,
    sources: Vec<String>,
}

/// Scan direction.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
    #[default]
    Forward,
    Back,
}

/// Result of a search.
pub(super) enum Found {
    Position(PositionIndex),
    Nothing { scanned: u64 },
}

impl SetStore {
    /// Opens sets and arrays, or all directly inside a folder. Sets are named after their folders, arrays after their files.
    pub(crate) fn open(paths: &[PathBuf]) -> Result<SetStore, ConfigError> {
        let mut sets = BTreeMap::new();
        for path in paths {
            for found in paths_at(path)? {
                let (set, base) = Contents::open(&found)?;
                let name = unique_name(&base, |name| sets.contains_key(name));
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

impl OpenSet {
    pub(super) fn about(&self) -> About {
        About {
            name: self.name.clone(),
            kind: self.set.kind(),
            records: self.set.records(),
            positions: self.set.positions(),
            sources: self.set.sources(),
        }
    }

    pub(super) fn positions(&self) -> u64 {
        self.set.positions()
    }

    pub(super) fn view(
        &self,
        index: PositionIndex,
        strategy: LabelStrategy,
    ) -> Result<PositionView, ReadError> {
        let (at, ply) = self.set.position(index)?;
        let record = self.set.record(at)?;
        Ok(PositionView::new(&self.name, index, at, &Sample::new(&record, ply, strategy), &record))
    }

    /// A random position that matches: random draws first, then a scan from a random position.
    pub(super) fn random(
        &self,
        filter: &Filter,
        strategy: LabelStrategy,
        rng: &mut Rng,
    ) -> Result<Found, ReadError> {
        let positions = self.positions();
        if positions == 0 {
            return Ok(Found::Nothing { scanned: 0 });
        }
        let draws = RANDOM_DRAWS.min(positions);
        for _ in 0..draws {
            let index = PositionIndex(rng.u64(..positions));
            let (at, ply) = self.set.position(index)?;
            let record = self.set.record(at)?;
            if filter.matches(Sample::new(&record, ply, strategy).facts()) {
                return Ok(Found::Position(index));
            }
        }
        match self.next(rng.u64(..positions), Direction::Forward, filter, strategy)? {
            Found::Position(index) => Ok(Found::Position(index)),
            Found::Nothing { scanned } => Ok(Found::Nothing { scanned: scanned + draws }),
        }
    }

    /// The nearest position after or before `from` that matches, wrapping around at the end of the set.
    pub(super) fn next(
        &self,
        from: u64,
        direction: Direction,
        filter: &Filter,
        strategy: LabelStrategy,
    ) -> Result<Found, ReadError> {
        let positions = self.positions();
        let mut scanned = 0;
        let mut index = from;
        let mut record: Option<(tabia_data::RecordIndex, AnyRecord)> = None;
        while scanned < MAX_SCANNED.min(positions) {
            index = match direction {
                Direction::Forward if index.saturating_add(1) >= positions => 0,
                Direction::Forward => index + 1,
                Direction::Back if index == 0 || index > positions => positions.saturating_sub(1),
                Direction::Back => index - 1,
            };
            scanned += 1;
            let (at, ply) = self.set.position(PositionIndex(index))?;
            // Neighbouring positions are usually from the same record.
            let current = match record.take() {
                Some((same, read)) if same == at => read,
                _ => self.set.record(at)?,
            };
            let matches = filter.matches(Sample::new(&current, ply, strategy).facts());
            record = Some((at, current));
            if matches {
                return Ok(Found::Position(PositionIndex(index)));
            }
        }
        Ok(Found::Nothing { scanned })
    }
}
