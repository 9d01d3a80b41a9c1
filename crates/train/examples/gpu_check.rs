//! Checks the GPU trainer against the plain one and measures it, with nothing but this crate.
//!
//! `gpu_check [--seconds 20] [--batch 4096] [--net "width = 256, heads = 8"] [--only check|bench] [--profile]`

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use tabia_train::TrainConfig;
use tabia_train::gpu::{BenchPlan, bench, check};

fn argument(name: &str) -> Option<String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments.next().and_then(|_| arguments.next())
}

fn main() -> ExitCode {
    match run(&mut std::io::stdout()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("error: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(out: &mut dyn Write) -> Result<usize, String> {
    let number = |name: &str, default: u64| match argument(name) {
        Some(text) => text.parse().map_err(|error| format!("{name} {text}: {error}")),
        None => Ok(default),
    };
    let sizes = argument("--net").map_or(String::new(), |sizes| format!(", {sizes}"));
    let batch = number("--batch", 4096)?;
    let text = format!("name = 'check'\nnet = {{ kind = 'human'{sizes} }}\n[data]\nbatch = {batch}");
    let config = TrainConfig::parse(&text).map_err(|error| error.to_string())?;
    let only = argument("--only");
    let wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
    let mut bad = 0;
    if wanted("check") {
        bad += check(&config, out).map_err(|error| error.to_string())?;
    }
    if wanted("bench") {
        let profiled_steps = if std::env::args().any(|argument| argument == "--profile") { 8 } else { 0 };
        let plan = BenchPlan { time: Duration::from_secs(number("--seconds", 20)?), profiled_steps };
        bench(&config, plan, out).map_err(|error| error.to_string())?;
    }
    Ok(bad)
}
