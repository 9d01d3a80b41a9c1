use super::{
    HeadToHead, PoolError, PoolRating, Z95,
    matrix::Matrix,
    pool::{
        check_players, even_game_variance, expected, games_of, games_of_all, likelihood_gradient,
        log_likelihood, newton,
    },
    rating::{ELO_PER_LOGIT, squared_errors},
};

/// Players whose ratings on one scale are known, with errors of their own and one that they share.
#[derive(Clone, Debug, PartialEq)]
pub struct RatingScale {
    /// Player, rating and the standard deviation of its own error. Each player at most once.
    pub anchors: Vec<(usize, f64, f64)>,
    /// Standard deviation of the error that all ratings of the scale share: its offset against the other scales.
    pub offset_deviation: f64,
}

/// Width of the prior of all players in Elo. It keeps the ratings of players who won or lost all games finite, and weighs less
/// than a fiftieth of an even game.
const PRIOR_WIDTH: f64 = 1200.0;

/// Rates players from games and from what several scales say of some of them, which may disagree: the mode of the posterior
/// of Bradley-Terry with a normal prior for each scale, in which its ratings have independent errors and a common one. A
/// scale weighs less the larger its offset may be. Intervals use the observed variance of the results and include the
/// errors of the scales.
///
/// # Errors
/// If a pairing or an anchor is invalid, or no scale has anchors.
pub fn rate_on_scales(
    players: usize,
    pairings: &[HeadToHead],
    scales: &[RatingScale],
) -> Result<Vec<PoolRating>, PoolError> {
    check_players(players, pairings)?;
    let anchors = || scales.iter().flat_map(|scale| &scale.anchors);
    if let Some((player, ..)) = anchors().find(|(player, ..)| *player >= players) {
        return Err(PoolError::UnconnectedAnchor(*player));
    }
    if anchors().next().is_none() {
        return Err(PoolError::UnconnectedAnchor(0));
    }
    let prior = Prior::new(players, scales);
    let step = |logits: &[f64]| {
        let mut gradient = likelihood_gradient(logits, pairings);
        let pulled = prior.precision.times(logits);
        for ((of, target), pull) in gradient.iter_mut().zip(&prior.target).zip(pulled) {
            *of += target - pull;
        }
        prior.with_games(pairings, |e| information(logits, e)).inverse().times(&gradient)
    };
    let value = |logits: &[f64]| log_likelihood(logits, pairings) + prior.log_density(logits);
    let logits = newton(vec![prior.centre; players], 1e-10, 1e-9, value, step);
    let games = games_of_all(players, pairings);
    let inverse = prior.with_games(pairings, |e| information(&logits, e)).inverse();
    let scatter = prior.with_games(pairings, |e| {
        squared_errors(e.games, expected(&logits, e)) + even_game_variance(e, &games)
    });
    let covariance = inverse.product(&scatter).product(&inverse);
    let rating = |player: usize| {
        let rating = logits[player] * ELO_PER_LOGIT;
        let error = Z95 * libm::sqrt(covariance.at(player, player).max(0.0)) * ELO_PER_LOGIT;
        PoolRating {
            rating: Some(rating),
            low: Some(rating - error),
            high: Some(rating + error),
            games: games_of(player, pairings),
        }
    };
    Ok((0..players).map(rating).collect())
}

fn information(logits: &[f64], e: &HeadToHead) -> f64 {
    let expected = expected(logits, e);
    e.games.games() as f64 * expected * (1.0 - expected)
}

/// The product of the normal priors of all scales, in logits.
struct Prior {
    precision: Matrix,
    /// The precisions times the means, summed.
    target: Vec<f64>,
    centre: f64,
}

