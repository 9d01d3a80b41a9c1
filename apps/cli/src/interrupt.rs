use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use anyhow::{Context, Result};
use tabia_arena::{Stop, StopRequest};

/// Makes Ctrl-C request a stop: once after the games in progress, twice at once, three times ends the process.
///
/// # Errors
/// If there is a handler already.
pub fn stop_on_interrupt(stop: &Arc<Stop>) -> Result<()> {
    let stop = Arc::clone(stop);
    let pressed = AtomicU8::new(0);
    let handler = ctrlc::set_handler(move || match pressed.fetch_add(1, Ordering::Relaxed) {
        0 => {
            eprintln!("\nfinishing the games in progress; press Ctrl-C again to abandon them");
            stop.request(StopRequest::AfterGames);
        }
        1 => stop.request(StopRequest::Now),
        _ => std::process::exit(130),
    });
    handler.context("cannot handle Ctrl-C")
}
