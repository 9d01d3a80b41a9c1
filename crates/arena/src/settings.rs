use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::hex;

/// Separator of player names.
const PLAYER_SEPARATOR: &str = " | ";

/// Named settings that determine the games of a run, if its players are deterministic.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Settings(BTreeMap<String, String>);

impl Settings {
    /// No settings.
    pub fn new() -> Settings {
        Settings::default()
    }

    /// Sets a value.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), value.into());
    }

    /// Player names by [`PlayerId`](crate::PlayerId).
    pub fn players(&self) -> Vec<String> {
        let names = self.0.get("players").map_or("", String::as_str);
        names.split(PLAYER_SEPARATOR).map(str::to_owned).collect()
    }

    pub(crate) fn set_players(&mut self, names: &[String]) {
        self.set("players", names.join(PLAYER_SEPARATOR));
    }

    /// Hash of all settings in hexadecimal.
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for (name, value) in &self.0 {
            // Length prefixes make the encoding unambiguous.
            hash.update(format!("{}:{name}{}:{value}", name.len(), value.len()));
        }
        hex(&hash.finalize())[..16].to_owned()
    }

    /// Differences, such as `limits: 10+0.1 then, 5+0.1 now`.
    pub fn differences(&self, now: &Settings) -> Vec<String> {
        let names: std::collections::BTreeSet<&String> = self.0.keys().chain(now.0.keys()).collect();
        let value = |settings: &Settings, name: &String| {
            settings.0.get(name).map_or("not set".to_owned(), String::clone)
        };
        names
            .into_iter()
            .filter(|name| self.0.get(*name) != now.0.get(*name))
            .map(|name| format!("{name}: {} then, {} now", value(self, name), value(now, name)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_settings_have_different_hashes() {
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
