//! The commands of the workspace: play, test, bench, docs, release and more. CI runs the same ones.
#![forbid(unsafe_code)]

#[macro_use]
extern crate tabia_stdio;

mod apt;
mod bench;
mod bench_data;
mod bench_python;
mod bench_train;
mod bench_web;
mod checks;
mod cross;
mod desktop;
mod dist;
mod docs;
mod fixtures;
mod fuzz;
mod levels;
mod module;
mod play;
mod process;
mod python;
mod python_package;
mod release;
mod screenshots;
mod skipped;
mod steps;
mod test;
mod wasm;
mod web;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::Workspace;

/// Build, test and benchmark Tabia
#[derive(Parser)]
#[command(bin_name = "cargo xtask", arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Play(play::Play),
    Test(test::Test),
    Bench(bench::Bench),
    Fixtures(fixtures::Fixtures),
    Fuzz(fuzz::Fuzz),
    Wasm(module::Wasm),
    Web(web::Web),
    Dist(dist::Dist),
    Docs(docs::Docs),
    Release(release::Release),
    Desktop(desktop::Desktop),
    Python(python_package::Wheel),
    Screenshots(screenshots::Screenshots),
}

fn main() -> ExitCode {
    let command = CommandLine::parse().command;
    let outcome = Workspace::open().and_then(|workspace| match command {
        Command::Play(play) => play.run(&workspace),
        Command::Test(test) => test.run(&workspace),
        Command::Bench(bench) => bench.run(&workspace),
        Command::Fixtures(fixtures) => fixtures.run(&workspace),
        Command::Fuzz(fuzz) => fuzz.run(&workspace),
        Command::Wasm(wasm) => wasm.run(&workspace),
        Command::Web(web) => web.run(&workspace),
        Command::Dist(dist) => dist.run(&workspace),
        Command::Docs(docs) => docs.run(&workspace),
        Command::Release(release) => release.run(&workspace),
        Command::Desktop(desktop) => desktop.run(&workspace),
        Command::Python(wheel) => wheel.run(&workspace),
        Command::Screenshots(screenshots) => screenshots.run(&workspace),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
