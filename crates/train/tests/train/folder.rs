use std::path::Path;

use tempfile::TempDir;

/// A temporary folder, removed when dropped.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        Folder(tempfile::Builder::new().prefix(name).tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }
}
