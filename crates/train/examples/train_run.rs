//! The command `tabia-lab train` alone: a small program for machines that only train.

use std::io::{Write, stderr};
use std::process::ExitCode;

use clap::Parser;
use tabia_train::cli::{TrainCommand, execute};

/// Train networks.
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    train: TrainCommand,
}

fn main() -> ExitCode {
    match execute(&Cli::parse().train) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            // Nothing is left to do if even stderr is closed.
            drop(writeln!(stderr(), "error: {fault:#}"));
            ExitCode::FAILURE
        }
    }
}
