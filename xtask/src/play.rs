use std::path::PathBuf;
use std::process::Command;
use std::thread;

use anyhow::{Result, anyhow};

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
    /// Build what is shipped: takes twice as long to build, and runs somewhat faster
    #[arg(long)]
    release: bool,
    /// Arguments for `tabia serve --open`, or for `tabia play` in the terminal
    #[arg(last = true)]
    arguments: Vec<String>,
}

impl Play {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let mut command = if self.terminal {
            let mut command = Command::new(self.program(workspace)?);
            command.arg("play");
            command
        } else {
            self.server(workspace)?
        };
        process::run(command.args(&self.arguments))
    }

    /// Builds the page and the program that serves it.
    fn server(&self, workspace: &Workspace) -> Result<Command> {
        if self.release {
            Page::built(workspace)?.carried()?;
            let mut command = Command::new(self.program(workspace)?);
            command.args(["serve", "--open"]);
            return Ok(command);
        }
        // The program takes the page from its folder, so that neither build waits for the other.
        let (page, program) = thread::scope(|scope| {
            let program = scope.spawn(|| self.program(workspace));
            let page = Page::quick(workspace).map(|page| page.dist());
            (page, program.join())
        });
        let mut command = Command::new(program.map_err(|_| anyhow!("the build of the program panicked"))??);
        command.args(["serve", "--open", "--page"]).arg(page?);
        Ok(command)
    }

    /// Builds `tabia`.
    fn program(&self, workspace: &Workspace) -> Result<PathBuf> {
        let profile = if self.release { "release" } else { "quick" };
        process::run(workspace.cargo("build").args(["--profile", profile, "--package", "tabia"]))?;
        Ok(workspace.target.join(profile).join(format!("tabia{}", std::env::consts::EXE_SUFFIX)))
    }
}
