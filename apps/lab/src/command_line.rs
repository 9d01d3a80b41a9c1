//! The command line, for the provenance of outputs.

use std::ffi::OsString;
use std::path::Path;

use anyhow::{Context, Result};

/// The command line in shell syntax, without the program's folder.
pub(crate) fn typed() -> Result<String> {
    written(std::env::args_os())
}

fn written(words: impl Iterator<Item = OsString>) -> Result<String> {
    let mut words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    if let Some(program) = words.first_mut()
        && let Some(name) = Path::new(&program).file_name()
    {
        *program = name.to_string_lossy().into_owned();
    }
    shlex::try_join(words.iter().map(String::as_str)).context("the command line holds a zero byte")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_quoted() {
        let words = ["/opt/bin/tabia-lab", "train", "my config.toml", "--max-seconds", "60"];
        let text = written(words.into_iter().map(OsString::from)).unwrap();
        assert_eq!(text, "tabia-lab train 'my config.toml' --max-seconds 60");
    }
}
