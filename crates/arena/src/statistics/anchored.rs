use super::{
    Encounter, PoolError, PoolRating, Z95, expected_score,
    pool::{even_game_part, games_of, games_of_all},
    rating::{ELO_PER_LOGIT, squares},
    square::Square,
};

/// Nobody is expected further than this from the anchors' average, in Elo: a prior that keeps a player finite who won or
/// lost every game, and that weighs less than a fiftieth of an even game.
const FAR: f64 = 1200.0;

/// Rates players from the games they played against each other and against some whose ratings are known: the likeliest
/// ratings of all of them together, with a draw as half a win and half a loss. Anchors keep their ratings.
///
/// Every player gets a rating. One who won or lost every game gets a far one with a wide interval, by a weak prior (normal,
/// 1200 Elo wide, around the anchors' average). Intervals come from the scatter of the results around what the fit
/// expects. The anchors are taken to be certain.
///
/// # Errors
/// When an encounter or an anchor names a player that is not there, or there is no anchor.
pub fn rate_with_anchors(
    players: usize,
    encounters: &[Encounter],
    anchors: &[(usize, f64)],
) -> Result<Vec<PoolRating>, PoolError> {
    for Encounter { first, second, .. } in encounters.iter().copied() {
        if first >= players || second >= players || first == second {
            return Err(PoolError::NoSuchEncounter { first, second, players });
        }
    }
    if let Some((player, _)) = anchors.iter().find(|(player, _)| *player >= players) {
        return Err(PoolError::LooseAnchor(*player));
    }
    if anchors.is_empty() {
        return Err(PoolError::LooseAnchor(0));
    }
    let centre = anchors.iter().map(|(_, rating)| rating / ELO_PER_LOGIT).sum::<f64>() / anchors.len() as f64;
    let mut logits = vec![centre; players];
    let mut free: Vec<usize> = (0..players).collect();
    for (player, rating) in anchors {
        logits[*player] = rating / ELO_PER_LOGIT;
        free.retain(|other| other != player);
    }
    let fit = Fit { encounters, free: &free, centre };
    for _ in 0..200 {
        let step = fit.information(&logits).inverse().times(&fit.gradient(&logits));
        let before = fit.likelihood(&logits);
        let mut length = 1.0;
        let next = loop {
            let mut next = logits.clone();
            for (player, step) in free.iter().zip(&step) {
                next[*player] += length * step;
            }
            if fit.likelihood(&next) >= before || length < 1e-9 {
                break next;
            }
            length *= 0.5;
        };
        let moved = logits.iter().zip(&next).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        logits = next;
        if moved < 1e-10 {
            break;
        }
    }
    let inverse = fit.information(&logits).inverse();
    let covariance = inverse.product(&fit.scatter(&logits)).product(&inverse);
    let rating = |player: usize| {
        let rating = logits[player] * ELO_PER_LOGIT;
        let place = free.iter().position(|other| *other == player);
        let variance = place.map_or(0.0, |place| covariance.at(place, place).max(0.0));
        let error = Z95 * libm::sqrt(variance) * ELO_PER_LOGIT;
        PoolRating {
            rating: Some(rating),
            low: Some(rating - error),
            high: Some(rating + error),
            games: games_of(player, encounters),
        }
    };
    Ok((0..players).map(rating).collect())
}

/// What is fitted: the logits of the free players.
struct Fit<'a> {
    encounters: &'a [Encounter],
    free: &'a [usize],
    /// The middle of the prior, in logits.
    centre: f64,
}

/// The prior's precision, in logits.
const PRIOR: f64 = (ELO_PER_LOGIT / FAR) * (ELO_PER_LOGIT / FAR);

impl Fit<'_> {
    fn likelihood(&self, logits: &[f64]) -> f64 {
        let of_games = |e: &Encounter| {
            let gap = logits[e.first] - logits[e.second];
            let softplus = gap.max(0.0) + libm::log1p(libm::exp(-gap.abs()));
            e.games.points() * gap - e.games.games() as f64 * softplus
        };
        let of_player = |player: &usize| -0.5 * PRIOR * (logits[*player] - self.centre).powi(2);
        self.encounters.iter().map(of_games).sum::<f64>() + self.free.iter().map(of_player).sum::<f64>()
    }

    fn gradient(&self, logits: &[f64]) -> Vec<f64> {
        let mut gradient = vec![0.0; logits.len()];
        for e in self.encounters {
            let surplus = e.games.points() - e.games.games() as f64 * expected(logits, e);
            gradient[e.first] += surplus;
            gradient[e.second] -= surplus;
        }
        self.free.iter().map(|&player| gradient[player] - PRIOR * (logits[player] - self.centre)).collect()
    }

    /// Minus the second derivative of the likelihood.
    fn information(&self, logits: &[f64]) -> Square {
        self.sum(|e| {
            let expected = expected(logits, e);
            e.games.games() as f64 * expected * (1.0 - expected)
        })
    }

    /// How far the results really lie from what was expected.
    fn scatter(&self, logits: &[f64]) -> Square {
        let games = games_of_all(logits.len(), self.encounters);
        self.sum(|e| squares(e.games, expected(logits, e)) + even_game_part(e, &games))
    }

    /// The sum of `weight * (e_i - e_j)(e_i - e_j)^T` over the free players, and the prior.
    fn sum(&self, weight: impl Fn(&Encounter) -> f64) -> Square {
        let place = |player: usize| self.free.iter().position(|other| *other == player);
        let mut matrix = Square::zero(self.free.len());
        for at in 0..self.free.len() {
            *matrix.cell(at, at) = PRIOR;
        }
        for e in self.encounters {
            let (weight, first, second) = (weight(e), place(e.first), place(e.second));
            for at in [first, second].into_iter().flatten() {
                *matrix.cell(at, at) += weight;
            }
            if let (Some(first), Some(second)) = (first, second) {
                *matrix.cell(first, second) -= weight;
                *matrix.cell(second, first) -= weight;
            }
        }
        matrix
    }
}

