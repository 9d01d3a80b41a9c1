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

/// A number with an optional K, M or G, in thousands.
pub(crate) fn count(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number such as 50000 or 1M".to_owned();
    let (digits, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let unit = match unit.to_ascii_lowercase().as_str() {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" | "b" => 1e9,
        _ => return Err(wrong()),
    };
    let number = digits.parse::<f64>().map_err(|_| wrong())? * unit;
    if (1.0..1e18).contains(&number) { Ok(number as u64) } else { Err(wrong()) }
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

    #[test]
    fn counts_have_units() {
        assert_eq!((count("50000"), count("1M"), count("2.5k")), (Ok(50_000), Ok(1_000_000), Ok(2500)));
        assert!(["0", "-1", "M", "1Q", ""].into_iter().all(|wrong| count(wrong).is_err()));
    }
}
