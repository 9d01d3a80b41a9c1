use super::{
    HeadToHead, PoolError, PoolRating, Z95,
    matrix::Matrix,
    pool::{
        check_players, even_game_variance, expected, games_of, games_of_all, likelihood_gradient,
        log_likelihood, newton,
    },
    rating::{ELO_PER_LOGIT, squared_errors},
};

/// Width of the prior in Elo. It keeps the ratings of players who won or lost all games finite, and weighs less than a
/// fiftieth of an even game.
const PRIOR_WIDTH: f64 = 1200.0;

/// Rates players from games against each other and against anchors of known rating, by maximum likelihood with draws as
/// half a win and half a loss. Anchors keep their ratings.
///
/// All players are rated. Those who won or lost all games get a distant rating with a wide interval through a weak prior
/// (normal, 1200 Elo wide, around the anchors' average). Intervals use the observed variance of the results; anchors are
/// taken as exact.
///
/// # Errors
/// If a pairing or anchor is invalid, or there is no anchor.
pub fn rate_with_anchors(
    players: usize,
    pairings: &[HeadToHead],
    anchors: &[(usize, f64)],
) -> Result<Vec<PoolRating>, PoolError> {
    check_players(players, pairings)?;
    if let Some((player, _)) = anchors.iter().find(|(player, _)| *player >= players) {
        return Err(PoolError::UnconnectedAnchor(*player));
    }
    if anchors.is_empty() {
        return Err(PoolError::UnconnectedAnchor(0));
    }
    let centre = anchors.iter().map(|(_, rating)| rating / ELO_PER_LOGIT).sum::<f64>() / anchors.len() as f64;
    let mut logits = vec![centre; players];
    let mut free: Vec<usize> = (0..players).collect();
    for (player, rating) in anchors {
        logits[*player] = rating / ELO_PER_LOGIT;
        free.retain(|other| other != player);
    }
    let fit = Fit { pairings, free: &free, centre };
    let logits = newton(logits, 1e-10, 1e-9, |logits| fit.likelihood(logits), |logits| fit.step(logits));
    let inverse = fit.information(&logits).inverse();
    let covariance = inverse.product(&fit.scatter(&logits)).product(&inverse);
    let rating = |player: usize| {
        let rating = logits[player] * ELO_PER_LOGIT;
        let index = free.iter().position(|other| *other == player);
        let variance = index.map_or(0.0, |index| covariance.at(index, index).max(0.0));
        let error = Z95 * libm::sqrt(variance) * ELO_PER_LOGIT;
        PoolRating {
            rating: Some(rating),
            low: Some(rating - error),
            high: Some(rating + error),
            games: games_of(player, pairings),
        }
    };
    Ok((0..players).map(rating).collect())
}

/// Posterior of the logits of the free players.
struct Fit<'a> {
    pairings: &'a [HeadToHead],
    free: &'a [usize],
    /// Mean of the prior in logits.
    centre: f64,
}

/// Precision of the prior in logits.
const PRIOR: f64 = (ELO_PER_LOGIT / PRIOR_WIDTH) * (ELO_PER_LOGIT / PRIOR_WIDTH);

