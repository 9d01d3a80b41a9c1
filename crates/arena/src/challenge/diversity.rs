use std::collections::BTreeMap;

use serde::Serialize;

use crate::{GameRecord, PlayerId};

/// Diversity of a player's games. Low diversity means that few kinds of positions were tested.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Diversity {
    /// Number of games.
    pub games: usize,
    /// Number of distinct first moves of the player.
    pub first_moves: usize,
    /// Entropy of the first moves in bits.
    pub first_move_entropy: f64,
    /// Number of distinct sequences of the first four moves (eight plies).
    pub four_move_lines: usize,
    /// Entropy of these sequences in bits.
    pub four_move_entropy: f64,
}

impl Diversity {
    /// Diversity of a player's games.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a GameRecord>, player: PlayerId) -> Diversity {
        let mut firsts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut lines: BTreeMap<&[String], usize> = BTreeMap::new();
        let mut games = 0;
        for record in records {
            let Some(color) = record.color_of(player) else { continue };
            games += 1;
            let white_begins = record.fen.split(' ').nth(1) == Some("w");
            let place = usize::from(white_begins != color.is_white());
            if let Some(first) = record.moves.get(place) {
                *firsts.entry(first).or_default() += 1;
            }
            *lines.entry(&record.moves[..record.moves.len().min(8)]).or_default() += 1;
        }
        Diversity {
            games,
            first_moves: firsts.len(),
            first_move_entropy: entropy(firsts.values()),
            four_move_lines: lines.len(),
            four_move_entropy: entropy(lines.values()),
        }
    }
}

/// Shannon entropy in bits.
fn entropy<'a>(counts: impl Iterator<Item = &'a usize> + Clone) -> f64 {
    let total = counts.clone().sum::<usize>() as f64;
    let bits: f64 = counts.map(|count| *count as f64 / total).map(|share| -share * libm::log2(share)).sum();
    bits.max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GameResult;

    #[test]
    fn entropy_of_games() {
        let record = |white: usize, fen: &str, moves: &str| GameRecord {
            game: 0,
            pair: 0,
            opening: 0,
            opening_label: String::new(),
            fen: fen.to_owned(),
            white: PlayerId(white),
            black: PlayerId(1 - white),
            result: GameResult::Draw,
            reason: String::new(),
            by_fault: false,
            moves: moves.split(' ').map(str::to_owned).collect(),
        };
        let (white, black) = ("x w - - 0 1", "x b - - 0 1");
        let records = [
            record(0, white, "e2e4 e7e5 g1f3"),
            record(1, white, "e2e4 c7c5"),
            record(0, black, "d7d5 e2e4"),
            record(1, black, "c7c5 e2e4"),
        ];
        let diversity = Diversity::of(&records, PlayerId(0));
        assert_eq!((diversity.games, diversity.first_moves, diversity.four_move_lines), (4, 2, 4));
        assert_eq!((diversity.first_move_entropy, diversity.four_move_entropy), (1.0, 2.0));
        let same = [records[0].clone(), records[0].clone()];
        let diversity = Diversity::of(&same, PlayerId(0));
        assert_eq!((diversity.four_move_lines, diversity.four_move_entropy), (1, 0.0));
        assert_eq!(Diversity::of(&[], PlayerId(0)), Diversity::default());
    }
}
