//! How far a long piece of work has come, on the standard error.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar on a terminal; elsewhere a line now and then. Any thread may move it.
pub(crate) struct Meter {
    what: &'static str,
    begun: Instant,
    /// What was done before this run began: it says nothing about how fast this run is.
    before: AtomicU64,
    done: AtomicU64,
    /// 0 while unknown.
    total: AtomicU64,
    display: Display,
}

enum Display {
    Bar(ProgressBar),
    /// When the last line was written.
    Lines(Mutex<Instant>),
}

/// Between lines.
const PAUSE: Duration = Duration::from_secs(10);

impl Meter {
    /// Counts `what`, a plural.
    pub(crate) fn new(what: &'static str) -> Meter {
        let begun = Instant::now();
        let display = if std::io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{bar:24} {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(style);
            Display::Bar(bar)
        } else {
            Display::Lines(Mutex::new(begun))
        };
        let [before, done, total] = [(); 3].map(|()| AtomicU64::new(0));
        Meter { what, begun, before, done, total, display }
    }

    /// How many there are, now that it is known.
    pub(crate) fn set_total(&self, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        if let Display::Bar(bar) = &self.display {
            bar.set_length(total);
        }
    }

    /// So many were done by an earlier run.
    pub(crate) fn skip(&self, count: u64) {
        self.before.fetch_add(count, Ordering::Relaxed);
        self.add(count);
    }

    /// So many more are done.
    pub(crate) fn add(&self, count: u64) {
        let done = self.done.fetch_add(count, Ordering::Relaxed) + count;
        match &self.display {
            Display::Bar(bar) => {
                bar.set_position(done);
                bar.set_message(self.message(done));
            }
            Display::Lines(last) => {
                // Whoever holds the lock writes the line.
                let Ok(mut last) = last.try_lock() else { return };
                if last.elapsed() >= PAUSE {
                    *last = Instant::now();
                    eprintln!("{}", self.message(done));
                }
            }
        }
    }

    /// A line above the bar.
    pub(crate) fn say(&self, line: &str) {
        match &self.display {
            Display::Bar(bar) => bar.suspend(|| eprintln!("{line}")),
            Display::Lines(_) => eprintln!("{line}"),
        }
    }

    /// How many this run did in a second.
    pub(crate) fn rate(&self) -> f64 {
        let here = self.done.load(Ordering::Relaxed) - self.before.load(Ordering::Relaxed);
        here as f64 / self.begun.elapsed().as_secs_f64().max(1e-3)
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        if let Display::Bar(bar) = &self.display {
            bar.finish_and_clear();
        }
    }

    fn message(&self, done: u64) -> String {
        let (total, rate) = (self.total.load(Ordering::Relaxed), self.rate());
        let mut message = match total {
            0 => format!("{done} {}  {rate:.0}/s", self.what),
            _ => format!("{done}/{total} {}  {rate:.0}/s", self.what),
        };
        if total > done && rate > 0.0 {
            let left = Duration::from_secs_f64((total - done) as f64 / rate);
            message.push_str(&format!("  {:#} left", HumanDuration(left)));
        }
        message
    }
}
