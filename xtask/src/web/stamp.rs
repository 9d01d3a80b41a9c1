//! Up-to-date checks by hashes of sources.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::workspace::Workspace;

/// A file with the hash of an output's sources.
pub(crate) struct Stamp {
    note: PathBuf,
    sources: String,
}

impl Stamp {
    /// The stamp of source files.
    pub(crate) fn of(workspace: &Workspace, note: PathBuf, sources: &[PathBuf]) -> Result<Stamp> {
        let mut sources = sources.to_vec();
        sources.sort();
        let mut hasher = DefaultHasher::new();
        for source in &sources {
            let path = workspace.root.join(source);
            // The stamp may be among the sources.
            if path == note {
                continue;
            }
            source.hash(&mut hasher);
            fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?.hash(&mut hasher);
        }
        Ok(Stamp { note, sources: format!("{:016x}", hasher.finish()) })
    }

    /// The stamp of an output with its own stamp.
    pub(crate) fn of_folder(note: PathBuf, made: &Path) -> Result<Stamp> {
        let stamp = made.join(".built");
        let sources =
            fs::read_to_string(&stamp).with_context(|| format!("cannot read {}", stamp.display()))?;
        Ok(Stamp { note, sources })
    }

    /// The stamp of the same sources made in another way.
    pub(crate) fn made_as(self, way: &str) -> Stamp {
        Stamp { sources: self.sources + way, ..self }
    }

    /// Builds `what` unless its sources are unchanged; the stamp is written last.
    pub(crate) fn unless_current(&self, what: &str, make: impl FnOnce() -> Result<()>) -> Result<()> {
        if fs::read_to_string(&self.note).is_ok_and(|held| held == self.sources) {
            println!("{what}: up to date");
            return Ok(());
        }
        make()?;
        fs::write(&self.note, &self.sources).with_context(|| format!("cannot write {}", self.note.display()))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn unchanged_sources_are_not_built_again() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let workspace = Workspace { root: folder.to_owned(), target: folder.to_owned() };
        let made = Cell::new(0);
        let make = || {
            let stamp = Stamp::of(&workspace, folder.join("note"), &["a".into(), "note".into()]).unwrap();
            let count = || {
                made.set(made.get() + 1);
                Ok(())
            };
            stamp.unless_current("it", count).unwrap();
        };
        fs::write(folder.join("a"), "one").unwrap();
        make();
        make();
        assert_eq!(made.get(), 1);
        fs::write(folder.join("a"), "two").unwrap();
        make();
        assert_eq!(made.get(), 2);
    }
}
