//! Child processes: commands are printed, and errors name them.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// Runs a command with this terminal's input and output; an error unless it exits with 0.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = line(command);
    println!("$ {line}");
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` ended with {status}");
    }
    Ok(())
}

/// The output of a command; an error with its stderr unless it exits with 0.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = line(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed text that is not UTF-8"))
}

/// Whether a command starts and exits with 0; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// A command in shell syntax: variables, program name, arguments.
fn line(command: &Command) -> String {
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", name.to_string_lossy(), quoted(value?))));
    let program = std::path::Path::new(command.get_program()).file_stem().map(quoted);
    let arguments = command.get_args().map(quoted);
    variables.chain(program).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &std::ffi::OsStr) -> String {
    let word = word.to_string_lossy();
    if word.contains(char::is_whitespace) { format!("'{word}'") } else { word.into_owned() }
}
