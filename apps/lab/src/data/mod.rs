//! `tabia-lab data`: one file a command.

mod build;
mod building;
mod finished_file;
mod resources;
mod sql;

use clap::Subcommand;

pub(crate) use self::resources::bytes;

/// What can be done with data.
#[derive(Subcommand)]
pub(crate) enum Command {
    Build(build::BuildArgs),
    Sql(sql::SqlArgs),
}

pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Build(args) => build::run(&args),
        Command::Sql(args) => sql::run(&args),
    }
}
