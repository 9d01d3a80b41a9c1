//! Whether something that was made is still what its sources would make.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::workspace::Workspace;

/// A note beside what was made: the hash of what it was made of.
pub(crate) struct Stamp {
    note: PathBuf,
    sources: String,
}

impl Stamp {
    /// Of source files, by their paths below the root or from anywhere.
    pub(crate) fn of(workspace: &Workspace, note: PathBuf, sources: &[PathBuf]) -> Result<Stamp> {
        let mut sources = sources.to_vec();
        sources.sort();
        let mut hasher = DefaultHasher::new();
        for source in &sources {
            let path = workspace.root.join(source);
            // The note may lie among the sources, and is none.
            if path == note {
                continue;
            }
            source.hash(&mut hasher);
            fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?.hash(&mut hasher);
        }
        Ok(Stamp { note, sources: format!("{:016x}", hasher.finish()) })
    }

    /// Of something that has a stamp itself, in its folder.
    pub(crate) fn of_folder(note: PathBuf, made: &Path) -> Result<Stamp> {
        let stamp = made.join(".built");
        let sources =
            fs::read_to_string(&stamp).with_context(|| format!("cannot read {}", stamp.display()))?;
        Ok(Stamp { note, sources })
    }

    /// Makes `what` unless it was made of the same sources; the note is written last.
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
    fn what_is_made_of_the_same_is_made_once() {
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
