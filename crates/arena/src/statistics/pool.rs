use serde::Serialize;

use super::{
    Tally, Z95, expected_score, normal_share_below,
    rating::{Against, ELO_PER_LOGIT, ONE_EVEN_GAME, rate_against, squares},
    square::Square,
};

/// The games two players of a pool played against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Encounter {
    /// A player, by place in the pool.
    pub first: usize,
    /// The other player.
    pub second: usize,
    /// The games as the first player sees them.
    pub games: Tally,
}

/// What fixes the scale: games tell differences only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Anchor {
    /// The rated players have this rating on average.
    Average(f64),
    /// This player has this rating.
    Player {
        /// The player, by place in the pool.
        player: usize,
        /// The rating.
        rating: f64,
    },
}

/// One player's rating with its 95% interval, relative to the anchor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PoolRating {
    /// The rating. `None` for a player whom the others' games do not hold on both sides: one who won every game, lost
    /// every game, or played none. What is known then are the bounds.
    pub rating: Option<f64>,
    /// The lower bound.
    pub low: Option<f64>,
    /// The upper bound.
    pub high: Option<f64>,
    /// All games of the player.
    pub games: Tally,
}

/// The ratings of players who played each other: a Bradley-Terry fit with a draw as half a win and half a loss, so
/// that every rated player's expected points are the points taken.
#[derive(Clone, Debug, PartialEq)]
pub struct RatingPool {
    /// The players' ratings, by place in the pool.
    pub ratings: Vec<PoolRating>,
    /// The place of each player among the rated ones.
    rated: Vec<Option<usize>>,
    /// Of the rated players' ratings, in squares of Elo, up to a common shift.
    covariance: Square,
}

/// How much stronger one player of a pool is than another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RatingDifference {
    /// The difference in Elo.
    pub elo: f64,
    /// Half the width of the 95% interval.
    pub error: f64,
    /// How likely the first player is the stronger one.
    pub superiority: f64,
}

/// Games that cannot be rated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// An encounter names a player who is not there, or a player against itself.
    #[error("an encounter of players {first} and {second} in a pool of {players}")]
    NoSuchEncounter {
        /// The first player named.
        first: usize,
        /// The second player named.
        second: usize,
        /// How many there are.
        players: usize,
    },
    /// The anchor is not among the players whose ratings hang together.
    #[error("player {0} cannot be the anchor: the games do not tie it to the others")]
    LooseAnchor(usize),
}

/// Rates players from the games they played against each other.
///
/// Ratings exist where everybody can be reached from everybody by points taken. The largest such group is rated (the
/// earliest, of equal ones); a player outside it gets the bound its games against the group give. Intervals come from
/// the scatter of the results around what the fit expects, so draws make them narrower.
///
/// # Errors
/// When an encounter names a player that is not there, or the anchor cannot be rated.
pub fn rate_pool(players: usize, encounters: &[Encounter], anchor: Anchor) -> Result<RatingPool, PoolError> {
    for Encounter { first, second, .. } in encounters.iter().copied() {
        if first >= players || second >= players || first == second {
            return Err(PoolError::NoSuchEncounter { first, second, players });
        }
    }
    let group = largest_group(players, encounters);
    let mut rated = vec![None; players];
    for (place, player) in group.iter().enumerate() {
        rated[*player] = Some(place);
    }
    let inside: Vec<Encounter> = encounters
        .iter()
        .filter_map(|e| Some(Encounter { first: rated[e.first]?, second: rated[e.second]?, games: e.games }))
        .filter(|e| e.games.games() > 0)
        .collect();
    let mut fit = fit(group.len(), &inside);
    let covariance = covariance(&fit, &inside);
    let shift = match anchor {
        // The fit's average is zero.
        Anchor::Average(rating) => rating,
        Anchor::Player { player, rating } => {
            let place = rated.get(player).copied().flatten().ok_or(PoolError::LooseAnchor(player))?;
            rating - fit[place]
        }
    };
    fit.iter_mut().for_each(|rating| *rating += shift);
    let variance = |place: usize| match anchor {
        Anchor::Average(_) => covariance.at(place, place),
        Anchor::Player { player, .. } => {
            rated[player].map_or(0.0, |anchor| covariance.of_difference(place, anchor))
        }
    };
    let ratings = (0..players)
        .map(|player| {
            let games = games_of(player, encounters);
            match rated[player] {
                Some(place) => {
                    let error = Z95 * libm::sqrt(variance(place).max(0.0));
                    let rating = fit[place];
                    PoolRating {
                        rating: Some(rating),
                        low: Some(rating - error),
                        high: Some(rating + error),
                        games,
                    }
                }
                None => bounds(player, encounters, |other| rated[other].map(|place| fit[place]), games),
            }
        })
        .collect();
    Ok(RatingPool { ratings, rated, covariance })
}

