//! Networks from command-line arguments.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tabia_cli::PlayerFactory;
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
        let (model, persona) = open(spec, &players)?;
        let subject = EvalModel::new(name.clone(), model, persona).with_context(|| spec.clone())?;
        Ok(Named { spec: spec.clone(), subject })
    });
    named.collect()
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
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let name = [".gz", ".pb", ".safetensors", ".onnx", ".pt"]
        .iter()
        .fold(name, |name, end| name.strip_suffix(end).unwrap_or(name));
    let kind = if kind == "human" && name != "human" { "human:" } else { "" };
    let comma = if settings.is_empty() { "" } else { "," };
    format!("{kind}{name}{comma}{settings}")
}
