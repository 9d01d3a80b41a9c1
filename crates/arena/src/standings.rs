use std::collections::BTreeMap;

use shakmaty::{ByColor, Color};

use crate::{
    GameRecord, GameResult, PlayerId,
    statistics::{EloEstimate, HeadToHead, Pairs, Points, PoolError, PoolRating, Tally, rate_pool},
};

/// Result of a game for [`Standings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultRow {
    /// Players.
    pub players: ByColor<PlayerId>,
    /// Result.
    pub result: GameResult,
    /// Identifier shared by two games on one opening with reversed colours; `None` for single games.
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

/// Results of all players against each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Standings {
    names: Vec<String>,
    by_color: Vec<ByColor<Tally>>,
    /// By pairing with the lower id first, from its point of view.
    between: BTreeMap<(PlayerId, PlayerId), MatchScore>,
    /// First games of incomplete pairs: the player with White, and the points of the lower id.
    waiting: BTreeMap<(PlayerId, PlayerId, u64), (PlayerId, Points)>,
}

/// Results of two players from the point of view of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchScore {
    /// All games.
    pub games: Tally,
    /// Complete pairs.
    pub pairs: Pairs,
}

impl MatchScore {
    /// Number of games outside of pairs.
    pub fn unpaired(&self) -> u64 {
        self.games.games() - 2 * self.pairs.pairs()
    }

    /// Elo difference from pairs, or from single games if most games are not paired; `None` without games.
    pub fn elo(&self) -> Option<EloEstimate> {
        if self.unpaired() > 2 * self.pairs.pairs() { self.games.elo() } else { self.pairs.elo() }
    }

    fn inverted(self) -> MatchScore {
        let mut counts = self.pairs.0;
        counts.reverse();
        MatchScore { games: self.games.inverted(), pairs: Pairs(counts) }
    }
}

impl Standings {
    /// No games.
    pub fn new(names: Vec<String>) -> Standings {
        let by_color = vec![ByColor::default(); names.len()];
        Standings { names, by_color, between: BTreeMap::new(), waiting: BTreeMap::new() }
    }

    /// Standings of these games.
    pub fn of(names: Vec<String>, rows: impl IntoIterator<Item = ResultRow>) -> Standings {
        let mut standings = Standings::new(names);
        rows.into_iter().for_each(|row| standings.add(row));
        standings
    }

    /// Adds a game of known players.
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

    /// Player names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// All games of a player.
    pub fn overall(&self, player: PlayerId) -> Tally {
        let ByColor { white, black } = self.by_color(player);
        white + black
    }

    /// Games of a player by colour.
    pub fn by_color(&self, player: PlayerId) -> ByColor<Tally> {
        self.by_color.get(player.0).copied().unwrap_or_default()
    }

    /// Results of two players from the point of view of `player`.
    pub fn between(&self, player: PlayerId, opponent: PlayerId) -> MatchScore {
        let get = |key| self.between.get(&key).copied().unwrap_or_default();
        if player <= opponent { get((player, opponent)) } else { get((opponent, player)).inverted() }
    }

    /// Ratings fitted to all games; their average is zero.
    ///
    /// # Errors
    /// If a player has met itself.
    pub fn ratings(&self) -> Result<Vec<PoolRating>, PoolError> {
        let pairings: Vec<HeadToHead> = self
            .between
            .iter()
            .map(|((first, second), between)| HeadToHead {
                first: first.0,
                second: second.0,
                games: between.games,
            })
            .collect();
        rate_pool(self.names.len(), &pairings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(white: usize, black: usize, result: GameResult, pair: Option<u64>) -> ResultRow {
        ResultRow { players: ByColor { white: PlayerId(white), black: PlayerId(black) }, result, pair }
    }

    #[test]
    fn pairs_need_reversed_colours() {
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
        assert_eq!(other.games, seen.games.inverted());
        let colors = standings.by_color(PlayerId(1));
        assert_eq!(colors.white, Tally { wins: 0, draws: 1, losses: 1 });
        assert_eq!(colors.black, Tally { wins: 0, draws: 1, losses: 2 });
    }
}
