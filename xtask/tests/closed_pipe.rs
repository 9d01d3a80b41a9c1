//! `cargo xtask ... | true`: a program whose output nobody reads ends quietly.
#![cfg(unix)]

use std::process::{Command, Stdio};

#[test]
fn a_check_that_nobody_reads_ends_quietly() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(["test", "--only", "directions"]).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    // What a shell says of a program that died of SIGPIPE.
    assert_eq!(output.status.code(), Some(141), "{said}");
    assert!(!said.contains("panicked"), "{said}");
}
