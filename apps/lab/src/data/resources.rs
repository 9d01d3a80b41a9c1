//! Resource limits of commands.

use std::num::NonZero;
use std::path::PathBuf;
use std::thread::available_parallelism;

use clap::Args;
use tabia_query::Resources;

/// Options of commands that use the query engine.
#[derive(Args)]
pub(crate) struct ResourceArgs {
    /// Approximate memory limit; larger intermediate results are spilled to --temp.
    #[arg(long, default_value = "2G", value_name = "SIZE", value_parser = bytes)]
    memory: u64,
    /// Number of threads [default: one per processor].
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    /// Folder for spilled data [default: the system's temporary folder].
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

/// Parses a size: `2G`, `512M`, `1.5G`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let unit: u64 = match unit.to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        _ => return Err("expected a size such as 2G, with the unit K, M, G or T".to_owned()),
    };
    let number: f64 = number.trim().parse().map_err(|_| "expected a size such as 2G".to_owned())?;
    let bytes = number * unit as f64;
    if bytes < f64::from(32 << 20) {
        return Err("expected at least 32M".to_owned());
    }
    Ok(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("2G"), Ok(2 << 30));
        assert_eq!(bytes("1.5GiB"), Ok(3 << 29));
        assert_eq!(bytes("64m"), Ok(64 << 20));
        assert_eq!(bytes("50000000"), Ok(50_000_000));
        assert!(bytes("2X").is_err() && bytes("G").is_err() && bytes("1K").is_err() && bytes("-2G").is_err());
    }
}
