//! The script that starts `tabia uci` with a player: most chess programs start engines without arguments.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context as _, Result, bail};
use tabia_cli::write_atomically;
use tabia_players::Spec;

use super::folders::Folders;

/// The script of an engine.
pub(super) struct Launcher {
    path: PathBuf,
    text: String,
    /// This program.
    pub(super) program: String,
    /// The player.
    pub(super) spec: String,
}

impl Launcher {
    pub(super) fn new(name: &str, spec: &Spec, folders: &Folders) -> Result<Launcher> {
        let program = env::current_exe().context("the path of this program")?;
        let utf8 = |path: &Path| {
            path.to_str().map(str::to_owned).with_context(|| format!("{} is not UTF-8", path.display()))
        };
        let (program, spec) = (utf8(&program)?, spec.to_string());
        let extension = if cfg!(windows) { ".cmd" } else { "" };
        let path = folders.data.join("tabia/engines").join(format!("{}{extension}", file_name(name)?));
        utf8(&path)?;
        let text = if cfg!(windows) { batch(&program, &spec)? } else { shell(&program, &spec)? };
        Ok(Launcher { path, text, program, spec })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_written(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|text| text == self.text)
    }

    pub(super) fn write(&self) -> Result<()> {
        if self.is_written() {
            return Ok(());
        }
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        }
        write_atomically(&self.path, self.text.as_bytes())?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&self.path, fs::Permissions::from_mode(0o755))
                .with_context(|| self.path.display().to_string())?;
        }
        Ok(())
    }
}

fn shell(program: &str, spec: &str) -> Result<String> {
    let (program, spec) = (shlex::try_quote(program)?, shlex::try_quote(spec)?);
    Ok(format!("#!/bin/sh\n# Written by `tabia install-engine`.\nexec {program} uci --player {spec}\n"))
}

fn batch(program: &str, spec: &str) -> Result<String> {
    if [program, spec].iter().any(|text| text.contains(['"', '%', '\n', '\r'])) {
        bail!("{spec} at {program} cannot be written in a batch file (it has a quote or a percent sign)");
    }
    Ok(format!("@rem Written by `tabia install-engine`.\r\n@\"{program}\" uci --player \"{spec}\"\r\n"))
}

/// A file name from the name of an engine: its letters and digits, with dashes between.
fn file_name(name: &str) -> Result<String> {
    let lower = name.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words.is_empty() {
        bail!("--name {name:?} has no letter or digit");
    }
    Ok(words.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_file_names() {
        assert_eq!(file_name("Tabia human,elo=1500").unwrap(), "tabia-human-elo-1500");
        assert_eq!(file_name("../ä b").unwrap(), "ä-b");
        assert!(file_name("../").is_err());
    }

    #[test]
    fn scripts_quote_what_they_must() {
        let text = shell("/opt/my programs/tabia", "net:\"a'b.onnx\"").unwrap();
        let command = text.lines().last().unwrap().strip_prefix("exec ").unwrap();
        let words = shlex::split(command).unwrap();
        assert_eq!(words, ["/opt/my programs/tabia", "uci", "--player", "net:\"a'b.onnx\""]);
        assert!(
            batch("C:\\tabia.exe", "human,elo=1500")
                .unwrap()
                .contains("@\"C:\\tabia.exe\" uci --player \"human")
        );
        assert!(batch("C:\\tabia.exe", "net:\"a b\"").is_err());
    }
}
