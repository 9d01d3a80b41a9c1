//! `tabia-lab data`: one file a command.

use clap::Subcommand;

/// What can be done with data.
#[derive(Subcommand)]
pub(crate) enum Command {}

pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {}
}
