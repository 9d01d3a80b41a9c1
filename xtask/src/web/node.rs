//! Node and its package manager.

use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::{apt, process};

/// Minimum version of the page's tools (also in web/package.json).
const LEAST: (u32, u32) = (20, 19);

/// npm, which has another name on Windows.
pub(crate) fn npm() -> Command {
    Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" })
}

/// Checks for Node and npm, or installs them.
pub(super) fn ready() -> Result<()> {
    let found = |command: &mut Command| process::succeeds(command.arg("--version"));
    if !found(&mut Command::new("node")) || !found(&mut npm()) {
        apt::install(&["nodejs", "npm"], "building the page")?;
    }
    let version = process::output(Command::new("node").arg("--version"))?;
    let version = version.trim();
    if numbers(version).with_context(|| format!("invalid output of `node --version`: {version}"))? < LEAST {
        let (major, minor) = LEAST;
        bail!("the page needs Node {major}.{minor} or later, found {version}: see https://nodejs.org");
    }
    Ok(())
}

/// `v20.19.5` as `(20, 19)`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.trim_start_matches('v').split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(numbers("v20.19.5"), Some((20, 19)));
        assert!(numbers("v9.20.1").unwrap() < LEAST && numbers("v22.2.0").unwrap() > LEAST);
        assert_eq!(numbers("latest"), None);
    }
}
