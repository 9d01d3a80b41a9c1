use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use tabia_model::{Accuracy, Figures};
use tabia_stdio::{stderr, stdout};
use tabia_train::export::{
    CALIBRATION_POSITIONS, ExportFormat, ExportWork, Exported, Measurement, Precision, Provenance, export,
    export_measured, from_file,
};
use tabia_train::{TrainConfig, Weights, checkpoint, initial_weights};

use super::{Configuration, checkpoint_folder, table};
use crate::command_line;
use crate::data::Meter;
use crate::finished_file::write_whole;

/// The licence of networks trained here, unless another one is named.
const LICENCE: &str = "GPL-3.0-or-later";

#[derive(Args, Debug)]
pub(super) struct ExportArgs {
    /// The folder of a run or of one checkpoint, or a .safetensors or .pt file.
    #[arg(value_name = "RUN|CHECKPOINT|FILE")]
    from: PathBuf,
    /// The configuration with the network of a file; a run has its own.
    #[arg(long, value_name = "CONFIG")]
    config: Option<PathBuf>,
    /// The file to write: .safetensors or .onnx.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Half precision (.safetensors).
    #[arg(long, conflicts_with = "int8")]
    f16: bool,
    /// 8-bit weights with a scale for each output; in an .onnx file 8-bit activations, too, as they come.
    #[arg(long)]
    int8: bool,
    /// 8-bit weights with a scale for each output, computed in floats: a quarter of the size, hardly another answer.
    #[arg(long, conflicts_with_all = ["int8", "f16"])]
    int8_weights: bool,
    /// Sets whose held-out positions say what the file lost against the network it is made of.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    data: Vec<PathBuf>,
    /// At most so many held-out positions.
    #[arg(long, value_name = "N", default_value_t = 16_384, requires = "data",
          value_parser = clap::value_parser!(u64).range(1..))]
    positions: u64,
    /// Which weights of a run.
    #[arg(long, value_enum, default_value = "ema")]
    weights: WhichWeights,
    /// Runs, checkpoints or files of the same network: the mean of their weights and these is exported.
    ///
    /// Where one run began with the weights of another, their mean is often better than both.
    #[arg(long, value_name = "RUN|CHECKPOINT|FILE", num_args = 1..)]
    average: Vec<PathBuf>,
    /// What to call the network instead of its configuration's name, or the name in a file's card.
    #[arg(long)]
    name: Option<String>,
    /// The licence of the weights, for the card: of a run's GPL-3.0-or-later, of a file's what its card says.
    #[arg(long)]
    licence: Option<String>,
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
    let precision = match (args.f16, args.int8, args.int8_weights) {
        (true, ..) => Precision::F16,
        (_, true, _) => Precision::Int8,
        (.., true) => Precision::Int8Weights,
        (false, false, false) => Precision::F32,
    };
    let mut origin = if args.from.is_file() { of_file(args)? } else { of_run(args)? };
    if !args.average.is_empty() {
        origin.average(&args.average)?;
    }
    let Origin { config, arena, mut provenance } = origin;
    provenance.name = args.name.clone().unwrap_or(provenance.name);
    provenance.licence = args.licence.clone().unwrap_or(provenance.licence);
    if let Some(training) = &mut provenance.training {
        training.commands.push(command_line::typed()?);
    }
    let exported = if args.data.is_empty() {
        export(&config.net, &arena, format, precision, &provenance)
    } else {
        let (mut calibrating, mut measuring) = (None, None);
        let mut progress = |work: ExportWork| {
            let (meter, what, total, done) = match work {
                ExportWork::Calibrating(done) => {
                    (&mut calibrating, "training positions", CALIBRATION_POSITIONS, done)
                }
                ExportWork::Measuring(done) => (&mut measuring, "held-out positions", args.positions, done),
            };
            let (meter, seen) = meter.get_or_insert_with(|| (Meter::new(what), 0));
            meter.set_total(total);
            meter.add(done - *seen);
            *seen = done;
            if done >= total {
                meter.finish();
            }
        };
        let (sets, positions) = (&args.data[..], args.positions);
        let mut measurement = Measurement { config: &config, sets, positions, progress: &mut progress };
        let exported = export_measured(&arena, format, precision, &provenance, &mut measurement);
        for (meter, _) in [calibrating, measuring].iter().flatten() {
            meter.finish();
        }
        exported
    };
    let exported = exported.with_context(|| format!("cannot export {}", args.from.display()))?;
    write_whole(&args.out, &exported.bytes)?;
    report(args, format, precision, &exported)
}

/// What is exported.
struct Origin {
    config: TrainConfig,
    arena: Vec<f32>,
    provenance: Provenance,
}

