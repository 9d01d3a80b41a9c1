//! A tuning run on disk.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use tabia_cli::write_json;
use tabia_search::{ParameterSpec, Parameters};

/// What the games depend on, besides the parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Settings {
    pub(super) nodes: u64,
    pub(super) openings: String,
    pub(super) evaluation: String,
    pub(super) seed: u64,
}

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Tuning {
    pub(super) settings: Settings,
    /// Games played.
    pub(super) games: u32,
    /// The parameters, rounded: what `--from` reads.
    pub(super) values: BTreeMap<String, i32>,
    /// The same as they are tuned, from 0 (the lower bound) to 1 (the upper one).
    places: BTreeMap<String, f64>,
    /// The rounded values now and then.
    trace: Vec<TracePoint>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TracePoint {
    games: u32,
    values: BTreeMap<String, i32>,
}

/// The most points of a trace; from there on every other one is dropped.
const TRACE: usize = 400;

fn spec_of(name: &str) -> Option<&'static ParameterSpec> {
    Parameters::SPECS.iter().find(|spec| spec.name == name)
}

/// A place between the bounds of a parameter as a value.
fn value_at(spec: &ParameterSpec, place: f64) -> i32 {
    let (low, high) = (f64::from(spec.low), f64::from(spec.high));
    (low + place.clamp(0.0, 1.0) * (high - low)).round() as i32
}

impl Tuning {
    /// The beginning: `start`.
    pub(super) fn start(settings: Settings, names: &[&str], start: &Parameters) -> Tuning {
        let place = |name: &&str| {
            let (spec, value) = (spec_of(name)?, start.get(name)?);
            let range = f64::from(spec.high - spec.low).max(1.0);
            Some(((*name).to_owned(), f64::from(value - spec.low) / range))
        };
        let places: BTreeMap<String, f64> = names.iter().filter_map(place).collect();
        let mut tuning = Tuning { settings, games: 0, values: BTreeMap::new(), places, trace: Vec::new() };
        tuning.round();
        tuning
    }

    /// The run in a file; `None` if there is none.
    pub(super) fn read(path: &Path) -> Result<Option<Tuning>> {
        if !path.exists() {
            return Ok(None);
        }
        let named = || path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(named)?;
        let found = serde_json::from_str(&text).with_context(|| format!("{}: not a tuning run", named()))?;
        Ok(Some(found))
    }

    /// The same run, if these are its settings and parameters.
    pub(super) fn continued(self, settings: &Settings, names: &[&str]) -> Result<Tuning> {
        ensure!(
            self.settings == *settings,
            "it was started with other settings: {:?} (now {settings:?}); use the same, or another --out",
            self.settings
        );
        let known: Vec<&str> = self.places.keys().map(String::as_str).collect();
        let mut wanted = names.to_vec();
        wanted.sort_unstable();
        ensure!(
            known == wanted,
            "it tunes {} (now {}); use the same --only, or another --out",
            known.join(","),
            wanted.join(",")
        );
        Ok(self)
    }

    /// The names of what is tuned, with the places between their bounds.
    pub(super) fn places(&self) -> impl Iterator<Item = (&str, f64)> {
        self.places.iter().map(|(name, place)| (name.as_str(), *place))
    }

    /// `start` with the tuned parameters, each moved by `by` of its range.
    pub(super) fn moved(&self, start: &Parameters, by: impl Fn(usize) -> f64) -> Parameters {
        let mut parameters = *start;
        for (number, (name, place)) in self.places().enumerate() {
            if let Some(spec) = spec_of(name) {
                let value = value_at(spec, place + by(number));
                // Within its bounds, so it is never refused.
                let _accepted = parameters.set(name, value);
            }
        }
        parameters
    }

    /// Moves every parameter by `by` of its range.
    pub(super) fn step(&mut self, by: impl Fn(usize) -> f64) {
        for (number, place) in self.places.values_mut().enumerate() {
            *place = (*place + by(number)).clamp(0.0, 1.0);
        }
        self.round();
    }

    fn round(&mut self) {
        let value = |(name, place): (&String, &f64)| Some((name.clone(), value_at(spec_of(name)?, *place)));
        self.values = self.places.iter().filter_map(value).collect();
    }

    /// Adds the values to the trace and writes the run.
    pub(super) fn save(&mut self, path: &Path) -> Result<()> {
        self.trace.push(TracePoint { games: self.games, values: self.values.clone() });
        if self.trace.len() > TRACE {
            let mut place = 0;
            self.trace.retain(|_| {
                place += 1;
                place % 2 == 0
            });
        }
        write_json(path, &serde_json::to_value(&*self)?)
    }

    /// The parameters beside the engine's own.
    pub(super) fn table(&self) -> String {
        let mut rows = vec![tabia_report::head(&["parameter", "engine", "tuned"])];
        for (name, value) in &self.values {
            let default = spec_of(name).map(|spec| spec.default.to_string()).unwrap_or_default();
            rows.push(vec![name.clone(), default, value.to_string()]);
        }
        tabia_report::aligned(&rows) + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuning() -> Tuning {
        let settings = Settings { nodes: 1, openings: String::new(), evaluation: String::new(), seed: 1 };
        Tuning::start(settings, &["futility", "razoring"], &Parameters::default())
    }

    #[test]
    fn values_move_within_their_bounds() {
        let mut tuning = tuning();
        let start = Parameters::default();
        assert_eq!(tuning.moved(&start, |_| 0.0), start);
        assert_eq!(tuning.values["futility"], start.futility);
        tuning.step(|number| if number == 0 { -1.0 } else { 0.1 });
        assert_eq!(tuning.values["futility"], 20);
        assert_eq!(tuning.values["razoring"], start.razoring + 55);
        assert_eq!(tuning.moved(&start, |_| 9.0).razoring, 600);
    }

    #[test]
    fn runs_read_back_and_keep_a_short_trace() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tuned.json");
        assert!(Tuning::read(&path).unwrap().is_none());
        let mut tuning = tuning();
        for games in 0..1000 {
            tuning.games = games;
            tuning.save(&path).unwrap();
        }
        let read = Tuning::read(&path).unwrap().unwrap();
        assert_eq!(read, tuning);
        assert!(read.trace.len() <= TRACE && read.trace.last().unwrap().games == 999);
        let settings = read.settings.clone();
        assert!(read.clone().continued(&settings, &["razoring", "futility"]).is_ok());
        let other = Settings { nodes: 2, ..settings.clone() };
        assert!(read.clone().continued(&other, &["razoring", "futility"]).is_err());
        assert!(read.continued(&settings, &["razoring"]).is_err());
    }
}
