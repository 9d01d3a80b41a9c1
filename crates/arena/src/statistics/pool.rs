use serde::Serialize;

use super::{
    Tally, Z95, expected_score,
    matrix::Matrix,
    rating::{Against, ELO_PER_LOGIT, EVEN_GAME_VARIANCE, rate_against, squared_errors},
};

/// Games between two players of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct HeadToHead {
    /// Index of the first player.
    pub first: usize,
    /// Index of the second player.
    pub second: usize,
    /// Games from the first player's point of view.
    pub games: Tally,
}

/// Rating of a player with its 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PoolRating {
    /// Rating; `None` for players who won all games, lost all games or played none, for whom only bounds are known.
    pub rating: Option<f64>,
    /// Lower bound.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
    /// All games of the player.
    pub games: Tally,
}

/// Error of a rating fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// Games of unknown players, or of a player against itself.
    #[error(
        "invalid pairing of players {first} and {second} (expected two different players below {players})"
    )]
    InvalidPlayers {
        /// First player.
        first: usize,
        /// Second player.
        second: usize,
        /// Number of players.
        players: usize,
    },
    /// The anchor is not connected to the other players.
    #[error("invalid anchor {0}: no games connect it to the other players")]
    UnconnectedAnchor(usize),
}

/// Bradley-Terry ratings from the games that players played against each other, with draws as half a win and half a loss:
/// the expected points of every rated player equal the points scored. The average rating is zero.
///
/// Ratings exist within strongly connected groups of players, with an edge for every point scored. The largest group is
/// rated; players outside of it get the bound that follows from their games against it. Intervals use the observed
/// variance of the results, so draws make them narrower.
///
/// # Errors
/// If a pairing is invalid.
pub fn rate_pool(players: usize, pairings: &[HeadToHead]) -> Result<Vec<PoolRating>, PoolError> {
    check_players(players, pairings)?;
    let group = largest_group(players, pairings);
    let mut rated = vec![None; players];
    for (place, player) in group.iter().enumerate() {
        rated[*player] = Some(place);
    }
    let inside: Vec<HeadToHead> = pairings
        .iter()
        .filter_map(|e| Some(HeadToHead { first: rated[e.first]?, second: rated[e.second]?, games: e.games }))
        .filter(|e| e.games.games() > 0)
        .collect();
    let fit = fit(group.len(), &inside);
    let covariance = covariance(&fit, &inside);
    let rating = |player: usize| {
        let games = games_of(player, pairings);
        let Some(place) = rated[player] else {
            return bounds(player, pairings, |other| rated[other].map(|place| fit[place]), games);
        };
        let error = Z95 * libm::sqrt(covariance.at(place, place).max(0.0)) * ELO_PER_LOGIT;
        let rating = fit[place];
        PoolRating { rating: Some(rating), low: Some(rating - error), high: Some(rating + error), games }
    };
    Ok((0..players).map(rating).collect())
}

pub(super) fn check_players(players: usize, pairings: &[HeadToHead]) -> Result<(), PoolError> {
    let valid = |e: &&HeadToHead| e.first < players && e.second < players && e.first != e.second;
    match pairings.iter().find(|pairing| !valid(pairing)) {
        Some(&HeadToHead { first, second, .. }) => Err(PoolError::InvalidPlayers { first, second, players }),
        None => Ok(()),
    }
}

/// Share of [`EVEN_GAME_VARIANCE`] for a pairing: its fraction of the games of the player with fewer games. Every player
/// gets at least that variance in total, so that no interval closes because a few games were all drawn.
///
/// `games` are the numbers of games of all players.
pub(super) fn even_game_variance(pairing: &HeadToHead, games: &[u64]) -> f64 {
    let fewest = games[pairing.first].min(games[pairing.second]);
    EVEN_GAME_VARIANCE * pairing.games.games() as f64 / fewest.max(1) as f64
}

/// Number of games of each player.
pub(super) fn games_of_all(players: usize, pairings: &[HeadToHead]) -> Vec<u64> {
    let mut games = vec![0; players];
    for pairing in pairings {
        games[pairing.first] += pairing.games.games();
        games[pairing.second] += pairing.games.games();
    }
    games
}

/// All games of a player.
pub(super) fn games_of(player: usize, pairings: &[HeadToHead]) -> Tally {
    let mut games = Tally::default();
    for pairing in pairings {
        if pairing.first == player {
            games += pairing.games;
        } else if pairing.second == player {
            games += pairing.games.inverted();
        }
    }
    games
}

