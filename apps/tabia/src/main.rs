//! `tabia`: play, inspect and measure chess networks.

#[macro_use]
extern crate tabia_stdio;

mod arena;
mod bench;
mod cli;
mod compete;
mod desktop;
mod elo;
mod eval;
mod habits;
mod model;
mod play;
mod play_move;
mod players;
mod serve;
mod shipped;
mod soak;
mod strength;
mod uci;
mod validate;
mod variety;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let outcome = match cli::Cli::parse().command {
        cli::Command::Model { command } => model::run(command),
        cli::Command::Play(args) => play::run(&args),
        cli::Command::Uci(args) => uci::run(&args),
        cli::Command::PlayMove(args) => play_move::run(&args),
        cli::Command::Bench(args) => bench::run(&args),
        cli::Command::Compete(args) => compete::run(&args),
        cli::Command::Arena(args) => arena::run(&args),
        cli::Command::Desktop(args) => desktop::run(&args),
        cli::Command::Elo(args) => elo::run(&args),
        cli::Command::Eval { command } => eval::run(command),
        cli::Command::Strength(args) => strength::run(&args),
        cli::Command::Habits(args) => habits::run(&args),
        cli::Command::Soak(args) => soak::run(&args),
        cli::Command::Variety(args) => variety::run(&args),
        cli::Command::Serve(args) => serve::run(&args),
        cli::Command::Validate(args) => validate::run(&args),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tabia: {error:#}");
            ExitCode::FAILURE
        }
    }
}
