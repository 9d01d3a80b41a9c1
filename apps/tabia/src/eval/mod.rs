//! `tabia eval`: how like people networks are.

mod args;
mod games;
mod human;
mod plot;
mod puzzles;
mod shown;
mod subjects;
mod time;

pub(crate) use self::shown::{percent, signed_percent};

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum EvalCommand {
    /// Say how often networks foretell the moves people play, by rating, phase, time control and pool.
    Human(human::HumanArgs),
    /// Let networks solve puzzles by their likeliest move, and say what puzzle rating that is.
    Puzzles(puzzles::PuzzleArgs),
    /// Say how near networks come to the time people take for their moves.
    Time(time::TimeArgs),
}

pub(crate) fn run(command: EvalCommand) -> Result<()> {
    match command {
        EvalCommand::Human(args) => human::run(&args),
        EvalCommand::Puzzles(args) => puzzles::run(&args),
        EvalCommand::Time(args) => time::run(&args),
    }
}