impl RatingPool {
    /// How much stronger `first` is than `second`; `None` when one of them has no rating.
    pub fn difference(&self, first: usize, second: usize) -> Option<RatingDifference> {
        let place = |player: usize| self.rated.get(player).copied().flatten();
        let rating = |player: usize| self.ratings.get(player).and_then(|rating| rating.rating);
        let elo = rating(first)? - rating(second)?;
        let deviation = libm::sqrt(self.covariance.of_difference(place(first)?, place(second)?).max(0.0));
        let superiority = if deviation > 0.0 { normal_share_below(elo / deviation) } else { 0.5 };
        Some(RatingDifference { elo, error: Z95 * deviation, superiority })
    }
}

/// What of [`ONE_EVEN_GAME`] goes to an encounter: its share in the games of the player who has fewer. So everybody's games
/// together get at least that much, and nobody's interval closes because all of a few games were drawn.
///
/// `games` are the numbers of games of all players.
pub(super) fn even_game_part(encounter: &Encounter, games: &[u64]) -> f64 {
    let fewest = games[encounter.first].min(games[encounter.second]);
    ONE_EVEN_GAME * encounter.games.games() as f64 / fewest.max(1) as f64
}

/// How many games each player has.
pub(super) fn games_of_all(players: usize, encounters: &[Encounter]) -> Vec<u64> {
    let mut games = vec![0; players];
    for encounter in encounters {
        games[encounter.first] += encounter.games.games();
        games[encounter.second] += encounter.games.games();
    }
    games
}

/// All games of a player.
pub(super) fn games_of(player: usize, encounters: &[Encounter]) -> Tally {
    let mut games = Tally::default();
    for encounter in encounters {
        if encounter.first == player {
            games += encounter.games;
        } else if encounter.second == player {
            games += encounter.games.of_opponent();
        }
    }
    games
}