impl Prior {
    fn new(players: usize, scales: &[RatingScale]) -> Prior {
        let all: Vec<f64> = scales.iter().flat_map(|scale| &scale.anchors).map(|anchor| anchor.1).collect();
        let centre = all.iter().sum::<f64>() / all.len() as f64 / ELO_PER_LOGIT;
        let weak = (ELO_PER_LOGIT / PRIOR_WIDTH).powi(2);
        let mut precision = Matrix::zero(players);
        let mut target = vec![weak * centre; players];
        (0..players).for_each(|player| *precision.cell(player, player) = weak);
        for scale in scales {
            // The inverse of a diagonal matrix plus a constant, by Sherman and Morrison.
            let own: Vec<f64> =
                scale.anchors.iter().map(|anchor| (ELO_PER_LOGIT / anchor.2.max(1.0)).powi(2)).collect();
            let shared = (scale.offset_deviation / ELO_PER_LOGIT).powi(2);
            let factor = shared / (1.0 + shared * own.iter().sum::<f64>());
            for (row, &(player, ..)) in scale.anchors.iter().enumerate() {
                for (column, &(other, rating, _)) in scale.anchors.iter().enumerate() {
                    let diagonal = if row == column { own[row] } else { 0.0 };
                    let weight = diagonal - factor * own[row] * own[column];
                    *precision.cell(player, other) += weight;
                    target[player] += weight * rating / ELO_PER_LOGIT;
                }
            }
        }
        Prior { precision, target, centre }
    }

    /// Up to a constant.
    fn log_density(&self, logits: &[f64]) -> f64 {
        let pulled = self.precision.times(logits);
        logits
            .iter()
            .zip(&self.target)
            .zip(pulled)
            .map(|((at, target), pulled)| at * target - 0.5 * at * pulled)
            .sum()
    }