/// Bounds of an unrated player from its games against rated ones, which were all won or all lost.
fn bounds(
    player: usize,
    pairings: &[HeadToHead],
    rating: impl Fn(usize) -> Option<f64>,
    games: Tally,
) -> PoolRating {
    let against: Vec<Against> = pairings
        .iter()
        .filter_map(|e| {
            if e.first == player {
                Some(Against { rating: rating(e.second)?, games: e.games })
            } else if e.second == player {
                Some(Against { rating: rating(e.first)?, games: e.games.inverted() })
            } else {
                None
            }
        })
        .collect();
    let estimate = rate_against(&against);
    PoolRating {
        rating: None,
        low: estimate.and_then(|estimate| estimate.low),
        high: estimate.and_then(|estimate| estimate.high),
        games,
    }
}

/// The largest strongly connected group of players, with an edge for every point scored.
fn largest_group(players: usize, pairings: &[HeadToHead]) -> Vec<usize> {
    let mut reaches = vec![vec![false; players]; players];
    for (player, row) in reaches.iter_mut().enumerate() {
        row[player] = true;
    }
    for HeadToHead { first, second, games } in pairings {
        reaches[*first][*second] |= games.wins + games.draws > 0;
        reaches[*second][*first] |= games.losses + games.draws > 0;
    }
    for via in 0..players {
        let onward = reaches[via].clone();
        for row in reaches.iter_mut().filter(|row| row[via]) {
            row.iter_mut().zip(&onward).for_each(|(to, onward)| *to |= onward);
        }
    }
    let group_of = |player: usize| -> Vec<usize> {
        (0..players).filter(|other| reaches[player][*other] && reaches[*other][player]).collect()
    };
    let mut largest = Vec::new();
    for player in 0..players {
        let group = group_of(player);
        if group.len() > largest.len() {
            largest = group;
        }
    }
    largest
}

/// Maximum-likelihood ratings in Elo with an average of zero.
fn fit(players: usize, pairings: &[HeadToHead]) -> Vec<f64> {
    let step = |logits: &[f64]| {
        curvature(logits, pairings).inverse_laplacian().times(&likelihood_gradient(logits, pairings))
    };
    let logits = newton(vec![0.0; players], 1e-12, 1e-12, |logits| log_likelihood(logits, pairings), step);
    let average = logits.iter().sum::<f64>() / players.max(1) as f64;
    logits.iter().map(|logit| (logit - average) * ELO_PER_LOGIT).collect()
}

/// Maximises a concave function by Newton's method, halving each step until the value grows or the step is shorter than
/// `min_length`. Stops when nothing moves by more than `tolerance`.
pub(super) fn newton(
    mut point: Vec<f64>,
    tolerance: f64,
    min_length: f64,
    value: impl Fn(&[f64]) -> f64,
    step: impl Fn(&[f64]) -> Vec<f64>,
) -> Vec<f64> {
    for _ in 0..200 {
        let step = step(&point);
        let before = value(&point);
        let mut length = 1.0;
        let next = loop {
            let next: Vec<f64> = point.iter().zip(&step).map(|(at, step)| at + length * step).collect();
            if value(&next) >= before || length < min_length {
                break next;
            }
            length *= 0.5;
        };
        let moved = point.iter().zip(&next).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        point = next;
        if moved < tolerance {
            break;
        }
    }
    point
}

pub(super) fn log_likelihood(logits: &[f64], pairings: &[HeadToHead]) -> f64 {
    let each = |e: &HeadToHead| {
        let gap = logits[e.first] - logits[e.second];
        e.games.points() * gap - e.games.games() as f64 * softplus(gap)
    };
    pairings.iter().map(each).sum()
}

/// Points scored minus points expected, by player.
pub(super) fn likelihood_gradient(logits: &[f64], pairings: &[HeadToHead]) -> Vec<f64> {
    let mut gradient = vec![0.0; logits.len()];
    for e in pairings {
        let surplus = e.games.points() - e.games.games() as f64 * expected(logits, e);
        gradient[e.first] += surplus;
        gradient[e.second] -= surplus;
    }
    gradient
}

/// `log(1 + e^x)` without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + libm::log1p(libm::exp(-x.abs()))
}

/// Expected score of the first player.
pub(super) fn expected(logits: &[f64], e: &HeadToHead) -> f64 {
    expected_score((logits[e.first] - logits[e.second]) * ELO_PER_LOGIT)
}

/// Fisher information of the logits.
fn curvature(logits: &[f64], pairings: &[HeadToHead]) -> Matrix {
    Matrix::laplacian(
        logits.len(),
        pairings.iter().map(|e| {
            let expected = expected(logits, e);
            (e.first, e.second, e.games.games() as f64 * expected * (1.0 - expected))
        }),
    )
}