/// What the games of an unrated player against rated ones say: they were all won, all lost, or there are none.
fn bounds(
    player: usize,
    encounters: &[Encounter],
    rating: impl Fn(usize) -> Option<f64>,
    games: Tally,
) -> PoolRating {
    let against: Vec<Against> = encounters
        .iter()
        .filter_map(|e| {
            if e.first == player {
                Some(Against { rating: rating(e.second)?, games: e.games })
            } else if e.second == player {
                Some(Against { rating: rating(e.first)?, games: e.games.of_opponent() })
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

/// The largest set of players among whom everybody can be reached from everybody by points taken, in order.
fn largest_group(players: usize, encounters: &[Encounter]) -> Vec<usize> {
    let mut reaches = vec![vec![false; players]; players];
    for (player, row) in reaches.iter_mut().enumerate() {
        row[player] = true;
    }
    for Encounter { first, second, games } in encounters {
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

/// The likeliest ratings in Elo, zero on average: Newton's method with the step halved until the likelihood grows,
/// which it always reaches because the likelihood is concave.
fn fit(players: usize, encounters: &[Encounter]) -> Vec<f64> {
    let mut logits = vec![0.0; players];
    let likelihood = |logits: &[f64]| -> f64 {
        let each = |e: &Encounter| {
            let gap = logits[e.first] - logits[e.second];
            let points = e.games.points();
            points * gap - e.games.games() as f64 * softplus(gap)
        };
        encounters.iter().map(each).sum()
    };
    for _ in 0..200 {
        let mut gradient = vec![0.0; players];
        for e in encounters {
            let surplus = e.games.points() - e.games.games() as f64 * expected(&logits, e);
            gradient[e.first] += surplus;
            gradient[e.second] -= surplus;
        }
        let step = curvature(&logits, encounters).inverse_laplacian().times(&gradient);
        let before = likelihood(&logits);
        let mut length = 1.0;
        let next = loop {
            let next: Vec<f64> = logits.iter().zip(&step).map(|(at, step)| at + length * step).collect();
            if likelihood(&next) >= before || length < 1e-12 {
                break next;
            }
            length *= 0.5;
        };
        let moved = logits.iter().zip(&next).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        logits = next;
        if moved < 1e-12 {
            break;
        }
    }
    let average = logits.iter().sum::<f64>() / players.max(1) as f64;
    logits.iter().map(|logit| (logit - average) * ELO_PER_LOGIT).collect()
}

/// `log(1 + e^x)` without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + libm::log1p(libm::exp(-x.abs()))
}

fn expected(logits: &[f64], e: &Encounter) -> f64 {
    expected_score((logits[e.first] - logits[e.second]) * ELO_PER_LOGIT)
}

/// The information the games hold about the logits.
fn curvature(logits: &[f64], encounters: &[Encounter]) -> Square {
    Square::laplacian(
        logits.len(),
        encounters.iter().map(|e| {
            let expected = expected(logits, e);
            (e.first, e.second, e.games.games() as f64 * expected * (1.0 - expected))
        }),
    )
}

/// How uncertain the fitted ratings (in Elo) are: the inverse information, corrected for how much the results really
/// scatter (the "sandwich" estimate).
fn covariance(ratings: &[f64], encounters: &[Encounter]) -> Square {
    let logits: Vec<f64> = ratings.iter().map(|rating| rating / ELO_PER_LOGIT).collect();
    let games = games_of_all(logits.len(), encounters);
    let scatter = Square::laplacian(
        logits.len(),
        encounters.iter().map(|e| {
            let squares = squares(e.games, expected(&logits, e));
            (e.first, e.second, squares + even_game_part(e, &games))
        }),
    );
    let inverse = curvature(&logits, encounters).inverse_laplacian();
    let mut covariance = inverse.product(&scatter).product(&inverse);
    covariance.scale(ELO_PER_LOGIT * ELO_PER_LOGIT);
    covariance
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    fn met(first: usize, second: usize, wins: u64, draws: u64, losses: u64) -> Encounter {
        Encounter { first, second, games: Tally { wins, draws, losses } }
    }

    #[derive(Deserialize)]
    struct Golden {
        players: usize,
        /// First, second, wins, draws, losses.
        encounters: Vec<(usize, usize, u64, u64, u64)>,
        ratings: Vec<f64>,
        errors: Vec<f64>,
    }

    #[test]
    fn pools_are_those_computed_independently() {
        let goldens: Vec<Golden> =
            serde_json::from_str(include_str!("../../../../fixtures/arena/pool.json")).unwrap();
        assert!(goldens.len() >= 3);
        for golden in goldens {
            let encounters: Vec<Encounter> =
                golden.encounters.iter().map(|&(a, b, w, d, l)| met(a, b, w, d, l)).collect();
            let pool = rate_pool(golden.players, &encounters, Anchor::Average(0.0)).unwrap();
            for (place, ours) in pool.ratings.iter().enumerate() {
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
    fn two_players_are_as_far_apart_as_their_match_says() {
        let pool =
            rate_pool(2, &[met(0, 1, 75, 0, 25)], Anchor::Player { player: 1, rating: 1500.0 }).unwrap();
        assert!((pool.ratings[0].rating.unwrap() - 1_690.848_501).abs() < 1e-4);
        assert_eq!(pool.ratings[1].rating, Some(1500.0));
        assert_eq!(pool.ratings[1].low, Some(1500.0), "the anchor is certain");
        let difference = pool.difference(0, 1).unwrap();
        assert!((difference.elo - 190.848_501).abs() < 1e-4);
        assert!(difference.superiority > 0.999_99);
    }

    #[test]
    fn a_chain_of_draws_and_wins_is_rated_and_the_unbeaten_are_bounded() {
        // 0 beat everybody, 4 lost to everybody, 1 to 3 took points from each other.
        let encounters = [
            met(0, 1, 10, 0, 0),
            met(0, 2, 10, 0, 0),
            met(1, 2, 6, 2, 2),
            met(2, 3, 5, 4, 1),
            met(3, 1, 3, 2, 5),
            met(4, 3, 0, 0, 10),
        ];
        let pool = rate_pool(6, &encounters, Anchor::Average(1500.0)).unwrap();
        let of = |player: usize| pool.ratings[player];
        assert_eq!((of(0).rating, of(0).high), (None, None));
        assert!(of(0).low.unwrap() > of(1).rating.unwrap());
        assert_eq!((of(4).rating, of(4).low), (None, None));
        assert!(of(4).high.unwrap() < of(3).rating.unwrap());
        assert_eq!((of(5).rating, of(5).low, of(5).high), (None, None, None), "played nobody");
        let average = (1..4).map(|player| of(player).rating.unwrap()).sum::<f64>() / 3.0;
        assert!((average - 1500.0).abs() < 1e-9);
        assert_eq!(pool.difference(0, 1), None);
        assert_eq!(of(1).games, Tally { wins: 11, draws: 4, losses: 15 });
    }

    #[test]
    fn nothing_is_nan_at_the_extremes() {
        for encounters in
            [vec![], vec![met(0, 1, 5, 0, 0)], vec![met(0, 1, 0, 7, 0)], vec![met(0, 1, 0, 0, 0)]]
        {
            let pool = rate_pool(2, &encounters, Anchor::Average(0.0)).unwrap();
            for rating in &pool.ratings {
                for number in [rating.rating, rating.low, rating.high].into_iter().flatten() {
                    assert!(number.is_finite(), "{encounters:?}: {rating:?}");
                }
            }
        }
        let drawn = rate_pool(2, &[met(0, 1, 0, 7, 0)], Anchor::Average(0.0)).unwrap();
        assert!(drawn.difference(0, 1).unwrap().error > 50.0, "seven draws do not prove equality");
        // Nor do two, however many games the others play.
        let few = [met(0, 1, 0, 2, 0), met(1, 2, 400, 200, 300)];
        let drawn = rate_pool(3, &few, Anchor::Average(0.0)).unwrap();
        assert!(drawn.difference(0, 1).unwrap().error > 50.0, "{:?}", drawn.difference(0, 1));
        assert!(rate_pool(0, &[], Anchor::Average(0.0)).unwrap().ratings.is_empty());
    }

    #[test]
    fn mistakes_are_named() {
        let error = rate_pool(2, &[met(0, 2, 1, 0, 0)], Anchor::Average(0.0)).unwrap_err();
        assert_eq!(error.to_string(), "an encounter of players 0 and 2 in a pool of 2");
        let anchor = Anchor::Player { player: 1, rating: 1500.0 };
        let error = rate_pool(2, &[met(0, 1, 5, 0, 0)], anchor).unwrap_err();
        assert_eq!(error, PoolError::LooseAnchor(1));
    }
}
