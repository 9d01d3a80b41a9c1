//! Where programs keep what belongs to a user.

use std::env;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

/// The folders of a user.
pub(super) struct Folders {
    /// Settings: `~/.config`; on macOS `~/Library/Application Support`, on Windows `%APPDATA%`.
    pub(super) config: PathBuf,
    /// Data: `~/.local/share`; elsewhere as for settings.
    pub(super) data: PathBuf,
    /// Settings of programs that follow Linux on macOS too.
    pub(super) unix_config: PathBuf,
}

impl Folders {
    pub(super) fn of_user() -> Result<Folders> {
        let variable = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        if cfg!(windows) {
            let roaming = variable("APPDATA").context("APPDATA is not set")?;
            return Ok(Folders { config: roaming.clone(), data: roaming.clone(), unix_config: roaming });
        }
        let home = variable("HOME").context("HOME is not set")?;
        let unix_config = variable("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        if cfg!(target_os = "macos") {
            let support = home.join("Library/Application Support");
            return Ok(Folders { config: support.clone(), data: support, unix_config });
        }
        let data = variable("XDG_DATA_HOME").unwrap_or_else(|| home.join(".local/share"));
        Ok(Folders { config: unix_config.clone(), data, unix_config })
    }
}
