//! `tabia model convert`: one file format into another, with the card inside.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use tabia_model::{Model, Source};

use crate::cli::ConvertArgs;

pub(crate) fn run(args: &ConvertArgs) -> Result<()> {
    if args.output.exists() && !args.force {
        bail!("{} exists; add --force to replace it", args.output.display());
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

/// Writes beside the target and renames, so that no half-written file ever has the final name.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let named = || Path::new(&partial).display().to_string();
    let mut file = File::create(&partial).with_context(named)?;
    file.write_all(bytes).and_then(|()| file.sync_all()).with_context(named)?;
    std::fs::rename(&partial, path).with_context(|| path.display().to_string())
}
