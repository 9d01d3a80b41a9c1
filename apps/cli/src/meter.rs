use std::{
    io::IsTerminal,
    sync::Mutex,
    time::{Duration, Instant},
};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time between lines where there is no bar.
const INTERVAL: Duration = Duration::from_secs(10);

/// Progress on standard error: a bar on a terminal, otherwise a line now and then.
pub struct Meter {
    bar: ProgressBar,
    started: Instant,
    last: Mutex<Instant>,
    what: &'static str,
}

impl Meter {
    /// Reading this many bytes.
    pub fn reading(bytes: u64) -> Meter {
        Meter::new(bytes, "bytes read", "reading {bar:24} {bytes}/{total_bytes}, {eta} left")
    }

    /// Evaluating this many positions or puzzles.
    pub fn evaluating(count: u64, what: &'static str) -> Meter {
        let template = "evaluating {bar:24} {human_pos}/{human_len} {msg}, {per_sec}, {eta} left";
        let meter = Meter::new(count, what, template);
        meter.bar.set_message(what);
        meter
    }

    fn new(total: u64, what: &'static str, template: &str) -> Meter {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(total), target);
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        let now = Instant::now();
        Meter { bar, started: now, last: Mutex::new(now), what }
    }

    /// Sets the total done.
    pub fn set(&self, done: u64) {
        self.bar.set_position(done);
        self.print();
    }

    /// Adds to the total done.
    pub fn add(&self, more: u64) {
        self.bar.inc(more);
        self.print();
    }

    fn print(&self) {
        if !self.bar.is_hidden() {
            return;
        }
        // Another thread prints the same.
        let Ok(mut last) = self.last.try_lock() else { return };
        let now = Instant::now();
        if now.duration_since(*last) >= INTERVAL {
            *last = now;
            let (done, total) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let spent = now.duration_since(self.started);
            let left = spent.mul_f64(total.saturating_sub(done) as f64 / done.max(1) as f64);
            let (done, total) = (HumanCount(done), HumanCount(total));
            eprintln!("{done}/{total} {}, {:#} left", self.what, HumanDuration(left));
        }
    }

    /// Clears the bar; returns the time taken.
    pub fn finish(self) -> Duration {
        self.bar.finish_and_clear();
        self.started.elapsed()
    }
}
