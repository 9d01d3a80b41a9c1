//! `cargo xtask ... | true` ends quietly.
#![cfg(unix)]

use std::process::{Command, Stdio};

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(["test", "--only", "directions"]).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // The status of SIGPIPE in a shell.
    assert_eq!(output.status.code(), Some(141), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}
