//! `tabia`: play, inspect and measure chess networks.

mod cli;
mod model;
mod play;
mod players;
mod shipped;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let outcome = match cli::Cli::parse().command {
        cli::Command::Model { command } => model::run(command),
        cli::Command::Play(args) => play::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tabia: {error:#}");
            ExitCode::FAILURE
        }
    }
}
