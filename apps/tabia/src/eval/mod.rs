//! `tabia eval`: how well networks predict people.

mod args;
mod games;
mod human;
mod plot;
mod puzzles;
mod subjects;
mod time;

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
pub(crate) enum EvalCommand {
    /// Measure move-prediction accuracy, by rating, phase, time control and pool.
    Human(human::HumanArgs),
    /// Solve puzzles and estimate a puzzle rating.
    Puzzles(puzzles::PuzzleArgs),
    /// Measure the prediction of thinking times.
    Time(time::TimeArgs),
}

pub(crate) fn run(command: EvalCommand) -> Result<()> {
    match command {
        EvalCommand::Human(args) => human::run(&args),
        EvalCommand::Puzzles(args) => puzzles::run(&args),
        EvalCommand::Time(args) => time::run(&args),
    }
}
