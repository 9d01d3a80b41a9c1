//! The speed and memory of `tabia-lab data build`, against python-chess.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::process;
use crate::python::Environment;
use crate::workspace::Workspace;

/// Python packages of the data bench.
const PYTHON_CHESS: Environment =
    Environment { name: "python-chess", packages: &["chess==1.11.2", "zstandard==0.25.0"] };

/// Real games beside the checkout.
const GAMES: &str = "../shared/data/games/online-clock.pgn.zst";

/// The cargo profile of tabia-lab.
const PROFILE: &str = "lab";

/// Building sets of games and a million evaluations, against parsing with python-chess
#[derive(clap::Args)]
pub(crate) struct DataBench {
    /// A PGN, plain or .zst [default: the games beside the checkout, or else random games]
    #[arg(long, value_name = "PGN")]
    file: Option<PathBuf>,
    /// Time building a set of so many random evaluations instead, such as 100M, in one process and on two executors
    #[arg(long, value_name = "N", conflicts_with = "file")]
    rows: Option<String>,
    /// Memory limit of that build
    #[arg(long, value_name = "SIZE", default_value = "4GiB", requires = "rows")]
    memory: String,
}

impl DataBench {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        ensure!(cfg!(unix), "CPU time and memory are measured on Unix only");
        let games = match &self.file {
            Some(file) => {
                ensure!(file.is_file(), "{} is not a file", file.display());
                Some(std::path::absolute(file)?)
            }
            None => Some(workspace.root.join(GAMES)).filter(|games| games.is_file()),
        };
        let build = ["--profile", PROFILE, "--package"];
        process::run(workspace.cargo("build").args(build).args(["tabia-data", "--example", "bench_input"]))?;
        process::run(workspace.cargo("build").args(build).arg("tabia-lab"))?;
        let built = workspace.target.join(PROFILE);
        if let Some(rows) = &self.rows {
            let mut bench = Command::new("python3");
            bench
                .arg(workspace.root.join("tools/bench_rows.py"))
                .arg(built.join("tabia-lab"))
                .arg(built.join("examples/bench_input"))
                .arg(workspace.target.join("bench-rows"))
                .args([rows, &self.memory]);
            return process::run(&mut bench);
        }
        let python = PYTHON_CHESS.ready(workspace)?;
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
