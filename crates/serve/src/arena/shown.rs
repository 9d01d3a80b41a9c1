//! What the list says of each file, kept while the file does not change.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tabia_arena::LedgerIndex;

use super::find::{Found, Kind};

/// What is said of a file.
#[derive(Clone, Debug)]
enum Entry {
    Match(Value),
    Challenge(Value),
    /// It should be one of these and cannot be read.
    Problem(String),
    /// Some other JSON file.
    Other,
}

/// What was said of each file, and how long and old the file was then.
#[derive(Debug, Default)]
pub(super) struct Shown {
    entries: HashMap<PathBuf, (u64, SystemTime, Entry)>,
}

impl Shown {
    /// Reads what is new or changed and forgets what is gone.
    pub(super) fn refresh(&mut self, all: &[Found]) {
        self.entries.retain(|path, (bytes, modified, _)| {
            all.iter().any(|now| now.path == *path && now.bytes == *bytes && now.modified == *modified)
        });
        for found in all {
            let read = || (found.bytes, found.modified, read(found));
            self.entries.entry(found.path.clone()).or_insert_with(read);
        }
    }

    /// `matches` and `challenges`, latest first, and `problems`.
    pub(super) fn list(&self, all: &[Found]) -> Value {
        let (mut matches, mut challenges, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        let mut latest: Vec<&Found> = all.iter().collect();
        latest.sort_by_key(|found| std::cmp::Reverse(found.modified));
        for found in latest {
            let seconds = found.modified.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
            let named = |value: &Value| {
                let mut value = value.clone();
                if let Some(fields) = value.as_object_mut() {
                    fields.insert("name".to_owned(), json!(found.name));
                    fields.insert("modified".to_owned(), json!(seconds));
                }
                value
            };
            match self.entries.get(&found.path).map(|(_, _, entry)| entry) {
                Some(Entry::Match(value)) => matches.push(named(value)),
                Some(Entry::Challenge(value)) => challenges.push(named(value)),
                Some(Entry::Problem(problem)) => {
                    problems.push(json!({ "name": found.name, "problem": problem }));
                }
                Some(Entry::Other) | None => {}
            }
        }
        json!({ "matches": matches, "challenges": challenges, "problems": problems })
    }
}

fn read(found: &Found) -> Entry {
    match found.kind {
        Kind::Ledger => match LedgerIndex::read(&found.path) {
            Ok(index) => Entry::Match(json!({
                "settings": index.settings,
                "games": index.records.len(),
                "report": index.report(),
            })),
            Err(error) => Entry::Problem(error.problem.to_string()),
        },
        Kind::Json => scorecard(&found.path).map_or(Entry::Other, Entry::Challenge),
    }
}

/// A file that `tabia compete --json-output` wrote, without the games; `None` for any other.
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
