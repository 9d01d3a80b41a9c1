//! Folders for files of tests.

use std::path::{Path, PathBuf};

/// A folder of one test, gone when the test is over.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new, empty folder.
    pub(crate) fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tabia-lab-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Folder(path)
    }

    /// The path of a file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl AsRef<Path> for Folder {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind in the folder for temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
