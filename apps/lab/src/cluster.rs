//! `tabia-lab cluster`: the machines that `data build --cluster` works on.

use std::io::{self, Write};
use std::net::IpAddr;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use tabia_query::cluster::{
    ClusterError, Executor, ExecutorOptions, Scheduler, SchedulerAddress, SchedulerOptions,
};
use tokio::runtime::Runtime;

use crate::data::bytes;
use crate::log_lines::{self, LogLevel};

/// The parts of a cluster. Each runs until Ctrl-C.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Take plans from clients and hand their parts to executors. One per cluster.
    #[command(after_help = SCHEDULER_EXAMPLES)]
    Scheduler(SchedulerArgs),
    /// Work for a scheduler. As many per cluster as there are machines.
    #[command(after_help = EXECUTOR_EXAMPLES)]
    Executor(ExecutorArgs),
}

const SCHEDULER_EXAMPLES: &str = "\
Examples:
  tabia-lab cluster scheduler                       for executors on this machine
  tabia-lab cluster scheduler --bind 192.168.1.10   for executors on the network of that address

Whoever reaches the port can read every file the executors can: use trusted networks only.";

const EXECUTOR_EXAMPLES: &str = "\
Example:
  tabia-lab cluster executor --scheduler 192.168.1.10:50050 --slots 8 --memory 16G --work-dir /scratch

The files a client names have to be visible here under the same paths, as in a shared folder.";

#[derive(Args)]
pub(crate) struct SchedulerArgs {
    /// What to tell on standard error: info shows jobs, stages and tasks.
    #[arg(long, value_enum, default_value = "warn")]
    log: LogLevel,
    /// The address to listen at. The loopback address keeps other machines out; 0.0.0.0 is every address.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,
    /// The port to listen on; 0 takes any free one.
    #[arg(long, default_value_t = SchedulerAddress::DEFAULT_PORT)]
    port: u16,
    /// The name by which executors reach this machine, where it is not the address it listens at.
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
    /// How long an executor may be silent before its work is given to others.
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..))]
    executor_timeout: u64,
}

#[derive(Args)]
pub(crate) struct ExecutorArgs {
    /// What to tell on standard error: info shows tasks.
    #[arg(long, value_enum, default_value = "warn")]
    log: LogLevel,
    /// The scheduler to work for.
    #[arg(long, value_name = "HOST:PORT")]
    scheduler: SchedulerAddress,
    /// How many parts to work on at a time [default: one per processor].
    #[arg(long)]
    slots: Option<NonZero<usize>>,
    /// How much memory to use, about; what does not fit goes to the work folder.
    #[arg(long, default_value = "2G", value_name = "SIZE", value_parser = bytes)]
    memory: u64,
    /// The folder for intermediate results, best on a fast local disk. The executor makes its own folder inside it and
    /// removes that when it stops [default: the system's for temporary files].
    #[arg(long, value_name = "FOLDER")]
    work_dir: Option<PathBuf>,
    /// The address to listen at [default: the one from which the scheduler is reached].
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// The name by which the other machines reach this one, where it is not the address it listens at.
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
    /// The first of two ports in a row to listen on; 0 takes any free ones.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// How long to wait for the scheduler to come up.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wait: u64,
    /// How often to tell the scheduler that this executor is there; several times in the scheduler's timeout.
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    heartbeat: u64,
    /// Pause after each batch read, in milliseconds: for tests of machines that fail while they work.
    #[arg(long, value_name = "MS", default_value_t = 0, hide = true)]
    pause: u64,
}

pub(crate) fn run(command: Command) -> anyhow::Result<()> {
    let level = match &command {
        Command::Scheduler(args) => args.log,
        Command::Executor(args) => args.log,
    };
    log_lines::begin(level);
    let runtime = Runtime::new().context("cannot start threads")?;
    let outcome = runtime.block_on(async {
        match command {
            Command::Scheduler(args) => schedule(args).await,
            Command::Executor(args) => execute(args).await,
        }
    });
    // Tasks that are still running are given up: their work is done again elsewhere.
    runtime.shutdown_background();
    Ok(outcome?)
}

async fn schedule(args: SchedulerArgs) -> Result<(), ClusterError> {
    let scheduler = Scheduler::bind(SchedulerOptions {
        bind: args.bind,
        port: args.port,
        advertise: args.advertise,
        executor_timeout: Duration::from_secs(args.executor_timeout),
    })
    .await?;
    say(&format!("scheduler at {}; stop with Ctrl-C", scheduler.address()));
    scheduler.serve().await?;
    say("scheduler stopped");
    Ok(())
}

async fn execute(args: ExecutorArgs) -> Result<(), ClusterError> {
    let scheduler = args.scheduler.clone();
    let slots = args.slots.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZero::get);
    let executor = Executor::join(ExecutorOptions {
        scheduler: args.scheduler,
        patience: Duration::from_secs(args.wait),
        bind: args.bind,
        advertise: args.advertise,
        port: args.port,
        slots,
        memory: args.memory,
        work_dir: args.work_dir.unwrap_or_else(std::env::temp_dir),
        heartbeat: Duration::from_secs(args.heartbeat),
        pause: Duration::from_millis(args.pause),
    })
    .await?;
    let address = executor.address();
    let folder = executor.work_dir().display().to_string();
    executor
        .work(|| {
            say(&format!("executor at {address} works for {scheduler} (slots: {slots}, folder: {folder}); stop with Ctrl-C"));
        })
        .await?;
    say("executor stopped");
    Ok(())
}

/// Says where things stand. A service whose output nobody reads goes on.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}
