//! The program, run to its end.

use std::process::{Command, Stdio};

/// `tabia` with these arguments and nobody at the keyboard.
pub(crate) fn tabia(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabia"));
    command.args(args).stdin(Stdio::null());
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a command prints that does its work.
pub(crate) fn succeed(mut command: Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// What a command complains of that cannot do its work.
pub(crate) fn fail(mut command: Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(!output.status.success(), "{command:?} should fail: {}", text(&output.stdout));
    assert!(output.stdout.is_empty(), "{}", text(&output.stdout));
    text(&output.stderr)
}
