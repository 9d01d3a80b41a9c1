//! A logger to standard error, for the services of a cluster.

use clap::ValueEnum;
use log::{LevelFilter, Log, Metadata, Record};

/// Log level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// Errors.
    Error,
    /// Warnings, too.
    Warn,
    /// Progress, too.
    Info,
    /// Debug output, too.
    Debug,
}

struct Lines;

/// Installs the logger.
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
