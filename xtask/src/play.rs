use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::workspace::Workspace;

/// Build the program and play in this terminal
///
/// Example: cargo xtask play -- --help
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Play {
    /// Arguments for `tabia play`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Play {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        process::run(workspace.cargo("build").args(["--release", "--package", "tabia"]))?;
        let program = workspace.target.join("release").join(format!("tabia{}", std::env::consts::EXE_SUFFIX));
        process::run(Command::new(program).arg("play").args(&self.arguments))
    }
}
