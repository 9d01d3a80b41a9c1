use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use tabia_stdio::stdout;
use tabia_train::gpu::{self, BenchPlan};

use super::Configuration;

#[derive(Args, Debug)]
pub(super) struct CheckArgs {
    /// Configuration file.
    #[arg(value_name = "CONFIG")]
    config: PathBuf,
}

#[derive(Args, Debug)]
pub(super) struct BenchArgs {
    /// Configuration file.
    #[arg(value_name = "CONFIG")]
    config: PathBuf,
    /// Duration in seconds.
    #[arg(long, default_value_t = 20, value_name = "N")]
    seconds: u64,
    /// Also measure each kernel and matrix product.
    #[arg(long)]
    profile: bool,
}

/// Number of profiled steps.
const PROFILED_STEPS: u32 = 8;

pub(super) fn check(args: &CheckArgs) -> Result<()> {
    match gpu::check(&Configuration::read(&args.config)?.config, &mut stdout())? {
        0 => Ok(()),
        bad => bail!("{bad} comparisons are out of tolerance"),
    }
}

pub(super) fn bench(args: &BenchArgs) -> Result<()> {
    let profiled_steps = if args.profile { PROFILED_STEPS } else { 0 };
    let plan = BenchPlan { time: Duration::from_secs(args.seconds), profiled_steps };
    Ok(gpu::bench(&Configuration::read(&args.config)?.config, plan, &mut stdout())?)
}
