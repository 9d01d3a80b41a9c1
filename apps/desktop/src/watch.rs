//! The page's address for a game of a network.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use tabia_model::Model;
use tabia_players::{ChallengeRules, LevelSpec, Spec};
use tabia_serve::LocalModel;

/// A game between a network and itself, another network or any player.
pub(crate) struct WatchedGame {
    /// The networks the page needs.
    pub(crate) models: Vec<LocalModel>,
    first: String,
    second: String,
}

impl WatchedGame {
    /// Opens networks of any format. `against` is a model file or a player spec; the network itself if there is none.
    ///
    /// # Errors
    /// If a file is not a known network, or `against` is no player the page can build.
    pub(crate) fn open(file: &Path, against: Option<&str>) -> Result<WatchedGame> {
        let Some(against) = against else {
            let (model, spec) = network(file, None)?;
            return Ok(WatchedGame { models: vec![model], first: spec.clone(), second: spec });
        };
        if Path::new(against).is_file() {
            let (model, first) = network(file, None)?;
            let (other, second) = network(Path::new(against), None)?;
            if model.name() == other.name() {
                bail!("two networks are called {} (expected different file names)", model.name());
            }
            return Ok(WatchedGame { models: vec![model, other], first, second });
        }
        let opponent: Spec =
            against.parse().with_context(|| format!("{against:?} is neither a model file nor a player"))?;
        let rules = match &opponent {
            Spec::Level(LevelSpec { level, .. }) => Some(level.rules()),
            Spec::Uci(_) => {
                bail!("the page cannot start {against} (expected a model file, level:3, human or engine)")
            }
            _ if opponent.file().is_some() => {
                bail!("the page cannot read the file of {against} (expected the file alone)")
            }
            _ => None,
        };
        let (model, first) = network(file, rules)?;
        Ok(WatchedGame { models: vec![model], first, second: opponent.to_string() })
    }

    /// The fragment of the page's address.
    pub(crate) fn address(&self, delay: u32) -> String {
        format!(
            "#/arena?first={}&second={}&delay={delay}&auto=1",
            encoded(&self.first),
            encoded(&self.second)
        )
    }
}

/// A network and its player spec. Without a policy head it searches one ply, by the rules of the challenge if there are any.
fn network(file: &Path, rules: Option<ChallengeRules>) -> Result<(LocalModel, String)> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    // Errors are reported in the terminal before a window opens.
    let network = Model::from_bytes(&bytes).with_context(|| file.display().to_string())?;
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    let model = LocalModel::new(&name, bytes);
    let (kind, rules) = match (network.card().policy.is_some(), rules) {
        (true, _) => ("human", String::new()),
        (false, None) => ("net", String::new()),
        (false, Some(rules)) => ("net", format!(",rules={rules}")),
    };
    let spec = format!("{kind}:given/{}{rules}", model.name());
    Ok((model, spec))
}

/// Percent-encodes a query parameter.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn bundled(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name)
    }

    #[test]
    fn the_player_depends_on_the_heads() {
        let human = WatchedGame::open(&bundled("human.safetensors"), None).expect("a bundled network");
        assert_eq!(
            human.address(300),
            "#/arena?first=human%3Agiven%2Fhuman.safetensors&second=human%3Agiven%2Fhuman.safetensors&delay=300&auto=1"
        );
        let value = WatchedGame::open(&bundled("value.safetensors"), None).expect("a bundled network");
        assert_eq!((value.first.as_str(), value.models.len()), ("net:given/value.safetensors", 1));
        assert!(WatchedGame::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"), None).is_err());
    }

    #[test]
    fn an_entry_meets_a_level_by_the_rules_of_the_challenge() {
        let game = WatchedGame::open(&bundled("challenge-reference.onnx"), Some("level:3")).expect("a game");
        assert_eq!(game.first, "net:given/challenge-reference.onnx,rules=original");
        assert_eq!(game.second, "level:3");
        let other = bundled("challenge-s.onnx");
        let two = WatchedGame::open(&bundled("challenge-reference.onnx"), other.to_str()).expect("a game");
        assert_eq!((two.models.len(), two.second.as_str()), (2, "net:given/challenge-s.onnx"));
        for wrong in ["level:9", "uci:stockfish", "net:elsewhere.onnx", "nobody"] {
            assert!(WatchedGame::open(&bundled("challenge-reference.onnx"), Some(wrong)).is_err(), "{wrong}");
        }
    }
}