fn expected(logits: &[f64], e: &Encounter) -> f64 {
    expected_score((logits[e.first] - logits[e.second]) * ELO_PER_LOGIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Against, Tally, rate_against};

    fn met(first: usize, second: usize, wins: u64, draws: u64, losses: u64) -> Encounter {
        Encounter { first, second, games: Tally { wins, draws, losses } }
    }

    #[test]
    fn one_player_against_anchors_is_rated_as_alone() {
        let against = [(1500.0, 60, 20, 20), (1700.0, 40, 10, 50)];
        let alone: Vec<Against> = against
            .iter()
            .map(|&(rating, wins, draws, losses)| Against { rating, games: Tally { wins, draws, losses } })
            .collect();
        let expected = rate_against(&alone).unwrap();
        let encounters = [met(2, 0, 60, 20, 20), met(2, 1, 40, 10, 50)];
        let rated = rate_with_anchors(3, &encounters, &[(0, 1500.0), (1, 1700.0)]).unwrap();
        assert_eq!(
            (rated[0].rating, rated[0].low, rated[1].high),
            (Some(1500.0), Some(1500.0), Some(1700.0))
        );
        assert!((rated[2].rating.unwrap() - expected.rating.unwrap()).abs() < 0.5, "{rated:?}");
        let width = |low: Option<f64>, high: Option<f64>| high.unwrap() - low.unwrap();
        let ratio = width(rated[2].low, rated[2].high) / width(expected.low, expected.high);
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_chain_reaches_below_the_anchors_and_grows_less_sure() {
        // The anchor beat 1, 1 beat 2, 2 beat 3: each by three to one, 191 Elo.
        let encounters = [met(0, 1, 75, 0, 25), met(1, 2, 75, 0, 25), met(2, 3, 75, 0, 25)];
        let rated = rate_with_anchors(4, &encounters, &[(0, 1350.0)]).unwrap();
        for (player, expected) in [(1, 1159.0), (2, 968.0), (3, 777.0)] {
            assert!((rated[player].rating.unwrap() - expected).abs() < 4.0, "{player}: {:?}", rated[player]);
        }
        let width = |player: usize| rated[player].high.unwrap() - rated[player].low.unwrap();
        assert!(width(1) < width(2) && width(2) < width(3));
    }

    #[test]
    fn who_lost_every_game_is_far_below_and_finite() {
        let rated = rate_with_anchors(3, &[met(0, 1, 20, 0, 0)], &[(0, 1500.0)]).unwrap();
        let low = rated[1].rating.unwrap();
        assert!((0.0..1200.0).contains(&low), "{low}");
        assert_eq!(rated[2].rating.map(f64::round), Some(1500.0), "no games: the prior alone");
    }

    #[test]
    fn a_few_draws_do_not_prove_a_rating() {
        let drawn = rate_with_anchors(2, &[met(0, 1, 0, 20, 0)], &[(0, 1500.0)]).unwrap();
        let alone =
            rate_against(&[Against { rating: 1500.0, games: Tally { draws: 20, ..Tally::default() } }]);
        let width = |low: Option<f64>, high: Option<f64>| high.unwrap() - low.unwrap();
        let (ours, expected) = (width(drawn[1].low, drawn[1].high), alone.unwrap());
        assert!(ours > 0.9 * width(expected.low, expected.high), "{ours} {expected:?}");
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(rate_with_anchors(2, &[], &[]).unwrap_err(), PoolError::LooseAnchor(0));
        assert_eq!(rate_with_anchors(2, &[], &[(2, 0.0)]).unwrap_err(), PoolError::LooseAnchor(2));
        assert!(rate_with_anchors(2, &[met(1, 1, 1, 0, 0)], &[(0, 0.0)]).is_err());
    }
}
