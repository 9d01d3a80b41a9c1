//! What libraries log, as lines on standard error: for commands that run for days and have no screen.

use clap::ValueEnum;
use log::{LevelFilter, Log, Metadata, Record};

/// How much to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// What fails.
    Error,
    /// What may need attention, too.
    Warn,
    /// What happens, too.
    Info,
    /// Everything a developer may want to know.
    Debug,
}

struct Lines;

/// Begins to write. Called once, at the start of a command.
pub(crate) fn begin(level: LogLevel) {
    if log::set_logger(&Lines).is_ok() {
        log::set_max_level(match level {
            LogLevel::Error => LevelFilter::Error,
            LogLevel::Warn => LevelFilter::Warn,
            LogLevel::Info => LevelFilter::Info,
            LogLevel::Debug => LevelFilter::Debug,
        });
    }
}

impl Log for Lines {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            eprintln!("{:5} {}: {}", record.level(), record.target(), record.args());
        }
    }

    fn flush(&self) {}
}
