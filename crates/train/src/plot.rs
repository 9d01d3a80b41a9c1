use std::io;
use std::path::PathBuf;

use crate::metrics::{metrics_path, read_lines};

/// The page, with a place for the runs.
const PAGE: &str = include_str!("plot.html");
const PLACE: &str = "/*RUNS*/[]";

/// A run whose metrics cannot be plotted.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", run.display())]
pub struct PlotError {
    /// Which run.
    pub run: PathBuf,
    /// What is wrong.
    pub error: io::Error,
}

/// A page that stands alone and plots the metrics of `runs` side by side.
///
/// # Errors
/// If a run has no metrics, or they cannot be read.
pub fn plot(runs: &[PathBuf]) -> Result<String, PlotError> {
    let mut data = Vec::new();
    for run in runs {
        let lines = read_lines(&metrics_path(run)).map_err(|error| PlotError { run: run.clone(), error })?;
        let name = run.file_name().unwrap_or(run.as_os_str()).to_string_lossy();
        data.push(serde_json::json!({ "name": name, "lines": lines }));
    }
    // A run's name must not end the script.
    let json = serde_json::Value::Array(data).to_string().replace('<', "\\u003c");
    Ok(PAGE.replacen(PLACE, &json, 1))
}
