//! `tabia-lab data`: one file a command.

mod export;
mod finished_file;
mod head;
mod label;
mod meter;
mod rows;
mod shards;
mod stats;
mod verify;

use clap::Subcommand;

/// What can be done with data.
#[derive(Subcommand)]
pub(crate) enum Command {
    Label(label::LabelArgs),
    Verify(verify::VerifyArgs),
    Stats(stats::StatsArgs),
    Head(head::HeadArgs),
    Export(export::ExportArgs),
}

pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Label(args) => label::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Stats(args) => stats::run(&args),
        Command::Head(args) => head::run(&args),
        Command::Export(args) => export::run(&args),
    }
}
