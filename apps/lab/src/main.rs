//! `tabia-lab`: builds training data and trains networks.

#[macro_use]
extern crate tabia_stdio;

#[cfg(feature = "players")]
mod behaviour;
#[cfg(feature = "query")]
mod cluster;
mod command_line;
mod data;
#[cfg(feature = "players")]
mod diversity;
mod finished_file;
#[cfg(feature = "query")]
mod log_lines;
#[cfg(feature = "players")]
mod soak;
#[cfg(feature = "players")]
mod strength;
mod train;
#[cfg(feature = "players")]
mod tune;

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
    /// Measure the ratings a human-like network plays at, and calibrate them.
    #[cfg(feature = "players")]
    Strength(strength::StrengthArgs),
    /// Count when people resign, agree to draws and see mates, by rating.
    #[cfg(feature = "players")]
    #[command(alias = "habits")]
    Behaviour(behaviour::BehaviourArgs),
    /// Measure the entropy of a player's openings, compared with people of its rating.
    #[cfg(feature = "players")]
    #[command(alias = "variety")]
    Diversity(diversity::DiversityArgs),
    /// Play many games of human-like players at random ratings and time controls; any fault is an error.
    #[cfg(feature = "players")]
    Soak(soak::SoakArgs),
    #[cfg(feature = "players")]
    Tune(tune::TuneCommand),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Data(command) => data::run(command),
        #[cfg(feature = "query")]
        Command::Cluster(command) => cluster::run(command),
        Command::Train(command) => train::execute(&command),
        #[cfg(feature = "players")]
        Command::Strength(args) => strength::run(&args),
        #[cfg(feature = "players")]
        Command::Behaviour(args) => behaviour::run(&args),
        #[cfg(feature = "players")]
        Command::Diversity(args) => diversity::run(&args),
        #[cfg(feature = "players")]
        Command::Soak(args) => soak::run(&args),
        #[cfg(feature = "players")]
        Command::Tune(command) => tune::run(&command),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("error: {fault:#}");
            ExitCode::FAILURE
        }
    }
}
