use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{HumanBytes, HumanCount, HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Interval between lines where standard error is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Progress of a long task on standard error: a bar on a terminal, elsewhere a line every ten seconds.
pub struct Progress {
    bar: ProgressBar,
    unit: Unit,
    /// Done by an earlier run, so not part of this run's rate.
    skipped: AtomicU64,
    /// Time of the last line since the start.
    last_line: Mutex<Duration>,
}

/// What is counted.
#[derive(Clone, Copy)]
enum Unit {
    Bytes,
    /// A plural.
    Items(&'static str),
}

impl Progress {
    /// Counts `items` (a plural), of which the total may become known later.
    pub fn new(items: &'static str) -> Progress {
        Progress::with_unit(None, Unit::Items(items))
    }

    /// Counts `total` `items` (a plural).
    pub fn of(total: u64, items: &'static str) -> Progress {
        Progress::with_unit(Some(total), Unit::Items(items))
    }

    /// Counts `total` bytes.
    pub fn of_bytes(total: u64) -> Progress {
        Progress::with_unit(Some(total), Unit::Bytes)
    }

    fn with_unit(total: Option<u64>, unit: Unit) -> Progress {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(total, target);
        let style = ProgressStyle::with_template("{bar:24} {msg}").expect("the template is valid");
        bar.set_style(style);
        Progress { bar, unit, skipped: AtomicU64::new(0), last_line: Mutex::default() }
    }

    /// Sets the total.
    pub fn set_total(&self, total: u64) {
        self.bar.set_length(total);
    }

    /// Counts what an earlier run has done: it says nothing about the speed of this one.
    pub fn skip(&self, count: u64) {
        self.skipped.fetch_add(count, Ordering::Relaxed);
        self.add(count);
    }

    /// Counts `count` more.
    pub fn add(&self, count: u64) {
        self.bar.inc(count);
        self.show("");
    }

    /// Sets the count, with a note behind it.
    pub fn set(&self, done: u64, note: &str) {
        self.bar.set_position(done);
        self.show(note);
    }

    fn show(&self, note: &str) {
        let text = || [&self.message(), note].join("  ").trim_end().to_owned();
        if !self.bar.is_hidden() {
            self.bar.set_message(text());
            return;
        }
        // Another thread that holds the lock is writing the same line.
        let Ok(mut last) = self.last_line.try_lock() else { return };
        let now = self.bar.elapsed();
        if now.saturating_sub(*last) >= LINE_INTERVAL {
            *last = now;
            self.say(&text());
        }
    }

    /// Prints a line above the bar.
    pub fn say(&self, line: &str) {
        // Without a reader of standard error the work goes on.
        self.bar.suspend(|| drop(writeln!(std::io::stderr(), "{line}")));
    }

    /// Items per second of this run.
    pub fn rate(&self) -> f64 {
        let done = self.bar.position() - self.skipped.load(Ordering::Relaxed);
        done as f64 / self.bar.elapsed().as_secs_f64().max(1e-3)
    }

    /// Removes the bar; returns the time since the start.
    pub fn finish(&self) -> Duration {
        self.bar.finish_and_clear();
        self.bar.elapsed()
    }

    fn message(&self) -> String {
        let (done, total, rate) = (self.bar.position(), self.bar.length(), self.rate());
        let count = |number| match self.unit {
            Unit::Bytes => HumanBytes(number).to_string(),
            Unit::Items(_) => HumanCount(number).to_string(),
        };
        let of = total.map_or(String::new(), |total| format!("/{}", count(total)));
        let unit = match self.unit {
            Unit::Bytes => String::new(),
            Unit::Items(items) => format!(" {items}"),
        };
        // Slow work, such as games, needs more digits.
        let speed = if rate < 10.0 { format!("{rate:.1}") } else { count(rate as u64) };
        let mut message = format!("{}{of}{unit}  {speed}/s", count(done));
        if let Some(left) = total.and_then(|total| total.checked_sub(done)).filter(|_| rate > 0.0) {
            let left = Duration::from_secs_f64(left as f64 / rate);
            message += &format!("  {:#} left", HumanDuration(left));
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_count_total_and_unit() {
        let progress = Progress::new("records");
        progress.add(1234);
        assert!(progress.message().starts_with("1,234 records  "), "{}", progress.message());
        progress.set_total(5000);
        assert!(progress.message().starts_with("1,234/5,000 records  "), "{}", progress.message());
        assert!(progress.message().ends_with(" left"));
        assert!(Progress::of_bytes(2048).message().starts_with("0 B/2.00 KiB  "));
    }

    #[test]
    fn skipped_items_do_not_count_as_speed() {
        let progress = Progress::of(100, "games");
        progress.skip(60);
        assert_eq!(progress.rate(), 0.0);
        assert!(progress.message().starts_with("60/100 games"));
    }
}
