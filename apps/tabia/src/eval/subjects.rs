//! Networks from command-line arguments.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tabia_cli::PlayerFactory;
use tabia_encoding::Elo;
use tabia_human_eval::EvalModel;
use tabia_model::Model;
use tabia_players::{Persona, Spec};

/// A network and the spec that names it.
pub(super) struct Named {
    pub(super) spec: String,
    pub(super) subject: EvalModel,
}

/// The networks of `specs`; without any, the bundled human-like network.
pub(super) fn subjects(specs: &[String]) -> Result<Vec<Named>> {
    let players = PlayerFactory::default();
    let default = ["human".to_owned()];
    let specs = if specs.is_empty() { &default[..] } else { specs };
    let short: Vec<String> = specs.iter().map(|spec| short_name(spec)).collect();
    let named = specs.iter().zip(&short).map(|(spec, name)| {
        let is_unique = short.iter().filter(|other| *other == name).count() == 1;
        let name = if is_unique { name } else { spec };
        let subject = match folder(spec) {
            Some(folder) => EvalModel::family(format!("{name} nearest"), family(folder, &players)?),
            None => {
                let (model, persona) = open(spec, &players)?;
                EvalModel::new(name.clone(), model, persona)
            }
        };
        Ok(Named { spec: spec.clone(), subject: subject.with_context(|| spec.clone())? })
    });
    named.collect()
}

/// The folder of `maia:FOLDER` or `FOLDER`.
fn folder(spec: &str) -> Option<&Path> {
    let path = Path::new(spec.strip_prefix("maia:").unwrap_or(spec));
    path.is_dir().then_some(path)
}

/// The networks of a folder whose names end in a rating, such as `maia-1100.pb.gz`.
fn family(folder: &Path, players: &PlayerFactory) -> Result<Vec<(Elo, Arc<Model>)>> {
    let unreadable = || format!("{}: cannot list the folder", folder.display());
    let mut networks = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(unreadable)? {
        let path = entry.with_context(unreadable)?.path();
        if let Some(rating) = path.file_name().and_then(|name| name.to_str()).and_then(rating_in_name) {
            networks.push((rating, players.open(&path).with_context(|| path.display().to_string())?));
        }
    }
    if networks.is_empty() {
        bail!("{}: no networks whose names end in a rating, such as maia-1100.pb.gz", folder.display());
    }
    networks.sort_by_key(|(rating, _)| rating.0);
    Ok(networks)
}

fn rating_in_name(name: &str) -> Option<Elo> {
    let stem = name.split('.').next()?;
    let digits = stem.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    (3..=4).contains(&digits.len()).then(|| digits.parse().ok().map(Elo)).flatten()
}

fn open(text: &str, players: &PlayerFactory) -> Result<(Arc<Model>, Persona)> {
    let path = Path::new(text);
    if path.is_file() {
        return Ok((players.open(path).with_context(|| text.to_owned())?, Persona::default()));
    }
    let spec: Spec =
        text.parse().with_context(|| format!("{text:?} is neither a model file nor a player"))?;
    let Some(persona) = spec.persona() else {
        bail!("{text}: no move probabilities (expected human, maia or a model file)");
    };
    Ok((players.human_or(spec.file()).with_context(|| text.to_owned())?, persona))
}

/// A column header: the file name without folder and extensions.
fn short_name(spec: &str) -> String {
    let (kind, rest) = spec.split_once(':').unwrap_or(("", spec));
    let (file, settings) = rest.split_once(',').unwrap_or((rest, ""));
    let file = file.trim_end_matches(['/', '\\']);
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let name = [".gz", ".pb", ".safetensors", ".onnx", ".pt"]
        .iter()
        .fold(name, |name, end| name.strip_suffix(end).unwrap_or(name));
    let kind = if kind == "human" && name != "human" { "human:" } else { "" };
    let comma = if settings.is_empty() { "" } else { "," };
    format!("{kind}{name}{comma}{settings}")
}
