//! The peers that run in Python: scripts that greet with a line, `ready: ...` where they can run.

use std::{ffi::OsStr, process::Command};

use tabia_bench::LineProcess;

/// Starts a script with the interpreter of `TABIA_PYTHON`, or `python3`, and shows its greeting.
pub(crate) fn start<A: AsRef<OsStr>>(
    script: &str,
    arguments: impl IntoIterator<Item = A>,
) -> Result<LineProcess, String> {
    let python = std::env::var("TABIA_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&python);
    command.arg(script).args(arguments);
    let started = LineProcess::start(&mut command).and_then(|mut process| Ok((process.answer()?, process)));
    let (greeting, process) = started.map_err(|e| format!("{python}: {e}"))?;
    println!("{greeting}");
    if greeting.starts_with("ready: ") { Ok(process) } else { Err(format!("{python} cannot run it")) }
}