    /// The precision with the sum of `weight * (e_i - e_j)(e_i - e_j)^T` over the games.
    fn with_games(&self, pairings: &[HeadToHead], weight: impl Fn(&HeadToHead) -> f64) -> Matrix {
        let mut matrix = self.precision.clone();
        for e in pairings {
            let weight = weight(e);
            *matrix.cell(e.first, e.first) += weight;
            *matrix.cell(e.second, e.second) += weight;
            *matrix.cell(e.first, e.second) -= weight;
            *matrix.cell(e.second, e.first) -= weight;
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

    fn scale(anchors: &[(usize, f64)], own: f64, offset_deviation: f64) -> RatingScale {
        let anchors = anchors.iter().map(|&(player, rating)| (player, rating, own)).collect();
        RatingScale { anchors, offset_deviation }
    }

    fn width(rating: &PoolRating) -> f64 {
        rating.high.unwrap() - rating.low.unwrap()
    }

    /// Ratings against players whose ratings are exact.
    fn exact(players: usize, pairings: &[HeadToHead], anchors: &[(usize, f64)]) -> Vec<PoolRating> {
        rate_on_scales(players, pairings, &[scale(anchors, 1.0, 0.0)]).unwrap()
    }

    #[test]
    fn a_scale_without_errors_matches_rate_against() {
        let against = [(1500.0, 60, 20, 20), (1700.0, 40, 10, 50)];
        let alone: Vec<Against> = against
            .iter()
            .map(|&(rating, wins, draws, losses)| Against { rating, games: Tally { wins, draws, losses } })
            .collect();
        let expected = rate_against(&alone).unwrap();
        let pairings = [met(2, 0, 60, 20, 20), met(2, 1, 40, 10, 50)];
        let rated = exact(3, &pairings, &[(0, 1500.0), (1, 1700.0)]);
        assert!((rated[0].rating.unwrap() - 1500.0).abs() < 1.0 && width(&rated[0]) < 5.0, "{rated:?}");
        assert!((rated[2].rating.unwrap() - expected.rating.unwrap()).abs() < 2.0, "{rated:?}");
        let ratio = width(&rated[2]) / (expected.high.unwrap() - expected.low.unwrap());
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
    }

    #[test]
    fn uncertainty_grows_along_a_chain() {
        // Each player beat the next by three to one, 191 Elo.
        let pairings = [met(0, 1, 75, 0, 25), met(1, 2, 75, 0, 25), met(2, 3, 75, 0, 25)];
        let rated = exact(4, &pairings, &[(0, 1350.0)]);
        for (player, expected) in [(1, 1159.0), (2, 968.0), (3, 777.0)] {
            assert!((rated[player].rating.unwrap() - expected).abs() < 5.0, "{player}: {:?}", rated[player]);
        }
        assert!(width(&rated[1]) < width(&rated[2]) && width(&rated[2]) < width(&rated[3]));
    }

    #[test]
    fn losing_all_games_gives_a_finite_rating() {
        let rated = exact(3, &[met(0, 1, 20, 0, 0)], &[(0, 1500.0)]);
        let low = rated[1].rating.unwrap();
        assert!((0.0..1200.0).contains(&low), "{low}");
        assert_eq!(rated[2].rating.map(f64::round), Some(1500.0), "no games: the prior");
    }

    #[test]
    fn draws_keep_the_interval_open() {
        let drawn = exact(2, &[met(0, 1, 0, 20, 0)], &[(0, 1500.0)]);
        let games = Tally { draws: 20, ..Tally::default() };
        let alone = rate_against(&[Against { rating: 1500.0, games }]).unwrap();
        let expected = alone.high.unwrap() - alone.low.unwrap();
        assert!(width(&drawn[1]) > 0.9 * expected, "{drawn:?} {alone:?}");
    }

    #[test]
    fn disagreeing_scales_meet_in_the_middle_and_widen_the_interval() {
        // Player 2 is level with both anchors, which two scales put 300 apart.
        let pairings = [met(2, 0, 300, 0, 300), met(2, 1, 300, 0, 300)];
        let on = |deviations: [f64; 2]| {
            let scales = [(0, 1300.0), (1, 1600.0)];
            let scales: Vec<RatingScale> = scales
                .iter()
                .zip(deviations)
                .map(|(&anchor, offset)| scale(&[anchor], 10.0, offset))
                .collect();
            rate_on_scales(3, &pairings, &scales).unwrap()[2]
        };
        let even = on([150.0, 150.0]);
        assert!((even.rating.unwrap() - 1450.0).abs() < 5.0, "{even:?}");
        assert!(even.low.unwrap() < 1300.0 && even.high.unwrap() > 1600.0, "{even:?}");
        let first = on([30.0, 300.0]);
        assert!((1300.0..1320.0).contains(&first.rating.unwrap()), "the surer scale weighs more: {first:?}");
    }

    #[test]
    fn an_offset_shifts_all_ratings_of_a_scale_alike() {
        // The second scale says 200 more of everybody, and its differences agree with the games.
        let pairings = [met(0, 1, 760, 0, 240), met(1, 2, 760, 0, 240), met(0, 2, 909, 0, 91)];
        let scales =
            [scale(&[(1, 1500.0)], 10.0, 20.0), scale(&[(0, 1900.0), (1, 1700.0), (2, 1500.0)], 20.0, 400.0)];
        let rated = rate_on_scales(3, &pairings, &scales).unwrap();
        for (player, expected) in [(0, 1700.0), (1, 1500.0), (2, 1300.0)] {
            assert!((rated[player].rating.unwrap() - expected).abs() < 15.0, "{player}: {rated:?}");
        }
    }

    #[test]
    fn invalid_input_is_rejected() {
        let none = scale(&[], 10.0, 10.0);
        assert_eq!(rate_on_scales(2, &[], &[none]).unwrap_err(), PoolError::UnconnectedAnchor(0));
        let beyond = scale(&[(2, 1500.0)], 10.0, 10.0);
        assert_eq!(rate_on_scales(2, &[], &[beyond]).unwrap_err(), PoolError::UnconnectedAnchor(2));
    }
}
