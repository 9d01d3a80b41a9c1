//! Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use anyhow::{Context, Result};
use tabia_arena::{Stop, StopRequest};

/// From now on Ctrl-C is a wish: once to end after the games under way, twice to give these up, three times to die.
///
/// A program has one such handler: a second call fails.
pub(crate) fn heed(stop: &Arc<Stop>) -> Result<()> {
    let stop = Arc::clone(stop);
    let pressed = AtomicU8::new(0);
    let heeded = ctrlc::set_handler(move || match pressed.fetch_add(1, Ordering::Relaxed) {
        0 => {
            eprintln!("\nfinishing the games under way; Ctrl-C again gives them up");
            stop.request(StopRequest::AfterGames);
        }
        1 => stop.request(StopRequest::Now),
        _ => std::process::exit(130),
    });
    heeded.context("Ctrl-C cannot be heeded")
}
