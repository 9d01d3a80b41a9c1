//! `tabia-lab`: the half of Tabia that builds data and trains networks.

mod cluster;
mod data;
mod log_lines;

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
    /// Run the parts of a cluster, so that many machines build one set.
    #[command(subcommand)]
    Cluster(cluster::Command),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Data(command) => data::run(command),
        Command::Cluster(command) => cluster::run(command),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("error: {fault:#}");
            ExitCode::FAILURE
        }
    }
}
