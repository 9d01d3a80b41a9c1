use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

/// The lock file of a folder in use.
const LOCK: &str = "lock";

/// A temporary folder, removed when dropped.
///
/// A killed process leaves its folder behind, without its lock. The next process that creates a folder with the same prefix
/// removes it.
#[derive(Debug)]
pub(crate) struct LockedFolder {
    path: PathBuf,
    _lock: File,
}

impl LockedFolder {
    /// Creates the folder, and removes those of dead processes.
    pub(crate) fn new(parent: &Path, prefix: &str) -> io::Result<LockedFolder> {
        fs::create_dir_all(parent)?;
        remove_abandoned(parent, prefix)?;
        // A process may have several folders.
        for number in 0_u32.. {
            let path = parent.join(format!("{prefix}{}-{number}", process::id()));
            match fs::create_dir(&path) {
                Ok(()) => {
                    let lock = File::create(path.join(LOCK))?;
                    lock.lock()?;
                    return Ok(LockedFolder { path, _lock: lock });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LockedFolder {
    fn drop(&mut self) {
        // The next process removes what is left.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn remove_abandoned(parent: &Path, prefix: &str) -> io::Result<()> {
    for entry in fs::read_dir(parent)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(prefix) {
            continue;
        }
        // A folder without a lock file is being created by another process, or is empty.
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            // Another process may remove it at the same time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_dead_processes_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let parent = parent.path();
        let dead = parent.join("tabia-test-1-0");
        fs::create_dir_all(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        fs::write(dead.join("rows"), "many").unwrap();
        fs::write(parent.join("unrelated"), "kept").unwrap();

        let first = LockedFolder::new(parent, "tabia-test-").unwrap();
        assert!(!dead.exists());
        let second = LockedFolder::new(parent, "tabia-test-").unwrap();
        assert!(first.path().is_dir() && second.path().is_dir());

        let paths = [first.path().to_owned(), second.path().to_owned()];
        drop((first, second));
        assert!(paths.iter().all(|path| !path.exists()));
        assert!(parent.join("unrelated").is_file());
    }
}
