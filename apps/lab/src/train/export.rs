use std::cell::LazyCell;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use tabia_model::{Accuracy, Figures};
use tabia_stdio::{stderr, stdout};
use tabia_train::export::{
    CALIBRATION_POSITIONS, ExportFormat, ExportWork, Exported, Measurement, Precision, Provenance,
    divide_move_logits, export, export_measured, from_file,
};
use tabia_train::{TrainConfig, Weights, checkpoint, initial_weights};

use super::{Configuration, checkpoint_folder};
use crate::command_line;
use crate::finished_file::write_whole;
use tabia_report::Progress;

/// Default licence of trained networks.
const LICENCE: &str = "GPL-3.0-or-later";

#[derive(Args, Debug)]
pub(super) struct ExportArgs {
    /// Folder of a run or of a checkpoint, or a .safetensors, .pt or .onnx file.
    #[arg(value_name = "RUN|CHECKPOINT|FILE")]
    from: PathBuf,
    /// Configuration with the network of a file. A run has its own; with another, the parameters that it lacks are left out.
    #[arg(long, value_name = "CONFIG")]
    config: Option<PathBuf>,
    /// Output file: .safetensors or .onnx.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Half precision.
    #[arg(long, conflicts_with = "int8")]
    f16: bool,
    /// 8-bit weights with a scale per output; in an .onnx file also dynamically quantised activations.
    #[arg(long)]
    int8: bool,
    /// 8-bit weights with a scale per output, computed in floats: a quarter of the size at nearly the same accuracy.
    #[arg(long, conflicts_with_all = ["int8", "f16"])]
    int8_weights: bool,
    /// Sets whose held-out positions measure the loss of accuracy of the file.
    #[arg(long, value_name = "DIR", num_args = 1..)]
    data: Vec<PathBuf>,
    /// Maximum number of held-out positions.
    #[arg(long, value_name = "N", default_value_t = 16_384, requires = "data",
          value_parser = clap::value_parser!(u64).range(1..))]
    positions: u64,
    /// Which weights of a run.
    #[arg(long, value_enum, default_value = "ema")]
    weights: WhichWeights,
    /// Runs, checkpoints or files of the same network to average the weights with.
    ///
    /// If one run was initialised with the weights of another, their mean is often better than both.
    #[arg(long, value_name = "RUN|CHECKPOINT|FILE", num_args = 1..)]
    average: Vec<PathBuf>,
    /// Divide the logits of moves by this: above 1 the policy is less certain, and its order of moves stays.
    ///
    /// `tabia eval human` shows how overconfident a network is on held-out games. For networks of kind `human`.
    #[arg(long, value_name = "T", value_parser = temperature)]
    temperature: Option<f32>,
    /// Name of the network [default: the name in its configuration or card].
    #[arg(long)]
    name: Option<String>,
    /// Licence of the weights in the card [default: GPL-3.0-or-later for a run, the card's for a file].
    #[arg(long)]
    licence: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WhichWeights {
    /// The exponential moving average.
    Ema,
    /// The last weights.
    Live,
}

fn temperature(text: &str) -> Result<f32, String> {
    let number: f32 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
    (0.1..=10.0).contains(&number).then_some(number).ok_or_else(|| format!("`{text}` is not from 0.1 to 10"))
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
    if let Some(temperature) = args.temperature {
        origin.divide_move_logits(temperature)?;
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
        let calibrating = LazyCell::new(|| Progress::of(CALIBRATION_POSITIONS, "training positions"));
        let measuring = LazyCell::new(|| Progress::of(args.positions, "held-out positions"));
        let mut progress = |work: ExportWork| match work {
            ExportWork::Calibrating(done) => {
                calibrating.set(done, "");
                if done >= CALIBRATION_POSITIONS {
                    calibrating.finish();
                }
            }
            ExportWork::Measuring(done) => measuring.set(done, ""),
        };
        let (sets, positions) = (&args.data[..], args.positions);
        let mut measurement = Measurement { config: &config, sets, positions, progress: &mut progress };
        let exported = export_measured(&arena, format, precision, &provenance, &mut measurement);
        calibrating.finish();
        measuring.finish();
        exported
    };
    let exported = exported.with_context(|| format!("cannot export {}", args.from.display()))?;
    write_whole(&args.out, &exported.bytes)?;
    report(args, format, precision, &exported)
}

/// The weights to export and their provenance.
struct Origin {
    config: TrainConfig,
    arena: Vec<f32>,
    provenance: Provenance,
}

