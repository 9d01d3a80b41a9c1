//! Which player is "me".

use std::collections::HashMap;

use serde::Serialize;
use tabia_game::Game;

/// A name and the number of its games.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
pub struct NameCount {
    /// As first written.
    pub name: String,
    /// Number of games.
    pub games: u64,
}

impl NameCount {
    /// A name in so many games.
    pub fn new(name: impl Into<String>, games: u64) -> NameCount {
        NameCount { name: name.into(), games }
    }
}

/// Counts the names of players, to guess whose games they are: the one in most of them.
#[derive(Clone, Debug, Default)]
pub struct NameCounter {
    /// By lower-case name: the name as first written, and the number of games.
    names: HashMap<String, (String, u64)>,
}

impl NameCounter {
    /// Counts the players of a game.
    pub fn add(&mut self, game: &Game) {
        let name = |tag| game.headers.get(tag).unwrap_or_default();
        self.add_names(name("White"), name("Black"));
    }

    /// Counts the players of a game by their names.
    pub fn add_names(&mut self, white: &str, black: &str) {
        let name = |name| Some(str::trim(name)).filter(|name| !matches!(*name, "" | "?"));
        let (white, black) = (name(white), name(black));
        for name in [white, black.filter(|black| Some(*black) != white)].into_iter().flatten() {
            self.names.entry(name.to_lowercase()).or_insert_with(|| (name.to_owned(), 0)).1 += 1;
        }
    }

    /// The most frequent name and its number of games; of equals, the first in the alphabet.
    pub fn most_frequent(&self) -> Option<(&str, u64)> {
        let names = self.names.values();
        let best = names.max_by(|(a, few), (b, many)| few.cmp(many).then_with(|| b.cmp(a)))?;
        Some((&best.0, best.1))
    }

    /// The most frequent names; equals in alphabetical order.
    pub fn frequent(&self, most: usize) -> Vec<NameCount> {
        let mut names: Vec<&(String, u64)> = self.names.values().collect();
        names.sort_by(|(a, few), (b, many)| many.cmp(few).then_with(|| a.cmp(b)));
        names.into_iter().take(most).map(|(name, games)| NameCount::new(name, *games)).collect()
    }

    /// The number of games of a name, ignoring case.
    pub fn count(&self, name: &str) -> u64 {
        self.names.get(&name.trim().to_lowercase()).map_or(0, |(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use tabia_game::PgnReader;

    use super::*;

    #[test]
    fn the_most_frequent_name_is_found_whatever_its_case() {
        let pgn = "[White \"Ann\"]\n[Black \"Bob\"]\n\n*\n\n[White \"Cem\"]\n[Black \"ann\"]\n\n*\n\n[White \"?\"]\n\n*\n\n[White \"?\"]\n\n*\n";
        let mut names = NameCounter::default();
        PgnReader::new(pgn.as_bytes()).for_each(|game| names.add(&game.unwrap()));
        assert_eq!(names.most_frequent(), Some(("Ann", 2)));
        assert_eq!((names.count("BOB"), names.count("nobody")), (1, 0));
        assert_eq!(names.frequent(2), [NameCount::new("Ann", 2), NameCount::new("Bob", 1)]);
        assert_eq!(NameCounter::default().most_frequent(), None);
    }
}
