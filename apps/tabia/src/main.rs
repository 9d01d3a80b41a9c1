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
mod install_engine;
mod lichess;
mod me;
mod model;
mod play;
mod play_move;
mod review;
mod serve;
mod uci;
mod validate;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    if let Some(bytes) = cli.memory {
        tabia_model::set_memory_limit(bytes);
    }
    let outcome = match cli.command {
        cli::Command::Model { command } => model::run(command),
        cli::Command::Play(args) => play::run(&args),
        cli::Command::Watch(args) => play::watch(args),
        cli::Command::Uci(args) => uci::run(&args),
        cli::Command::PlayMove(args) => play_move::run(&args),
        cli::Command::Bench(args) => bench::run(&args),
        cli::Command::Compete(args) => compete::run(&args),
        cli::Command::Arena(args) => arena::run(&args),
        cli::Command::Desktop(args) => desktop::run(&args),
        cli::Command::Elo(args) => elo::run(&args),
        cli::Command::Eval { command } => eval::run(command),
        cli::Command::InstallEngine(args) => install_engine::run(&args),
        cli::Command::Lichess(args) => lichess::run(&args),
        cli::Command::Me { command } => me::run(command),
        cli::Command::Review(args) => review::run(&args),
        cli::Command::Serve(args) => serve::run(&args),
        cli::Command::Validate(args) => validate::run(&args),
        cli::Command::Strength(_) => return moved("strength"),
        cli::Command::Behaviour(_) => return moved("behaviour"),
        cli::Command::Diversity(_) => return moved("diversity"),
        cli::Command::Soak(_) => return moved("soak"),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tabia: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Points at the command of the laboratory.
fn moved(command: &str) -> ExitCode {
    eprintln!("tabia: this command has moved to `tabia-lab {command}` (cargo lab {command})");
    ExitCode::from(2)
}
