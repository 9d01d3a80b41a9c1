//! `tabia-lab cluster`: the services behind `data build --cluster`.

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

use crate::log_lines::{self, LogLevel};

/// The services of a cluster. Each runs until Ctrl-C.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Accept plans from clients and assign their tasks to executors. One per cluster.
    #[command(after_help = SCHEDULER_EXAMPLES)]
    Scheduler(SchedulerArgs),
    /// Run tasks of a scheduler. One per machine.
    #[command(after_help = EXECUTOR_EXAMPLES)]
    Executor(ExecutorArgs),
}

const SCHEDULER_EXAMPLES: &str = "\
Examples:
  tabia-lab cluster scheduler                       for executors on this machine
  tabia-lab cluster scheduler --bind 192.168.1.10   for executors on the network of that address

Anyone who can reach the port can read every file the executors can read. Use trusted networks only.";

const EXECUTOR_EXAMPLES: &str = "\
Example:
  tabia-lab cluster executor --scheduler 192.168.1.10:50050 --slots 8 --memory 16G --work-dir /scratch

The input files must be visible here under the client's paths, as in a shared folder.";

#[derive(Args)]
pub(crate) struct SchedulerArgs {
    /// Log level on standard error: info shows jobs, stages and tasks.
    #[arg(long, value_enum, default_value = "warn")]
    log: LogLevel,
    /// Address to listen at. The loopback address keeps other machines out; 0.0.0.0 is all addresses.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    bind: IpAddr,
    /// Port to listen on; 0 selects a free one.
    #[arg(long, default_value_t = SchedulerAddress::DEFAULT_PORT)]
    port: u16,
    /// Host name of this machine for executors, if it differs from --bind.
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
    /// Time without a heartbeat after which an executor's tasks are reassigned.
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(2..))]
    executor_timeout: u64,
}

#[derive(Args)]
pub(crate) struct ExecutorArgs {
    /// Log level on standard error: info shows tasks.
    #[arg(long, value_enum, default_value = "warn")]
    log: LogLevel,
    /// Address of the scheduler.
    #[arg(long, value_name = "HOST:PORT")]
    scheduler: SchedulerAddress,
    /// Number of concurrent tasks [default: one per processor].
    #[arg(long)]
    slots: Option<NonZero<usize>>,
    /// Approximate memory limit; larger intermediate results are spilled to the work folder.
    #[arg(long, default_value = "2G", value_name = "SIZE", value_parser = tabia_model::parse_size)]
    memory: u64,
    /// Folder for intermediate results, best on a fast local disk. The executor creates its own folder inside it and removes
    /// it when it stops [default: the system's temporary folder].
    #[arg(long, value_name = "FOLDER")]
    work_dir: Option<PathBuf>,
    /// Address to listen at [default: the local address of the connection to the scheduler].
    #[arg(long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Host name of this machine for the others, if it differs from --bind.
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
    /// First of two consecutive ports to listen on; 0 selects free ones.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// How long to wait for the scheduler to start.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wait: u64,
    /// Heartbeat interval, a fraction of the scheduler's timeout.
    #[arg(long, value_name = "SECONDS", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    heartbeat: u64,
    /// Pause after each batch in milliseconds, for tests of failing machines.
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
    // Running tasks are abandoned and run again elsewhere.
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

/// Prints a status line. A service continues if its output is closed.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}
