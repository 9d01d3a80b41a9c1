//! A place for the files of a test.

use std::path::PathBuf;

/// A folder of one test, gone when the test is over.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let tests = env!("CARGO_CRATE_NAME");
        let path = std::env::temp_dir().join(format!("tabia-{tests}-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Folder(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind in the folder for temporary files does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
