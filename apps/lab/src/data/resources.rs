//! Resource limits of commands.

use std::num::NonZero;
use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::Args;
use tabia_model::parse_size;
use tabia_query::Resources;

/// Options of commands that use the query engine.
#[derive(Args)]
pub(crate) struct ResourceArgs {
    /// Approximate memory limit; larger intermediate results are spilled to --temp.
    #[arg(long, default_value = "2G", value_name = "SIZE", value_parser = parse_size)]
    memory: u64,
    /// Number of threads [default: one per processor].
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    /// Folder for spilled data [default: the folder of the set; of `data sql`, the system's temporary folder].
    #[arg(long, value_name = "FOLDER")]
    temp: Option<PathBuf>,
}

impl ResourceArgs {
    /// The resources, with `temp` as the default folder.
    pub(crate) fn resources(&self, temp: impl FnOnce() -> PathBuf) -> Resources {
        let threads = self.threads.or_else(|| available_parallelism().ok()).map_or(1, NonZero::get);
        Resources { memory: self.memory, threads, temp: self.temp.clone().unwrap_or_else(temp) }
    }
}
