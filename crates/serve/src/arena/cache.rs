//! Cached list entries of unchanged files.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tabia_arena::LedgerIndex;

use super::find::{FoundFile, Kind};

#[derive(Clone, Debug)]
enum Entry {
    Match(Value),
    Challenge(Value),
    /// A ledger that cannot be read.
    Problem(String),
    /// An unrelated JSON file.
    Other,
}

/// List entries by path, with the size and modification time of the file when it was read.
#[derive(Debug, Default)]
pub(super) struct Cache {
    entries: HashMap<PathBuf, (u64, SystemTime, Entry)>,
}

impl Cache {
    /// Reads new and changed files and drops removed ones.
    pub(super) fn refresh(&mut self, files: &[FoundFile]) {
        self.entries.retain(|path, (bytes, modified, _)| {
            files.iter().any(|now| now.path == *path && now.bytes == *bytes && now.modified == *modified)
        });
        for file in files {
            let read = || (file.bytes, file.modified, read(file));
            self.entries.entry(file.path.clone()).or_insert_with(read);
        }
    }

    /// `matches` and `challenges`, latest first, and `problems`.
    pub(super) fn list(&self, files: &[FoundFile]) -> Value {
        let (mut matches, mut challenges, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        let mut latest: Vec<&FoundFile> = files.iter().collect();
        latest.sort_by_key(|file| std::cmp::Reverse(file.modified));
        for file in latest {
            let seconds = file.modified.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
            let named = |value: &Value| {
                let mut value = value.clone();
                if let Some(fields) = value.as_object_mut() {
                    fields.insert("name".to_owned(), json!(file.name));
                    fields.insert("modified".to_owned(), json!(seconds));
                }
                value
            };
            match self.entries.get(&file.path).map(|(_, _, entry)| entry) {
                Some(Entry::Match(value)) => matches.push(named(value)),
                Some(Entry::Challenge(value)) => challenges.push(named(value)),
                Some(Entry::Problem(problem)) => {
                    problems.push(json!({ "name": file.name, "problem": problem }));
                }
                Some(Entry::Other) | None => {}
            }
        }
        json!({ "matches": matches, "challenges": challenges, "problems": problems })
    }
}

fn read(file: &FoundFile) -> Entry {
    match file.kind {
        Kind::Ledger => match LedgerIndex::read(&file.path) {
            Ok(index) => Entry::Match(json!({
                "settings": index.settings,
                "games": index.records.len(),
                "report": index.report(),
            })),
            Err(error) => Entry::Problem(error.kind.to_string()),
        },
        Kind::Json => scorecard(&file.path).map_or(Entry::Other, Entry::Challenge),
    }
}

/// A scorecard written by `tabia compete --json-output`, without its games; `None` for any other file.
fn scorecard(path: &Path) -> Option<Value> {
    let mut card: Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    let fields = card.as_object_mut()?;
    if !["challenger", "parameters", "passed", "diversity"].iter().all(|name| fields.contains_key(*name)) {
        return None;
    }
    for level in fields.get_mut("levels")?.as_array_mut()? {
        level.as_object_mut()?.remove("records");
    }
    Some(json!({ "scorecard": card }))
}
