use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::process;
use crate::web::Page;
use crate::workspace::Workspace;

/// Build the page and the program, and open the page in the browser
///
/// Examples:
///   cargo xtask play
///   cargo xtask play -- --port 8080 --runs runs
///   cargo xtask play --terminal -- --elo 1100 --color black
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Play {
    /// Play in the terminal instead
    #[arg(long)]
    terminal: bool,
    /// Arguments for `tabia serve --open`, or for `tabia play` in the terminal
    #[arg(last = true)]
    arguments: Vec<String>,
}

impl Play {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let command: &[&str] = if self.terminal {
            &["play"]
        } else {
            Page::built(workspace)?.carried()?;
            &["serve", "--open"]
        };
        process::run(Command::new(program(workspace)?).args(command).args(&self.arguments))
    }
}

/// Builds `tabia` in its usual profile.
fn program(workspace: &Workspace) -> Result<PathBuf> {
    process::run(workspace.cargo("build").args(["--release", "--package", "tabia"]))?;
    Ok(workspace.target.join("release").join(format!("tabia{}", std::env::consts::EXE_SUFFIX)))
}