impl Fit<'_> {
    fn likelihood(&self, logits: &[f64]) -> f64 {
        let prior = |player: &usize| -0.5 * PRIOR * (logits[*player] - self.centre).powi(2);
        log_likelihood(logits, self.pairings) + self.free.iter().map(prior).sum::<f64>()
    }

    /// Newton step of all players; zero for anchors.
    fn step(&self, logits: &[f64]) -> Vec<f64> {
        let gradient = likelihood_gradient(logits, self.pairings);
        let gradient: Vec<f64> =
            self.free.iter().map(|&at| gradient[at] - PRIOR * (logits[at] - self.centre)).collect();
        let mut step = vec![0.0; logits.len()];
        for (player, change) in self.free.iter().zip(self.information(logits).inverse().times(&gradient)) {
            step[*player] = change;
        }
        step
    }

    /// Negative Hessian of the likelihood.
    fn information(&self, logits: &[f64]) -> Matrix {
        self.sum(|e| {
            let expected = expected(logits, e);
            e.games.games() as f64 * expected * (1.0 - expected)
        })
    }

    /// Observed variance of the results.
    fn scatter(&self, logits: &[f64]) -> Matrix {
        let games = games_of_all(logits.len(), self.pairings);
        self.sum(|e| squared_errors(e.games, expected(logits, e)) + even_game_variance(e, &games))
    }

    /// The sum of `weight * (e_i - e_j)(e_i - e_j)^T` over the free players, and the prior.
    fn sum(&self, weight: impl Fn(&HeadToHead) -> f64) -> Matrix {
        let index = |player: usize| self.free.iter().position(|other| *other == player);
        let mut matrix = Matrix::zero(self.free.len());
        for at in 0..self.free.len() {
            *matrix.cell(at, at) = PRIOR;
        }
        for e in self.pairings {
            let (weight, first, second) = (weight(e), index(e.first), index(e.second));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Against, Tally, rate_against};

    fn met(first: usize, second: usize, wins: u64, draws: u64, losses: u64) -> HeadToHead {
        HeadToHead { first, second, games: Tally { wins, draws, losses } }
    }

    #[test]
    fn player_against_anchors_matches_rate_against() {
        let against = [(1500.0, 60, 20, 20), (1700.0, 40, 10, 50)];
        let alone: Vec<Against> = against
            .iter()
            .map(|&(rating, wins, draws, losses)| Against { rating, games: Tally { wins, draws, losses } })
            .collect();
        let expected = rate_against(&alone).unwrap();
        let pairings = [met(2, 0, 60, 20, 20), met(2, 1, 40, 10, 50)];
        let rated = rate_with_anchors(3, &pairings, &[(0, 1500.0), (1, 1700.0)]).unwrap();
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
    fn uncertainty_grows_along_a_chain() {
        // Each player beat the next by three to one, 191 Elo.
        let pairings = [met(0, 1, 75, 0, 25), met(1, 2, 75, 0, 25), met(2, 3, 75, 0, 25)];
        let rated = rate_with_anchors(4, &pairings, &[(0, 1350.0)]).unwrap();
        for (player, expected) in [(1, 1159.0), (2, 968.0), (3, 777.0)] {
            assert!((rated[player].rating.unwrap() - expected).abs() < 4.0, "{player}: {:?}", rated[player]);
        }
        let width = |player: usize| rated[player].high.unwrap() - rated[player].low.unwrap();
        assert!(width(1) < width(2) && width(2) < width(3));
    }

    #[test]
    fn losing_all_games_gives_a_finite_rating() {
        let rated = rate_with_anchors(3, &[met(0, 1, 20, 0, 0)], &[(0, 1500.0)]).unwrap();
        let low = rated[1].rating.unwrap();
        assert!((0.0..1200.0).contains(&low), "{low}");
        assert_eq!(rated[2].rating.map(f64::round), Some(1500.0), "no games: the prior");
    }

    #[test]
    fn draws_keep_the_interval_open() {
        let drawn = rate_with_anchors(2, &[met(0, 1, 0, 20, 0)], &[(0, 1500.0)]).unwrap();
        let alone =
            rate_against(&[Against { rating: 1500.0, games: Tally { draws: 20, ..Tally::default() } }]);
        let width = |low: Option<f64>, high: Option<f64>| high.unwrap() - low.unwrap();
        let (ours, expected) = (width(drawn[1].low, drawn[1].high), alone.unwrap());
        assert!(ours > 0.9 * width(expected.low, expected.high), "{ours} {expected:?}");
    }

    #[test]
    fn invalid_input_is_rejected() {
        assert_eq!(rate_with_anchors(2, &[], &[]).unwrap_err(), PoolError::UnconnectedAnchor(0));
        assert_eq!(rate_with_anchors(2, &[], &[(2, 0.0)]).unwrap_err(), PoolError::UnconnectedAnchor(2));
        assert!(rate_with_anchors(2, &[met(1, 1, 1, 0, 0)], &[(0, 0.0)]).is_err());
    }
}
