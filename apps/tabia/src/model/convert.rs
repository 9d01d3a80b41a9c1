//! `tabia model convert`.

use anyhow::{Context, Result, bail};
use tabia_cli::write_atomically;
use tabia_model::{Model, Source};

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
    let named = || args.input.display().to_string();
    let source = Source::open_with(&args.input, overlay.as_deref()).with_context(named)?;
    let mut card = Model::new(source.clone(), overlay.as_deref()).with_context(named)?.card().clone();
    let bytes = match args.output.extension().and_then(|e| e.to_str()) {
        Some("onnx") => {
            card.state_dict = None;
            source.to_onnx(&card).with_context(named)?
        }
        Some("safetensors") => {
            let input = std::fs::read(&args.input).with_context(named)?;
            Source::state_dict_to_safetensors(&input, &card).with_context(named)?
        }
        _ => bail!("{}: the output must end in .onnx or .safetensors", args.output.display()),
    };
    // What was written must open again before it gets its name.
    let again = Model::from_bytes(&bytes).context("the converted network does not open")?;
    if *again.card() != card {
        bail!("the converted network says something else about itself than the original");
    }
    write_atomically(&args.output, &bytes)?;
    println!("{}: {} bytes, {} parameters", args.output.display(), bytes.len(), again.parameters());
    Ok(())
}
