//! Which player is "me".

use std::collections::HashMap;

use tabia_game::Game;

/// Counts the names of players, to guess whose games they are: the one in most of them.
#[derive(Clone, Debug, Default)]
pub struct NameCounter {
    /// By lower-case name: the name as first written, and the number of games.
    names: HashMap<String, (String, u64)>,
}

impl NameCounter {
    /// Counts the players of a game.
    pub fn add(&mut self, game: &Game) {
        let name = |tag| game.headers.get(tag).map(str::trim).filter(|name| !matches!(*name, "" | "?"));
        let (white, black) = (name("White"), name("Black"));
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

    /// Every name and its number of games, the most frequent first; of equals, the first in the alphabet.
    pub fn all(&self) -> Vec<(&str, u64)> {
        let mut names: Vec<_> = self.names.values().map(|(name, count)| (name.as_str(), *count)).collect();
        names.sort_by(|(a, few), (b, many)| many.cmp(few).then_with(|| a.cmp(b)));
        names
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
        assert_eq!(names.all(), [("Ann", 2), ("Bob", 1), ("Cem", 1)]);
        assert_eq!((names.count("BOB"), names.count("nobody")), (1, 0));
        assert_eq!(NameCounter::default().most_frequent(), None);
    }
}
