//! `tabia-lab data`: one file a command.

mod label;
mod meter;

use clap::Subcommand;

/// What can be done with data.
#[derive(Subcommand)]
pub(crate) enum Command {
    Label(label::LabelArgs),
}

pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Label(args) => label::run(&args),
    }
}
