//! Python virtual environments of tests and tools, in the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::Workspace;
use crate::{apt, process};

/// The system's Python.
const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

/// An environment: its name in the target folder and its pinned packages.
pub(crate) struct Environment {
    pub(crate) name: &'static str,
    pub(crate) packages: &'static [&'static str],
}

impl Environment {
    /// Creates the environment if needed; returns its Python.
    pub(crate) fn ready(&self, workspace: &Workspace) -> Result<PathBuf> {
        let folder = workspace.target.join("python").join(self.name);
        let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        // Written last, so that an interrupted environment is created again.
        let stamp = folder.join("packages.txt");
        let packages = self.packages.join("\n");
        let made = std::fs::read_to_string(&stamp).is_ok_and(|held| held == packages)
            && process::succeeds(Command::new(&python).arg("--version"));
        if made {
            return Ok(python);
        }

        make(&folder)?;
        process::run(
            Command::new(&python)
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
                .args(self.packages),
        )
        .with_context(|| {
            format!(
                "cannot install {} into {}: is the package index (pypi.org, or PIP_INDEX_URL) reachable?",
                self.packages.join(", "),
                folder.display(),
            )
        })?;
        std::fs::write(&stamp, packages).with_context(|| format!("cannot write {}", stamp.display()))?;
        Ok(python)
    }
}

fn make(folder: &Path) -> Result<()> {
    let venv = || {
        let mut command = Command::new(PYTHON);
        command.args(["-m", "venv", "--clear"]).arg(folder);
        command
    };
    // Debian packages venv separately.
    if !process::succeeds(Command::new(PYTHON).args(["-c", "import venv, ensurepip"])) {
        apt::install(&["python3", "python3-venv"], "a Python environment")?;
    }
    process::run(&mut venv())
}
