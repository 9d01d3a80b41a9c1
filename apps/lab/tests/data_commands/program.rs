//! The program under test.

use std::process::{Command, Output, Stdio};

/// `tabia-lab data` with arguments to follow.
pub(crate) fn data(command: &str) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tabia-lab"));
    program.args(["data", command]).stdin(Stdio::null());
    program
}

fn text(bytes: &[u8]) -> String {
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
