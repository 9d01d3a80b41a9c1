//! The program under test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A temporary folder.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }
}

/// The files of a folder, by name.
pub(crate) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    // A build that is killed leaves its locked folder until the next one.
    let entries = entries.filter(|entry| entry.file_type().unwrap().is_file());
    entries.map(|entry| (entry.file_name().into(), fs::read(entry.path()).unwrap())).collect()
}

/// `tabia-lab` with arguments to follow.
pub(crate) fn lab() -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tabia-lab"));
    program.stdin(Stdio::null());
    program
}

/// `tabia-lab data` with arguments to follow.
pub(crate) fn data(command: &str) -> Command {
    let mut program = lab();
    program.args(["data", command]);
    program
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What it prints when all is well.
pub(crate) fn succeed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    assert!(status.success(), "{command:?}: {}", text(&stderr));
    text(&stdout)
}

/// What it prints and what it complains about when something is wrong.
pub(crate) fn fail(command: &mut Command) -> (String, String) {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    assert_eq!(status.code(), Some(1), "{command:?}: {}", text(&stdout));
    (text(&stdout), text(&stderr))
}
