//! The program, run to its end, and files for it.

use std::borrow::BorrowMut;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary folder, removed when dropped.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn written(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.file(name);
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// A file of the repository's fixtures.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures").join(name)
}

pub(crate) fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
        .unwrap()
}

/// `tabia` with these arguments and nobody at the keyboard.
pub(crate) fn tabia<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabia"));
    command.args(args).stdin(Stdio::null());
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a command prints that does its work.
pub(crate) fn succeed(mut command: impl BorrowMut<Command>) -> String {
    let command = command.borrow_mut();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// What a command complains of that cannot do its work.
pub(crate) fn fail(mut command: impl BorrowMut<Command>) -> String {
    let command = command.borrow_mut();
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{command:?} should fail: {}", text(&output.stdout));
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    text(&output.stderr)
}
