//! Player specs on the command line, where a model file alone is a player too.

use std::path::Path;

use tabia_model::Model;
use tabia_players::Spec;

use crate::open_adapter;

/// A player spec, or a model file with the settings of its kind: `net.pt`, `net.pt,temperature=0.5`. A network with a policy head
/// plays from it (`human:FILE`), an adapter too, another one looks one move ahead (`net:FILE`).
///
/// # Errors
/// If it is neither, or the file cannot be opened.
pub fn player_spec(text: &str) -> Result<Spec, String> {
    let (file, settings) = match text.split_once(',') {
        Some((file, settings)) if !Path::new(text).is_file() => (file, Some(settings)),
        _ => (text, None),
    };
    if !Path::new(file).is_file() {
        return text.parse::<Spec>().map_err(|error| error.to_string());
    }
    let at = |error: &dyn std::fmt::Display| format!("{file}: {error}");
    let plays_from_policy = open_adapter(Path::new(file)).map_err(|error| at(&error))?.is_some()
        || Model::open(file).map_err(|error| at(&error))?.card().policy.is_some();
    let kind = if plays_from_policy { "human" } else { "net" };
    let quoted = file.replace('\\', "\\\\").replace('"', "\\\"");
    let settings = settings.map_or(String::new(), |settings| format!(",{settings}"));
    format!("{kind}:\"{quoted}\"{settings}").parse::<Spec>().map_err(|error| error.to_string())
}