/// Covariance of the fitted logits: sandwich estimate from inverse information and observed variance.
fn covariance(ratings: &[f64], pairings: &[HeadToHead]) -> Matrix {
    let logits: Vec<f64> = ratings.iter().map(|rating| rating / ELO_PER_LOGIT).collect();
    let games = games_of_all(logits.len(), pairings);
    let scatter = Matrix::laplacian(
        logits.len(),
        pairings.iter().map(|e| {
            let squares = squared_errors(e.games, expected(&logits, e));
            (e.first, e.second, squares + even_game_variance(e, &games))
        }),
    );
    let inverse = curvature(&logits, pairings).inverse_laplacian();
    inverse.product(&scatter).product(&inverse)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    fn met(first: usize, second: usize, wins: u64, draws: u64, losses: u64) -> HeadToHead {
        HeadToHead { first, second, games: Tally { wins, draws, losses } }
    }

    #[derive(Deserialize)]
    struct Golden {
        players: usize,
        /// First, second, wins, draws, losses.
        #[serde(rename = "encounters")]
        pairings: Vec<(usize, usize, u64, u64, u64)>,
        ratings: Vec<f64>,
        errors: Vec<f64>,
    }

    #[test]
    fn ratings_match_an_independent_implementation() {
        let goldens: Vec<Golden> =
            serde_json::from_str(include_str!("../../../../fixtures/arena/pool.json")).unwrap();
        assert!(goldens.len() >= 3);
        for golden in goldens {
            let pairings: Vec<HeadToHead> =
                golden.pairings.iter().map(|&(a, b, w, d, l)| met(a, b, w, d, l)).collect();
            let pool = rate_pool(golden.players, &pairings).unwrap();
            for (place, ours) in pool.iter().enumerate() {
                let error = (ours.high.unwrap() - ours.low.unwrap()) / 2.0;
                assert!((ours.rating.unwrap() - golden.ratings[place]).abs() < 1e-3, "{place}: {ours:?}");
                assert!(
                    (error - golden.errors[place]).abs() < 1e-3,
                    "{place}: {error} {}",
                    golden.errors[place]
                );
            }
        }
    }

    #[test]
    fn two_players_differ_by_their_match_score() {
        let pool = rate_pool(2, &[met(0, 1, 75, 0, 25)]).unwrap();
        assert!((pool[0].rating.unwrap() - pool[1].rating.unwrap() - 190.848_501).abs() < 1e-4);
    }

    #[test]
    fn connected_players_are_rated_and_others_bounded() {
        // 0 beat everybody, 4 lost to everybody, 1 to 3 took points from each other.
        let pairings = [
            met(0, 1, 10, 0, 0),
            met(0, 2, 10, 0, 0),
            met(1, 2, 6, 2, 2),
            met(2, 3, 5, 4, 1),
            met(3, 1, 3, 2, 5),
            met(4, 3, 0, 0, 10),
        ];
        let pool = rate_pool(6, &pairings).unwrap();
        let of = |player: usize| pool[player];
        assert_eq!((of(0).rating, of(0).high), (None, None));
        assert!(of(0).low.unwrap() > of(1).rating.unwrap());
        assert_eq!((of(4).rating, of(4).low), (None, None));
        assert!(of(4).high.unwrap() < of(3).rating.unwrap());
        assert_eq!((of(5).rating, of(5).low, of(5).high), (None, None, None), "played nobody");
        let average = (1..4).map(|player| of(player).rating.unwrap()).sum::<f64>() / 3.0;
        assert!(average.abs() < 1e-9);
        assert_eq!(of(1).games, Tally { wins: 11, draws: 4, losses: 15 });
    }

    #[test]
    fn extreme_results_are_finite() {
        for pairings in [vec![], vec![met(0, 1, 5, 0, 0)], vec![met(0, 1, 0, 7, 0)], vec![met(0, 1, 0, 0, 0)]]
        {
            for rating in rate_pool(2, &pairings).unwrap() {
                for number in [rating.rating, rating.low, rating.high].into_iter().flatten() {
                    assert!(number.is_finite(), "{pairings:?}: {rating:?}");
                }
            }
        }
        let width = |rating: &PoolRating| rating.high.unwrap() - rating.low.unwrap();
        assert!(width(&rate_pool(2, &[met(0, 1, 0, 7, 0)]).unwrap()[0]) > 50.0, "seven draws");
        // Two draws, however many games the others play.
        let drawn = rate_pool(3, &[met(0, 1, 0, 2, 0), met(1, 2, 400, 200, 300)]).unwrap();
        assert!(width(&drawn[0]) > 100.0, "{drawn:?}");
        assert!(rate_pool(0, &[]).unwrap().is_empty());
    }

    #[test]
    fn invalid_input_is_rejected() {
        let error = rate_pool(2, &[met(0, 2, 1, 0, 0)]).unwrap_err();
        assert_eq!(error, PoolError::InvalidPlayers { first: 0, second: 2, players: 2 });
    }
}
