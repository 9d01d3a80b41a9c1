use std::io::{Write, stdout};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};

use super::checkpoint_folder;
use tabia_train::checkpoint::{self, Checkpoint};
use tabia_train::export::{ExportFormat, Precision, Provenance, export, write_whole};
use tabia_train::{Evaluation, MetricsLine, metrics_path, read_lines};

#[derive(Args, Debug)]
pub(super) struct ExportArgs {
    /// The folder of a run or of one checkpoint.
    #[arg(value_name = "RUN|CHECKPOINT")]
    from: PathBuf,
    /// The file to write: .safetensors or .onnx.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Half precision (.safetensors).
    #[arg(long, conflicts_with = "int8")]
    f16: bool,
    /// 8-bit weights (.onnx).
    #[arg(long)]
    int8: bool,
    /// Which weights.
    #[arg(long, value_enum, default_value = "ema")]
    weights: WhichWeights,
    /// What to call the network instead of its configuration's name.
    #[arg(long)]
    name: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WhichWeights {
    /// Their running average.
    Ema,
    /// As the optimiser left them.
    Live,
}

pub(super) fn run(args: &ExportArgs) -> anyhow::Result<()> {
    let Some(format) = ExportFormat::of(&args.out) else {
        bail!("{}: the name must end in .safetensors or .onnx", args.out.display());
    };
    let precision = match (args.f16, args.int8) {
        (true, _) => Precision::F16,
        (_, true) => Precision::Int8,
        (false, false) => Precision::F32,
    };
    let Checkpoint { head, state } = checkpoint::read(&checkpoint_folder(&args.from)?)?;
    let arena = match args.weights {
        WhichWeights::Ema => &state.ema,
        WhichWeights::Live => &state.weights,
    };
    let mut notes = format!(
        "Trained by tabia-lab train: {} steps, {} positions, {:.0} seconds, seed {}.",
        state.step, head.positions, head.seconds, head.seed
    );
    if let Some(evaluation) = last_evaluation(&args.from) {
        notes.push(' ');
        notes.push_str(&describe(&evaluation));
    }
    let name = args.name.clone().unwrap_or_else(|| head.config.name.clone());
    let value_unit_cp = Some(head.config.value_unit_cp());
    let provenance = Provenance { name, data: head.data, notes, value_unit_cp };
    let exported = export(&head.config.net, arena, format, precision, &provenance)
        .with_context(|| format!("cannot export {}", args.from.display()))?;
    write_whole(&args.out, &exported.bytes)?;
    writeln!(
        stdout(),
        "{}: {} bytes, {} parameters; {}",
        args.out.display(),
        exported.bytes.len(),
        exported.parameters,
        exported.agreement
    )?;
    Ok(())
}

/// The last evaluation of a run; a bare checkpoint has none.
fn last_evaluation(run: &Path) -> Option<Evaluation> {
    let lines = read_lines(&metrics_path(run)).ok()?;
    lines.into_iter().rev().find_map(|line| match line {
        MetricsLine::Evaluation(evaluation) => Some(evaluation),
        MetricsLine::Step(_) => None,
    })
}

/// An evaluation in one sentence a group.
pub(super) fn describe(evaluation: &Evaluation) -> String {
    let group = |(name, score): (&String, &tabia_train::GroupScore)| {
        let mut parts = vec![format!("{} positions", score.count)];
        let mut add = |label: &str, value: Option<f64>| {
            parts.extend(value.map(|value| format!("{label} {value:.3}")));
        };
        add("log-loss", score.policy);
        add("top-1", score.top1);
        add("top-5", score.top5);
        add("result loss", score.outcome);
        add("value loss", score.value);
        add("value error", score.value_error);
        add("value correlation", score.value_correlation);
        add("better side named", score.value_sign);
        add("best move chosen one ply ahead", score.best_move);
        add("centipawns given away by that choice", score.move_loss_cp);
        format!("{name}: {}", parts.join(", "))
    };
    let groups: Vec<String> = evaluation.groups.iter().map(group).collect();
    format!("Held out, at {} positions: {}.", evaluation.positions, groups.join("; "))
}
