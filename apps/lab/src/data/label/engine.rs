//! Engine options and start.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Args;
use tabia_uci::client::EngineConfig;
use tabia_uci::message::Go;

use super::session::Labeller;

/// The engine and its limits.
#[derive(Args)]
pub(super) struct EngineArgs {
    /// Engine command with arguments [default: what tools/build_stockfish.sh built, else stockfish in PATH or /usr/games].
    #[arg(long, value_name = "COMMAND")]
    engine: Option<String>,
    /// UCI option as NAME=VALUE; repeatable.
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = name_and_value)]
    options: Vec<(String, String)>,
    /// Node limit per position [default: 1000, unless --depth is given].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    nodes: Option<u64>,
    /// Depth limit per position.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=255))]
    depth: Option<u32>,
    /// Number of engine processes [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Hash size of each engine in MB.
    #[arg(long, default_value_t = 16, value_name = "MB")]
    hash: u32,
    /// Timeout per position in seconds, after which the engine is restarted.
    #[arg(long, default_value_t = 60.0, value_name = "SECONDS", value_parser = seconds)]
    patience: f64,
}

impl EngineArgs {
    /// The `go` command of each position.
    pub(super) fn go(&self) -> Go {
        Go {
            depth: self.depth,
            nodes: self.nodes.or((self.depth.is_none()).then_some(1000)),
            ..Go::default()
        }
    }

    /// Number of engine processes.
    pub(super) fn jobs(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or(cores, usize::from)
    }

    /// The engine's command line.
    pub(super) fn command(&self) -> String {
        self.engine.clone().unwrap_or_else(stockfish)
    }

    /// Starts an engine with one line per position.
    pub(super) fn start(&self) -> Result<Labeller> {
        Labeller::start(self.launch()?, self.go(), 1)
    }

    /// How an engine is started.
    pub(super) fn launch(&self) -> Result<EngineConfig> {
        let command = self.command();
        let words = shlex::split(&command)
            .filter(|words| !words.is_empty())
            .with_context(|| format!("invalid command '{command}'"))?;
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

/// The Stockfish that `tools/build_stockfish.sh` built for this machine, else an installed one. Debian keeps games out of root's
/// `PATH`.
fn stockfish() -> String {
    const DEBIAN: &str = "/usr/games/stockfish";
    let built = built_stockfish().filter(|built| built.is_file());
    if let Some(built) = built.as_deref().and_then(Path::to_str) {
        // The command is split at blanks.
        return shlex::try_quote(built).map_or_else(|_| built.to_owned(), Cow::into_owned);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&folders).any(|folder| folder.join("stockfish").is_file());
    (if !in_path && Path::new(DEBIAN).is_file() { DEBIAN } else { "stockfish" }).to_owned()
}

/// Where `tools/build_stockfish.sh` puts it.
fn built_stockfish() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("tabia/stockfish"))
}
