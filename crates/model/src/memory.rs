//! How much memory the weights of a network may take.

use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(not(target_family = "wasm"))]
use tabia_onnx::tensors::MAX_ELEMENTS;

use crate::{Format, LoadError, LoadErrorKind};

/// Bytes of a weight in memory, whatever its type in the file.
const WEIGHT: u64 = 4;

/// The limit where the memory of the machine is not known.
#[cfg(not(target_family = "wasm"))]
const DEFAULT: u64 = 8 << 30;

/// Set by [`set_memory_limit`]; 0 for the default.
static LIMIT: AtomicU64 = AtomicU64::new(0);

/// Limits the weights of a network that is opened from a file, in bytes. By default they may take three quarters of the machine's
/// memory. In a browser the limit is fixed.
pub fn set_memory_limit(bytes: u64) {
    LIMIT.store(bytes.max(1), Ordering::Relaxed);
}

#[cfg(not(target_family = "wasm"))]
fn limit() -> u64 {
    match LIMIT.load(Ordering::Relaxed) {
        0 => machine().map_or(DEFAULT, |bytes| bytes / 4 * 3),
        bytes => bytes,
    }
}

/// The memory of this machine, where the system says it in a file.
#[cfg(not(target_family = "wasm"))]
fn machine() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The weights that a state dict in a file of `length` bytes may have. A file holds at most one in a byte, unless it is compressed
/// or repeats some; then it may have as many as any file in memory.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn weights_of_file(length: u64) -> usize {
    let held = length.max(MAX_ELEMENTS as u64);
    usize::try_from(held.min(limit() / WEIGHT)).unwrap_or(usize::MAX)
}

/// Refuses a file whose header announces more than `most` weights, before any are read.
///
/// # Errors
/// If it does.
pub(crate) fn check(format: Format, weights: usize, most: usize) -> Result<(), LoadError> {
    if weights <= most {
        return Ok(());
    }
    let place = if cfg!(target_family = "wasm") { "in a browser" } else { "see --memory" };
    let [needed, limit] =
        [weights, most].map(|count| (count as u64).saturating_mul(WEIGHT).div_ceil(1 << 20));
    let message = format!("{weights} weights need {needed} MiB (limit {limit} MiB, {place})");
    Err(LoadError::new(LoadErrorKind::TooLarge, format, message))
}

/// Parses a size of memory: `2G`, `512M`, `1.5GiB`.
///
/// # Errors
/// If it is not a size, or less than 32 MiB.
pub fn parse_size(text: &str) -> Result<u64, String> {
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
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("2G"), Ok(2 << 30));
        assert_eq!(parse_size("1.5GiB"), Ok(3 << 29));
        assert_eq!(parse_size("64m"), Ok(64 << 20));
        assert_eq!(parse_size("50000000"), Ok(50_000_000));
        for wrong in ["2X", "G", "1K", "-2G"] {
            assert!(parse_size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn more_weights_than_the_limit_are_refused_by_their_number() {
        check(Format::Torch, 7, 7).unwrap();
        let error = check(Format::Torch, usize::MAX, 7).unwrap_err();
        assert_eq!(error.kind(), LoadErrorKind::TooLarge);
    }
}
