//! `tabia eval`: how like people networks are.

mod args;
mod games;
mod human;
mod meter;
mod subjects;

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum EvalCommand {
    /// Say how often networks foretell the moves people play, by rating, phase, time control and pool.
    Human(human::HumanArgs),
}

pub(crate) fn run(command: EvalCommand) -> Result<()> {
    match command {
        EvalCommand::Human(args) => human::run(&args),
    }
}
