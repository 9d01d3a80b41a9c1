//! `tabia-lab`: the half of Tabia that builds data and trains networks.

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

/// From game dumps and engine evaluations to training shards, and from shards to networks.
#[derive(Parser)]
#[command(name = "tabia-lab", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build, look into and check training data.
    #[command(subcommand)]
    Data(data::Command),
    #[cfg(feature = "query")]
    /// Run the parts of a cluster, so that many machines build one set.
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