impl Origin {
    /// Averages the weights with others, and drops the results of the single run.
    fn average(&mut self, others: &[PathBuf]) -> anyhow::Result<()> {
        for other in others {
            let weights = initial_weights(other, &self.config.net)?;
            self.arena.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += weight);
        }
        let count = 1 + others.len();
        self.arena.iter_mut().for_each(|sum| *sum /= count as f32);
        let Provenance { held_out, notes, .. } = &mut self.provenance;
        held_out.clear();
        *notes = format!("The mean of the weights of {count} trainings; the last of them is described.");
        Ok(())
    }

    /// The same weights in a network that lacks some of the parameters, and without the results of the whole.
    fn reduced_to(self, config: TrainConfig) -> anyhow::Result<Origin> {
        let (from, to) = (self.config.net.table(), config.net.table());
        let mut arena = vec![0.0; to.arena_len()];
        for entry in to.entries() {
            let Some(trained) = from.get(&entry.name).filter(|trained| trained.shape == entry.shape) else {
                bail!("the run trained no {} of shape {:?}", entry.name, entry.shape);
            };
            entry.of_mut(&mut arena).copy_from_slice(trained.of(&self.arena));
        }
        let names = from.entries().iter().map(|entry| entry.name.as_str());
        let left_out: Vec<&str> = names.filter(|name| to.get(name).is_none()).collect();
        let mut reduced = Origin { config, arena, provenance: self.provenance };
        if !left_out.is_empty() {
            reduced.changed(&format!("Trained with, and left out: {}.", left_out.join(", ")));
        }
        Ok(reduced)
    }

    /// Makes the policy less certain, and drops the results of the network as trained.
    fn divide_move_logits(&mut self, temperature: f32) -> anyhow::Result<()> {
        if let Err(problem) = divide_move_logits(&self.config.net, &mut self.arena, temperature) {
            bail!("--temperature {temperature}: {problem}");
        }
        self.changed(&format!("Logits of moves are divided by {temperature}."));
        Ok(())
    }

    /// Adds a note on what is no longer as trained, and drops the results of the network as trained.
    fn changed(&mut self, note: &str) {
        let Provenance { held_out, notes, .. } = &mut self.provenance;
        held_out.clear();
        *notes = format!("{notes} {note}").trim_start().to_owned();
    }
}

fn of_run(args: &ExportArgs) -> anyhow::Result<Origin> {
    let folder = checkpoint_folder(&args.from)?;
    let checkpoint = checkpoint::read(&folder)?;
    let weights = match args.weights {
        WhichWeights::Ema => Weights::Averaged,
        WhichWeights::Live => Weights::Live,
    };
    // Checkpoints are in a folder of the run.
    let run = folder.ancestors().nth(2).unwrap_or(Path::new(""));
    let mut provenance = Provenance::of_run(run, &checkpoint, weights)?;
    provenance.licence = LICENCE.to_owned();
    let arena = match weights {
        Weights::Averaged => checkpoint.state.ema,
        Weights::Live => checkpoint.state.weights,
    };
    let trained = Origin { config: checkpoint.head.config, arena, provenance };
    let Some(path) = &args.config else { return Ok(trained) };
    let Configuration { config, .. } = Configuration::read(path)?;
    trained.reduced_to(config).with_context(|| format!("{} with {}", args.from.display(), path.display()))
}

fn of_file(args: &ExportArgs) -> anyhow::Result<Origin> {
    let file = args.from.display();
    let Some(path) = &args.config else {
        bail!("{file}: needs the configuration of its network, such as --config configs/human.toml");
    };
    if let WhichWeights::Live = args.weights {
        bail!("{file}: a file has one set of weights: remove --weights live");
    }
    let Configuration { config, .. } = Configuration::read(path)?;
    let (arena, mut provenance) =
        from_file(&args.from, &config.net).with_context(|| format!("{file} with {}", path.display()))?;
    // A NumPy archive has no card.
    provenance.value_unit_cp.get_or_insert_with(|| config.value_unit_cp());
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
            let advice = "use --data to measure it on held-out positions";
            writeln!(stderr(), "{file}: the accuracy loss of {precision} was not measured; {advice}")?;
        }
        None => {}
    }
    if format == ExportFormat::Onnx {
        writeln!(out, "checked with tabia-model; for onnxruntime: python3 tools/check_onnx.py {file}")?;
    }
    Ok(())
}

/// A figure's name and accessor.
type Column = (&'static str, fn(&Figures) -> Option<f64>);

/// A table of the figures before and after export.
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
    let mut text = tabia_report::aligned(&rows);
    if let Some(share) = other_choices {
        text.push_str(&format!("\n{:.2}% of the top-1 moves differ", 100.0 * share));
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
    fn figures_are_compared_in_a_table() {
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
1.25% of the top-1 moves differ";
        assert_eq!(compared(Precision::Int8, &accuracy), expected);
    }
}
