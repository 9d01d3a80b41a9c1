//! `tabia-lab train`: one file per command.

mod check;
mod evaluate;
mod export;
mod outlook;
mod overrides;
#[cfg(feature = "players")]
mod play;
mod plot;
mod run;
mod table;
mod watch;

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use tabia_train::TrainConfig;

use self::overrides::DataOverrides;

/// Train a network, plot runs, export weights.
///
/// Example: tabia-lab train configs/human.toml --data sets/games --max-seconds 600
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TrainCommand {
    #[command(subcommand)]
    other: Option<Other>,
    #[command(flatten)]
    run: run::RunArgs,
}

#[derive(Subcommand, Debug)]
enum Other {
    /// Write an HTML page that plots runs side by side.
    ///
    /// Example: tabia-lab train plot runs/a runs/b --out runs.html
    Plot(plot::PlotArgs),
    /// Write the weights of a run, a checkpoint or a model file as a model file.
    ///
    /// Examples:
    ///   tabia-lab train export runs/human --out models/human.safetensors --f16
    ///   tabia-lab train export runs/value --out value.onnx --int8 --data sets/games
    ///   tabia-lab train export human.safetensors --config configs/human.toml --out human8.safetensors --int8
    #[command(verbatim_doc_comment)]
    Export(export::ExportArgs),
    /// Score the policy of model files on the held-out positions of sets of evaluations.
    ///
    /// Example: tabia-lab train eval policy.safetensors theirs.pt --data sets/evals --min-depth 30 --eval-min-depth 50
    #[command(visible_alias = "evaluate")]
    Eval(evaluate::EvalArgs),
    /// Compare the GPU trainer with the reference, kernel by kernel and gradient by gradient.
    ///
    /// Example: tabia-lab train check configs/human.toml
    Check(check::CheckArgs),
    /// Measure the GPU trainer's speed on synthetic positions.
    ///
    /// Example: tabia-lab train bench configs/human.toml --seconds 20 --profile
    Bench(check::BenchArgs),
}

/// Runs the command.
pub(crate) fn execute(command: &TrainCommand) -> anyhow::Result<()> {
    match &command.other {
        Some(Other::Plot(args)) => plot::run(args),
        Some(Other::Export(args)) => export::run(args),
        Some(Other::Eval(args)) => evaluate::run(args),
        Some(Other::Check(args)) => check::check(args),
        Some(Other::Bench(args)) => check::bench(args),
        None => run::run(&command.run),
    }
}

/// A configuration and the text it was read from.
struct Configuration {
    config: TrainConfig,
    text: String,
}

impl Configuration {
    fn read(path: &Path) -> anyhow::Result<Configuration> {
        Configuration::read_with(path, &DataOverrides::default())
    }

    /// The configuration with some of its settings replaced. Its text is what was used: with them, and with the moves of a
    /// `vocab.npy` in place of its name.
    fn read_with(path: &Path, overrides: &DataOverrides) -> anyhow::Result<Configuration> {
        let named = || path.display().to_string();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", named()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let text = overrides::apply(text, folder, overrides).with_context(named)?;
        let config = TrainConfig::parse(&text).with_context(named)?;
        Ok(Configuration { config, text })
    }
}

/// The checkpoint of a path: itself, or the latest of a run.
fn checkpoint_folder(path: &Path) -> anyhow::Result<PathBuf> {
    let latest = tabia_train::checkpoint::list(&tabia_train::checkpoints_path(path))?.into_iter().next();
    Ok(latest.unwrap_or_else(|| path.to_owned()))
}
