//! The speed and memory of `tabia-lab data build`, against python-chess.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::process;
use crate::python::Environment;
use crate::workspace::Workspace;

/// What the pipeline is measured against.
const PYTHON_CHESS: Environment =
    Environment { name: "python-chess", packages: &["chess==1.11.2", "zstandard==0.25.0"] };

/// Real games, where they are kept beside the checkout.
const GAMES: &str = "../shared/data/games/online-clock.pgn.zst";

/// The profile with which the laboratory is meant to be used.
const PROFILE: &str = "lab";

/// Games and a million evaluations made into sets, against python-chess parsing the same
#[derive(clap::Args)]
pub(crate) struct DataBench {
    /// A PGN, plain or .zst [default: the games beside the checkout, else games played at random]
    #[arg(long, value_name = "PGN")]
    file: Option<PathBuf>,
}

impl DataBench {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        ensure!(cfg!(unix), "processor time and memory of programs are measured on Unix only");
        let games = match &self.file {
            Some(file) => {
                ensure!(file.is_file(), "{} is no file", file.display());
                Some(std::path::absolute(file)?)
            }
            None => Some(workspace.root.join(GAMES)).filter(|games| games.is_file()),
        };
        let build = ["--profile", PROFILE, "--package"];
        process::run(workspace.cargo("build").args(build).args(["tabia-data", "--example", "bench_input"]))?;
        process::run(workspace.cargo("build").args(build).arg("tabia-lab"))?;
        let python = PYTHON_CHESS.ready(workspace)?;

        let built = workspace.target.join(PROFILE);
        let mut bench = Command::new(python);
        bench
            .arg(workspace.root.join("tools/bench_data.py"))
            .arg(built.join("tabia-lab"))
            .arg(built.join("examples/bench_input"))
            .arg(workspace.target.join("bench-data"))
            .args(games);
        process::run(&mut bench)
    }
}
