use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::hex;

/// What stands between the names of players.
const PLAYERS_APART: &str = " | ";

/// Everything a run's games depend on, as named texts: two runs with the same settings play the same games, if their
/// players are deterministic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Nothing set yet.
    pub fn new() -> Settings {
        Settings::default()
    }

    /// Sets one.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// The names of the players, in the order games refer to them.
    pub fn players(&self) -> Vec<String> {
        let names = self.0.get("players").map_or("", String::as_str);
        names.split(PLAYERS_APART).map(str::to_owned).collect()
    }

    /// Sets the names of the players.
    pub(crate) fn set_players(&mut self, names: &[String]) {
        self.set("players", names.join(PLAYERS_APART));
    }

    /// A short name for exactly these settings: a hash in hexadecimal.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for (name, value) in &self.0 {
            // Lengths first, so that no two sets of texts run together into the same bytes.
            hash.update(format!("{}:{name}{}:{value}", name.len(), value.len()));
        }
        hex(&hash.finalize())[..16].to_owned()
    }

    /// What differs, in words: `limits: 10+0.1 then, 5+0.1 now`.
    pub fn differences(&self, now: &Settings) -> Vec<String> {
        let names: std::collections::BTreeSet<&String> = self.0.keys().chain(now.0.keys()).collect();
        let word = |settings: &Settings, name: &String| {
            settings.0.get(name).map_or("not set".to_owned(), String::clone)
        };
        names
            .into_iter()
            .filter(|name| self.0.get(*name) != now.0.get(*name))
            .map(|name| format!("{name}: {} then, {} now", word(self, name), word(now, name)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_told_apart() {
        let mut one = Settings::new();
        one.set("limits", "10+0.1");
        one.set("openings", "abc");
        let mut other = one.clone();
        assert_eq!(one.hash(), other.hash());
        other.set("limits", "5+0.1");
        other.set("seed", "1");
        assert_ne!(one.hash(), other.hash());
        assert_eq!(one.differences(&other), ["limits: 10+0.1 then, 5+0.1 now", "seed: not set then, 1 now"]);
        let (mut split, mut joined) = (Settings::new(), Settings::new());
        split.set("a", "bc");
        joined.set("ab", "c");
        assert_ne!(split.hash(), joined.hash());
    }
}
