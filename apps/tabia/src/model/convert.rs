//! `tabia model convert`.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use shakmaty::Chess;
use tabia_encoding::Situation;
use tabia_model::{Evaluation, Format, Model, Rounding, Source, WeightPrecision};

use super::position;
use super::tensors::POSITIONS;

use crate::cli::ConvertArgs;

pub(crate) fn run(args: &ConvertArgs) -> Result<()> {
    if args.output.exists() && !args.force {
        bail!("{} exists; pass --force to overwrite it", args.output.display());
    }
    let overlay = match &args.card {
        Some(path) => {
            Some(std::fs::read_to_string(path).with_context(|| format!("--card {}", path.display()))?)
        }
        None => Model::sidecar(&args.input)?,
    };
    let overlay = super::with_layout(overlay, args.layout.as_deref())?;
    let named = || args.input.display().to_string();
    let open = || Source::open_with(&args.input, overlay.as_deref()).with_context(named);
    let source = open()?;
    let format = source.format;
    let model = Model::new(source, overlay.as_deref()).with_context(named)?;
    let mut card = model.card().clone();
    let precision = precision(args);
    if let Some(name) = name(precision) {
        card.rounding = Some(Rounding { weights: name.to_owned(), accuracy: None });
    }
    let extension = args.output.extension().and_then(|e| e.to_str());
    if args.opset.is_some() && extension != Some("onnx") {
        bail!("--opset: only an .onnx file has an opset");
    }
    let positions: Vec<Chess> = POSITIONS.iter().map(|fen| position(fen)).collect::<Result<_>>()?;
    let before = match precision {
        WeightPrecision::Full => None,
        _ => Some(evaluations(&model, &positions)?),
    };
    // A large network is in memory once at a time.
    drop(model);
    let part = Part::beside(&args.output);
    match extension {
        Some("onnx") => {
            card.state_dict = None;
            part.write(&open()?.into_onnx_as(&card, precision, args.opset).with_context(named)?)?;
        }
        Some("tflite") if precision != WeightPrecision::Full => {
            bail!("{}: TensorFlow Lite files are written in 32 bits", args.output.display())
        }
        Some("tflite") => {
            card.state_dict = None;
            part.write(&open()?.to_tflite(&card).with_context(named)?)?;
        }
        Some("safetensors") if format == Format::Bullet => {
            if precision != WeightPrecision::Full {
                bail!("{}: convert it without rounding first", args.input.display());
            }
            let input = std::fs::read(&args.input).with_context(named)?;
            let (bytes, described) = Source::raw_to_safetensors(&input, &card).with_context(named)?;
            card = described;
            part.write(&bytes)?;
        }
        Some("safetensors") => {
            Source::convert_state_dict(&args.input, &part.0, &card, precision).with_context(named)?;
        }
        _ => bail!("{}: the output must end in .onnx, .safetensors or .tflite", args.output.display()),
    }
    // What was written must open again before it gets its name.
    let again = Source::open(&part.0).and_then(|source| Model::new(source, None));
    let again = again.context("the converted network does not open")?;
    if *again.card() != card {
        bail!("the converted network says something else about itself than the original");
    }
    part.rename(&args.output)?;
    println!("{}: {} bytes, {} parameters", args.output.display(), again.file_bytes(), again.parameters());
    if let Some(before) = before {
        println!("{}", Difference::between(&before, &evaluations(&again, &positions)?));
    }
    Ok(())
}

/// An unfinished file, removed unless it gets its name.
struct Part(PathBuf);

impl Part {
    fn beside(path: &Path) -> Part {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        Part(part.into())
    }

    fn write(&self, bytes: &[u8]) -> Result<()> {
        std::fs::write(&self.0, bytes).with_context(|| self.0.display().to_string())
    }

    fn rename(&self, to: &Path) -> Result<()> {
        let synced = File::open(&self.0).and_then(|file| file.sync_all());
        synced.and_then(|()| std::fs::rename(&self.0, to)).with_context(|| to.display().to_string())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // It has its name, or was never written.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn evaluations(model: &Model, positions: &[Chess]) -> Result<Vec<Evaluation>> {
    let situations: Vec<Situation<'_>> = positions.iter().map(Situation::of).collect();
    Ok(model.evaluate(&situations)?)
}

fn precision(args: &ConvertArgs) -> WeightPrecision {
    match (args.f16, args.int8) {
        (true, _) => WeightPrecision::F16,
        (_, true) => WeightPrecision::Int8,
        _ => WeightPrecision::Full,
    }
}

/// What a card calls rounded weights.
fn name(precision: WeightPrecision) -> Option<&'static str> {
    match precision {
        WeightPrecision::Full => None,
        WeightPrecision::F16 => Some("f16"),
        WeightPrecision::Int8 => Some("int8 weights"),
    }
}

/// The largest differences that rounding made over a few positions.
#[derive(Default)]
struct Difference {
    positions: usize,
    probability: Option<f32>,
    centipawns: Option<f32>,
}

impl Difference {
    fn between(before: &[Evaluation], after: &[Evaluation]) -> Difference {
        let mut difference = Difference { positions: before.len(), ..Difference::default() };
        let grow = |most: &mut Option<f32>, by: f32| *most = Some(most.unwrap_or(0.0).max(by.abs()));
        for (old, new) in before.iter().zip(after) {
            if let (Some(old), Some(new)) = (&old.policy, &new.policy) {
                for candidate in old.candidates() {
                    let by = candidate.probability - new.probability(candidate.mv);
                    grow(&mut difference.probability, by);
                }
            }
            if let (Some(old), Some(new)) = (old.wdl, new.wdl) {
                grow(&mut difference.probability, old.win - new.win);
                grow(&mut difference.probability, old.draw - new.draw);
            }
            if let (Some(old), Some(new)) = (old.score, new.score) {
                grow(&mut difference.centipawns, old.0 - new.0);
            }
        }
        difference
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rounding, over {} positions:", self.positions)?;
        if let Some(probability) = self.probability {
            write!(f, " probabilities differ by at most {:.2}%", 100.0 * probability)?;
        }
        if let Some(centipawns) = self.centipawns {
            write!(f, " scores by at most {centipawns:.1} centipawns")?;
        }
        Ok(())
    }
}