impl Origin {
    /// Makes the weights the mean of these and those. What is known of these alone is forgotten.
    fn average(&mut self, others: &[PathBuf]) -> anyhow::Result<()> {
        let table = self.config.net.table();
        for other in others {
            let weights = initial_weights(other, &table)?;
            self.arena.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
        }
        let count = 1 + others.len();
        self.arena.iter_mut().for_each(|sum| *sum /= count as f32);
        let Provenance { held_out, notes, .. } = &mut self.provenance;
        held_out.clear();
        *notes = format!("The mean of the weights of {count} trainings; the last of them is described.");
        Ok(())
    }
}

fn of_run(args: &ExportArgs) -> anyhow::Result<Origin> {
    if let Some(config) = &args.config {
        bail!("{} has its own configuration; leave out --config {}", args.from.display(), config.display());
    }
    let folder = checkpoint_folder(&args.from)?;
    let checkpoint = checkpoint::read(&folder)?;
    let weights = match args.weights {
        WhichWeights::Ema => Weights::Averaged,
        WhichWeights::Live => Weights::Live,
    };
    // A run keeps its checkpoints in a folder of its own.
    let run = folder.ancestors().nth(2).unwrap_or(Path::new(""));
    let mut provenance = Provenance::of_run(run, &checkpoint, weights)?;
    provenance.licence = LICENCE.to_owned();
    let arena = match weights {
        Weights::Averaged => checkpoint.state.ema,
        Weights::Live => checkpoint.state.weights,
    };
    Ok(Origin { config: checkpoint.head.config, arena, provenance })
}

fn of_file(args: &ExportArgs) -> anyhow::Result<Origin> {
    let file = args.from.display();
    let Some(path) = &args.config else {
        bail!("{file}: name the configuration of its network, as in --config configs/human.toml");
    };
    if let WhichWeights::Live = args.weights {
        bail!("{file}: a file has one set of weights; leave out --weights live");
    }
    let Configuration { config, .. } = Configuration::read(path)?;
    let (arena, provenance) =
        from_file(&args.from, &config.net).with_context(|| format!("{file} with {}", path.display()))?;
    Ok(Origin { config, arena, provenance })
}

fn report(
    args: &ExportArgs,
    format: ExportFormat,
    precision: Precision,
    exported: &Exported,
) -> anyhow::Result<()> {
    let mut out = stdout();
    let file = args.out.display();
    let Exported { bytes, agreement, accuracy, parameters } = exported;
    writeln!(out, "{file}: {} bytes, {parameters} parameters; {agreement}", bytes.len())?;
    match accuracy {
        Some(accuracy) => {
            writeln!(out, "{}", compared(precision, accuracy))?;
        }
        None if precision != Precision::F32 => {
            let advice = "name sets with --data to compare it with the trained network on held-out positions";
            writeln!(
                stderr(),
                "{file}: what {precision} costs was not measured, and its card says so; {advice}"
            )?;
        }
        None => {}
    }
    if format == ExportFormat::Onnx {
        writeln!(out, "checked with tabia-model; for onnxruntime: python3 tools/check_onnx.py {file}")?;
    }
    Ok(())
}

/// A figure's name, and where it is found.
type Column = (&'static str, fn(&Figures) -> Option<f64>);

/// Both sets of figures, one below the other.
fn compared(precision: Precision, accuracy: &Accuracy) -> String {
    let Accuracy { positions, trained, written, other_choices, value_difference } = accuracy;
    let columns: [Column; 5] = [
        ("top-1", |figures| figures.top1),
        ("top-5", |figures| figures.top5),
        ("log-loss", |figures| figures.log_loss),
        ("value loss", |figures| figures.value_loss),
        ("correlation", |figures| figures.value_correlation),
    ];
    let mut rows = [
        vec![format!("{positions} held-out positions")],
        vec!["as trained".to_owned()],
        vec![precision.to_string()],
    ];
    for (label, figure) in columns {
        if let (Some(trained), Some(written)) = (figure(trained), figure(written)) {
            let cells = [label.to_owned(), format!("{trained:.4}"), format!("{written:.4}")];
            rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
        }
    }
    let mut text = table::aligned(&rows);
    if let Some(share) = other_choices {
        text.push_str(&format!("\n{:.2}% of the first choices are others", 100.0 * share));
    }
    if let Some(difference) = value_difference {
        text.push_str(&format!("\nvalues differ by {difference:.5} on average"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_stands_below_the_trained_network() {
        let figures =
            |top1, log_loss| Figures { top1: Some(top1), log_loss: Some(log_loss), ..Figures::default() };
        let accuracy = Accuracy {
            positions: 512,
            trained: figures(0.5, 1.75),
            written: figures(0.4921875, 1.8),
            other_choices: Some(0.0125),
            value_difference: None,
        };
        let expected = "\
512 held-out positions   top-1  log-loss
as trained              0.5000    1.7500
int8                    0.4922    1.8000
1.25% of the first choices are others";
        assert_eq!(compared(Precision::Int8, &accuracy), expected);
    }
}
