//! What an evaluation says of itself while it works.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Between lines where nobody sees a bar.
const PAUSE: Duration = Duration::from_secs(10);

/// A bar on a terminal; in a file or a pipe, a line now and then.
pub(super) struct Meter {
    bar: ProgressBar,
    started: Instant,
    last: Mutex<Instant>,
    what: &'static str,
}

impl Meter {
    /// For reading files of so many bytes.
    pub(super) fn reading(bytes: u64) -> Meter {
        Meter::new(bytes, "bytes read", "reading  {bar:24} {bytes}/{total_bytes}, {eta} left")
    }

    /// For asking about so many positions or puzzles.
    pub(super) fn asking(count: u64, what: &'static str) -> Meter {
        let template = "asking   {bar:24} {human_pos}/{human_len} {msg}, {per_sec}, {eta} left";
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

    /// So many have been done in all.
    pub(super) fn set(&self, done: u64) {
        self.bar.set_position(done);
        self.say();
    }

    /// So many more have been done.
    pub(super) fn add(&self, more: u64) {
        self.bar.inc(more);
        self.say();
    }

    fn say(&self) {
        if !self.bar.is_hidden() {
            return;
        }
        // Another thread that holds it says the same.
        let Ok(mut last) = self.last.try_lock() else { return };
        let now = Instant::now();
        if now.duration_since(*last) >= PAUSE {
            *last = now;
            let (done, total) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let spent = now.duration_since(self.started);
            let left = spent.mul_f64(total.saturating_sub(done) as f64 / done.max(1) as f64);
            let (done, total) = (HumanCount(done), HumanCount(total));
            eprintln!("{done}/{total} {}, {:#} left", self.what, HumanDuration(left));
        }
    }

    /// Ends it; how long it took.
    pub(super) fn finish(self) -> Duration {
        self.bar.finish_and_clear();
        self.started.elapsed()
    }
}
