//! The speed of the Python package's batches, against python-chess.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::python::Environment;
use crate::workspace::Workspace;
use crate::{process, python_package};

/// Python packages of the bench.
const PACKAGES: Environment =
    Environment { name: "bench-python", packages: &["chess==1.11.2", "numpy==2.4.6", "zstandard==0.25.0"] };

/// Real games beside the checkout.
const GAMES: &str = "../shared/data/games/online-clock.pgn.zst";

/// Training batches in Python, against python-chess; with PyTorch where `TABIA_TORCH` names its site-packages
#[derive(clap::Args)]
pub(crate) struct PythonBench {
    /// A PGN, plain or .zst [default: the games beside the checkout, or else random games]
    #[arg(long, value_name = "PGN")]
    file: Option<PathBuf>,
    /// Build faster: nearly as fast a package
    #[arg(long)]
    quick: bool,
}

impl PythonBench {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let games = match &self.file {
            Some(file) => {
                ensure!(file.is_file(), "{} is not a file", file.display());
                Some(std::path::absolute(file)?)
            }
            None => Some(workspace.root.join(GAMES)).filter(|games| games.is_file()),
        };
        let profile = if self.quick { "quick" } else { "release" };
        process::run(workspace.cargo("build").args(["--profile", profile, "--package", "tabia-python"]))?;
        let python = PACKAGES.ready(workspace)?;
        python_package::install(workspace, &python, profile)?;
        let mut bench = Command::new(python);
        bench
            .arg(workspace.root.join("tools/bench_python.py"))
            .arg(workspace.target.join("bench-python"))
            .args(games);
        process::run(&mut bench)
    }
}
