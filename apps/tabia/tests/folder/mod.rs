//! A temporary folder, removed when dropped.

use std::path::PathBuf;

use tempfile::TempDir;

pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        Folder(tempfile::Builder::new().prefix(name).tempdir().expect("a temporary folder"))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}
