//! Which engine labels, and how it is started.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use tabia_uci::client::EngineConfig;
use tabia_uci::message::Go;

use super::session::Labeller;

/// Which engine, and how long it looks at a position.
#[derive(Args)]
pub(super) struct EngineArgs {
    /// The engine's command, with its arguments [default: stockfish in PATH or /usr/games].
    #[arg(long, value_name = "COMMAND")]
    engine: Option<String>,
    /// An option to set, NAME=VALUE; may be given many times.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    options: Vec<(String, String)>,
    /// How many nodes a position may cost [default: 1000, unless there is a depth].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// How many plies deep to look.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=255))]
    depth: Option<u32>,
    /// How many engines run at the same time [default: one a core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// The memory of each engine, in MB.
    #[arg(long, default_value_t = 16, value_name = "MB")]
    hash: u32,
    /// How long an engine may think about a position before it counts as hung, in seconds.
    #[arg(long, default_value_t = 60.0, value_name = "SECONDS", value_parser = seconds)]
    patience: f64,
}

impl EngineArgs {
    /// What an engine is told about each position.
    pub(super) fn go(&self) -> Go {
        Go {
            depth: self.depth,
            nodes: self.nodes.or((self.depth.is_none()).then_some(1000)),
            ..Go::default()
        }
    }

    /// How many engines run at the same time.
    pub(super) fn jobs(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or(cores, usize::from)
    }

    /// The engine's command line.
    pub(super) fn command(&self) -> &str {
        self.engine.as_deref().unwrap_or_else(|| stockfish())
    }

    /// Starts an engine that gives one line a position.
    pub(super) fn start(&self) -> Result<Labeller> {
        Labeller::start(self.launch()?, self.go(), 1)
    }

    /// How an engine is started.
    pub(super) fn launch(&self) -> Result<EngineConfig> {
        let command = self.command();
        let words = shlex::split(command)
            .filter(|words| !words.is_empty())
            .with_context(|| format!("'{command}' is not a command"))?;
        let (program, arguments) = words.split_first().context("no command")?;
        let mut launch = EngineConfig::new(program);
        launch.args.extend(arguments.iter().map(Into::into));
        launch.timeouts.untimed = Duration::from_secs_f64(self.patience);
        // How many failures are too many is counted here, not by the client.
        launch.max_restarts = u32::MAX;
        for (name, value) in &self.options {
            ensure!(!name.eq_ignore_ascii_case("MultiPV"), "use --multipv, not --option MultiPV=");
            ensure!(!name.eq_ignore_ascii_case("Hash"), "use --hash, not --option Hash=");
            launch = launch.option(name, value);
        }
        launch = launch.option("Hash", &self.hash.to_string());
        Ok(launch)
    }
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("is not NAME=VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "is not a number")?;
    if seconds > 0.0 && seconds <= 1e6 { Ok(seconds) } else { Err("must be above 0".to_owned()) }
}

/// Debian keeps games out of root's `PATH`.
fn stockfish() -> &'static str {
    const DEBIAN: &str = "/usr/games/stockfish";
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&folders).any(|folder| folder.join("stockfish").is_file());
    if !in_path && Path::new(DEBIAN).is_file() { DEBIAN } else { "stockfish" }
}
