//! `tabia eval`: how well networks predict people.

mod args;
mod blunders;
mod filters;
mod games;
mod human;
mod plot;
mod puzzles;
mod rating;
mod subjects;
mod time;

use anyhow::Result;
use clap::Subcommand;

#[derive(Subcommand)]
#[expect(clippy::large_enum_variant, reason = "a program has one command")]
pub(crate) enum EvalCommand {
    /// Measure how well errors of people are predicted, by rating.
    Blunders(blunders::BlunderArgs),
    /// Measure move-prediction accuracy, by rating, phase, time control and pool.
    Human(human::HumanArgs),
    /// Solve puzzles and estimate a puzzle rating.
    Puzzles(puzzles::PuzzleArgs),
    /// Estimate players' ratings from their moves, and compare with their ratings.
    Rating(rating::RatingArgs),
    /// Measure the prediction of thinking times.
    Time(time::TimeArgs),
}

pub(crate) fn run(command: EvalCommand) -> Result<()> {
    match command {
        EvalCommand::Blunders(args) => blunders::run(&args),
        EvalCommand::Human(args) => human::run(&args),
        EvalCommand::Puzzles(args) => puzzles::run(&args),
        EvalCommand::Rating(args) => rating::run(&args),
        EvalCommand::Time(args) => time::run(&args),
    }
}
