use std::collections::BTreeMap;

use shakmaty::{ByColor, Color};

use crate::{
    GameRecord, GameResult, PlayerId,
    statistics::{Anchor, EloEstimate, Encounter, Pairs, Points, PoolError, RatingPool, Tally, rate_pool},
};

/// One result, as far as counting goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultRow {
    /// Who played.
    pub players: ByColor<PlayerId>,
    /// Who took the point.
    pub result: GameResult,
    /// The same for two games on one opening with colours swapped; `None` for a game that has no such other.
    pub pair: Option<u64>,
}

impl From<&GameRecord> for ResultRow {
    fn from(record: &GameRecord) -> ResultRow {
        ResultRow {
            players: ByColor { white: record.white, black: record.black },
            result: record.result,
            pair: Some(record.pair.into()),
        }
    }
}

/// The results so far: who took how much from whom.
#[derive(Clone, Debug, PartialEq)]
pub struct Standings {
    names: Vec<String>,
    by_color: Vec<ByColor<Tally>>,
    /// By the two players, the earlier one first, and as that one sees it.
    between: BTreeMap<(PlayerId, PlayerId), Between>,
    /// The first game of a pair that waits for the second: who had White in it, and what the earlier player took.
    waiting: BTreeMap<(PlayerId, PlayerId, u64), (PlayerId, Points)>,
}

/// The games of two players, as one of them sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Between {
    /// All games.
    pub games: Tally,
    /// Those that come in pairs.
    pub pairs: Pairs,
}

impl Between {
    /// How many games have no other to make a pair.
    pub fn unpaired(&self) -> u64 {
        self.games.games() - 2 * self.pairs.pairs()
    }

    /// How much stronger the player is: from pairs, or from single games when most of them are not in pairs. `None`
    /// without games.
    pub fn elo(&self) -> Option<EloEstimate> {
        if self.unpaired() > 2 * self.pairs.pairs() { self.games.elo() } else { self.pairs.elo() }
    }

    fn of_opponent(self) -> Between {
        let mut counts = self.pairs.0;
        counts.reverse();
        Between { games: self.games.of_opponent(), pairs: Pairs(counts) }
    }
}

impl Standings {
    /// Nothing played yet.
    pub fn new(names: Vec<String>) -> Standings {
        let by_color = vec![ByColor::default(); names.len()];
        Standings { names, by_color, between: BTreeMap::new(), waiting: BTreeMap::new() }
    }

    /// The standings after these games.
    pub fn of(names: Vec<String>, rows: impl IntoIterator<Item = ResultRow>) -> Standings {
        let mut standings = Standings::new(names);
        rows.into_iter().for_each(|row| standings.add(row));
        standings
    }

    /// Counts a game. The players are among those named.
    pub fn add(&mut self, row: ResultRow) {
        let ByColor { white, black } = row.players;
        for color in Color::ALL {
            self.by_color[row.players[color].0][color].record(row.result.points(color));
        }
        let first = white.min(black);
        let second = white.max(black);
        let color = if first == white { Color::White } else { Color::Black };
        let points = row.result.points(color);
        let between = self.between.entry((first, second)).or_default();
        between.games.record(points);
        let Some(pair) = row.pair else { return };
        let key = (first, second, pair);
        match self.waiting.remove(&key) {
            Some((had_white, other)) if had_white != white => between.pairs.record(other, points),
            _ => {
                self.waiting.insert(key, (white, points));
            }
        }
    }

    /// The players' names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// All games of a player.
    pub fn overall(&self, player: PlayerId) -> Tally {
        let ByColor { white, black } = self.by_color(player);
        white + black
    }

    /// A player's games with White and with Black.
    pub fn by_color(&self, player: PlayerId) -> ByColor<Tally> {
        self.by_color.get(player.0).copied().unwrap_or_default()
    }

    /// The games of two players, as `player` sees them.
    pub fn between(&self, player: PlayerId, opponent: PlayerId) -> Between {
        let get = |key| self.between.get(&key).copied().unwrap_or_default();
        if player <= opponent { get((player, opponent)) } else { get((opponent, player)).of_opponent() }
    }

    /// The ratings that fit all games.
    ///
    /// # Errors
    /// When the anchor is not tied to the others by games.
    pub fn ratings(&self, anchor: Anchor) -> Result<RatingPool, PoolError> {
        let encounters: Vec<Encounter> = self
            .between
            .iter()
            .map(|((first, second), between)| Encounter {
                first: first.0,
                second: second.0,
                games: between.games,
            })
            .collect();
        rate_pool(self.names.len(), &encounters, anchor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(white: usize, black: usize, result: GameResult, pair: Option<u64>) -> ResultRow {
        ResultRow { players: ByColor { white: PlayerId(white), black: PlayerId(black) }, result, pair }
    }

    #[test]
    fn pairs_need_swapped_colours() {
        let rows = [
            row(0, 1, GameResult::WhiteWins, Some(0)),
            row(0, 1, GameResult::Draw, Some(1)),
            row(1, 0, GameResult::BlackWins, Some(0)),
            row(0, 1, GameResult::WhiteWins, Some(1)),
            row(1, 0, GameResult::Draw, None),
        ];
        let standings = Standings::of(vec!["a".into(), "b".into()], rows);
        let seen = standings.between(PlayerId(0), PlayerId(1));
        assert_eq!(seen.games, Tally { wins: 3, draws: 2, losses: 0 });
        assert_eq!((seen.pairs, seen.unpaired()), (Pairs([0, 0, 0, 0, 1]), 3));
        let other = standings.between(PlayerId(1), PlayerId(0));
        assert_eq!(other.pairs, Pairs([1, 0, 0, 0, 0]));
        assert_eq!(other.games, seen.games.of_opponent());
        let colors = standings.by_color(PlayerId(1));
        assert_eq!(colors.white, Tally { wins: 0, draws: 1, losses: 1 });
        assert_eq!(colors.black, Tally { wins: 0, draws: 1, losses: 2 });
    }
}
