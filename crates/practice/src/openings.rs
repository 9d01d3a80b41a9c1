//! Names of openings.

use std::collections::HashMap;
use std::sync::OnceLock;

use shakmaty::san::San;
use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, EnPassantMode, Position as _};
use tabia_game::Game;

/// Families and the moves that lead to them.
const LIST: &str = include_str!("../data/openings.tsv");

/// The last ply where an opening is looked up; the longest line has fewer.
const LAST_PLY: usize = 30;

/// The family of a game's opening, such as `Sicilian Defense`: that of the last named position of the main line, whatever
/// the order of moves. `None` for games that start elsewhere or leave every opening at once.
pub fn opening_family(game: &Game) -> Option<&'static str> {
    if !game.starts_normally() {
        return None;
    }
    let names = names();
    let mut position = Chess::default();
    let mut name = None;
    for m in game.moves().take(LAST_PLY) {
        position.play_unchecked(m);
        name = names.get(&key(&position)).copied().or(name);
    }
    name
}

/// An opening with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedOpening {
    /// Its name, such as `Sicilian Defense`.
    pub name: &'static str,
    /// The shortest line that leads there, in SAN.
    pub line: &'static str,
}

/// The openings, by name.
pub fn openings() -> Vec<NamedOpening> {
    let entries = LIST.lines().filter_map(|line| line.split_once('\t'));
    let mut openings: Vec<_> = entries.map(|(name, line)| NamedOpening { name, line }).collect();
    openings.sort_by_key(|opening| (opening.name, opening.line.split(' ').count()));
    openings.dedup_by_key(|opening| opening.name);
    openings
}

fn key(position: &Chess) -> Zobrist64 {
    position.zobrist_hash(EnPassantMode::Legal)
}

fn names() -> &'static HashMap<Zobrist64, &'static str> {
    static NAMES: OnceLock<HashMap<Zobrist64, &'static str>> = OnceLock::new();
    NAMES.get_or_init(|| LIST.lines().filter_map(named_position).collect())
}

/// A line of the list; `None` for comments.
fn named_position(line: &'static str) -> Option<(Zobrist64, &'static str)> {
    let (name, moves) = line.split_once('\t')?;
    let mut position = Chess::default();
    for san in moves.split(' ') {
        let m = san.parse::<San>().ok()?.to_move(&position).ok()?;
        position.play_unchecked(m);
    }
    Some((key(&position), name))
}

#[cfg(test)]
mod tests {
    use tabia_game::read_game;

    use super::*;

    fn family(moves: &str) -> Option<&'static str> {
        opening_family(&read_game(format!("{moves} *").as_bytes()).unwrap())
    }

    #[test]
    fn every_line_of_the_list_is_read() {
        let lines = LIST.lines().filter(|line| !line.starts_with('#'));
        assert!(lines.clone().all(|line| named_position(line).is_some()));
        let plies = |line: &str| line.split_once('\t').unwrap().1.split(' ').count();
        assert!(lines.map(plies).max().unwrap() <= LAST_PLY);
    }

    #[test]
    fn the_last_named_position_decides_whatever_the_order_of_moves() {
        assert_eq!(family("1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6 5. h4"), Some("Sicilian Defense"));
        assert_eq!(family("1. c4 Nf6 2. d4 e6 3. Nc3 Bb4"), Some("Nimzo-Indian Defense"));
        assert_eq!(family("1. d4 d5 2. c4 e6"), Some("Queen's Gambit Declined"));
        assert_eq!(family(""), None);
    }

    #[test]
    fn openings_are_listed_once_with_their_shortest_line() {
        let openings = openings();
        assert!(openings.len() > 100 && openings.is_sorted_by(|a, b| a.name < b.name));
        let sicilian = openings.iter().find(|opening| opening.name == "Sicilian Defense").unwrap();
        assert_eq!(sicilian.line, "e4 c5");
    }

    #[test]
    fn games_from_other_positions_have_no_opening() {
        let game = read_game(b"[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]\n\n1. e4 *").unwrap();
        assert_eq!(opening_family(&game), None);
    }
}
