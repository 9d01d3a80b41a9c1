//! `tabia-lab`: builds training data and trains networks.

#[macro_use]
extern crate tabia_stdio;

#[cfg(feature = "query")]
mod cluster;
mod command_line;
mod data;
mod finished_file;
#[cfg(feature = "query")]
mod log_lines;
mod train;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Build training data from games and engine evaluations, and train networks.
#[derive(Parser)]
#[command(name = "tabia-lab", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build, inspect and check training data.
    #[command(subcommand)]
    Data(data::Command),
    #[cfg(feature = "query")]
    /// Run the services of a cluster for `data build --cluster`.
    #[command(subcommand)]
    Cluster(cluster::Command),
    Train(train::TrainCommand),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Data(command) => data::run(command),
        #[cfg(feature = "query")]
        Command::Cluster(command) => cluster::run(command),
        Command::Train(command) => train::execute(&command),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("error: {fault:#}");
            ExitCode::FAILURE
        }
    }
}
