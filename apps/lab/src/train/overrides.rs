//! Settings of a configuration that the command line replaces, by the names of Learning a Chess Policy.

use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use tabia_data::LabelStrategy;
use tabia_encoding::MoveSubset;
use toml::{Table, Value};

#[derive(Args, Clone, Debug, Default)]
pub(super) struct DataOverrides {
    /// Train on a random sample of so many records, such as 1M [default: all].
    #[arg(long, value_name = "N", value_parser = crate::command_line::count)]
    pub(super) num_samples: Option<u64>,
    /// Skip positions analysed less deep [default: `data.min_depth` of the configuration].
    #[arg(long, value_name = "DEPTH")]
    pub(super) min_depth: Option<u8>,
    /// Score held-out positions analysed at least as deep as a group of their own [default: 50].
    #[arg(long, value_name = "DEPTH")]
    pub(super) eval_min_depth: Option<u8>,
    /// How engine sessions become probabilities of moves [default: `data.labels` of the configuration].
    #[arg(long, value_enum)]
    pub(super) strategy: Option<StrategyName>,
    /// Temperature of the labels: centipawns, or a win probability for win-chance [default: 50, or 0.045].
    #[arg(long, value_name = "T")]
    pub(super) temperature: Option<f64>,
}

/// A [`LabelStrategy`] without its temperature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum StrategyName {
    /// A softmax over the scores at the greatest depth
    #[value(alias = "boltzmann", alias = "max-depth")]
    Deepest,
    /// The mean of the labels of all sessions, weighted by depth
    Sessions,
    /// The best move of the deepest session
    #[value(alias = "hard")]
    Best,
    /// A softmax over win probabilities at the greatest depth
    WinChance,
}

impl DataOverrides {
    /// The strategy that `labels` becomes.
    pub(super) fn labels(&self, labels: LabelStrategy) -> Result<LabelStrategy> {
        let text = labels.to_string();
        let (name, temperature) = text.split_once(':').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
        let (name, temperature) = match self.strategy {
            Some(StrategyName::Deepest) => ("deepest", None),
            Some(StrategyName::Sessions) => ("sessions", None),
            Some(StrategyName::Best) => ("best", None),
            Some(StrategyName::WinChance) => ("win-chance", None),
            None => (name, temperature.map(str::to_owned)),
        };
        let temperature = self.temperature.map(|t| t.to_string()).or(temperature);
        let spelled = temperature.map_or(name.to_owned(), |temperature| format!("{name}:{temperature}"));
        spelled.parse().map_err(|error| anyhow::anyhow!("--strategy or --temperature: {error}"))
    }
}

/// The text of a configuration with the overrides, and with the moves of `net.vocabulary`, a file beside it, in place of its
/// name. A text that neither changes stays as it is.
pub(super) fn apply(text: String, folder: &Path, overrides: &DataOverrides) -> Result<String> {
    // What is not TOML is reported with its place by the parser of configurations.
    let Ok(mut table) = text.parse::<Table>() else { return Ok(text) };
    let before = table.clone();
    if let Some(Value::String(file)) = table.get("net").and_then(|net| net.get("vocabulary"))
        && file.ends_with(".npy")
    {
        let path = folder.join(file);
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let moves = MoveSubset::read_npy(&bytes).with_context(|| path.display().to_string())?;
        if !moves.is_sorted() {
            bail!("{}: its moves are not sorted", path.display());
        }
        let moves = MoveSubset::of(&moves)?.to_string();
        set(&mut table, "net", "vocabulary", Value::String(moves));
    }
    if let Some(count) = overrides.num_samples {
        set(&mut table, "data", "num_samples", Value::Integer(i64::try_from(count)?));
    }
    if let Some(depth) = overrides.min_depth {
        set(&mut table, "data", "min_depth", Value::Integer(depth.into()));
    }
    if let Some(depth) = overrides.eval_min_depth {
        set(&mut table, "evaluation", "min_depth", Value::Integer(depth.into()));
    }
    if overrides.strategy.is_some() || overrides.temperature.is_some() {
        let labels = match table.get("data").and_then(|data| data.get("labels")) {
            Some(Value::String(labels)) => labels.parse().unwrap_or_default(),
            _ => LabelStrategy::default(),
        };
        set(&mut table, "data", "labels", Value::String(overrides.labels(labels)?.to_string()));
    }
    if table == before { Ok(text) } else { Ok(toml::to_string(&table)?) }
}

fn set(table: &mut Table, section: &str, key: &str, value: Value) {
    let entry = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(section) = entry {
        section.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strategies_keep_their_temperature_until_it_is_replaced() {
        let labels = |overrides: DataOverrides, from: &str| {
            overrides.labels(from.parse().unwrap()).map(|labels| labels.to_string()).ok()
        };
        let warm = DataOverrides { temperature: Some(80.0), ..DataOverrides::default() };
        assert_eq!(labels(warm.clone(), "deepest"), Some("deepest:80".to_owned()));
        assert_eq!(labels(warm, "sessions:20"), Some("sessions:80".to_owned()));
        let best = DataOverrides { strategy: Some(StrategyName::Best), ..DataOverrides::default() };
        assert_eq!(labels(best, "deepest:80"), Some("best".to_owned()));
    }

    #[test]
    fn texts_without_overrides_stay_as_they_are() {
        let text = "# a comment\nname = 'x'\n[net]\nkind = 'human'\n".to_owned();
        let apply = |overrides| apply(text.clone(), Path::new(""), &overrides).unwrap();
        assert_eq!(apply(DataOverrides::default()), text);
        let deep = apply(DataOverrides { min_depth: Some(30), ..DataOverrides::default() });
        let config = tabia_train::TrainConfig::parse(&deep).unwrap();
        assert_eq!(config.data.min_depth, 30);
    }
}
