//! Accuracy in percent, as Lichess publishes it (lichess.org/page/accuracy).

/// The accuracy of a move, from 0 to 100, by the mover's winning chance before and after it.
pub fn move_accuracy(before: f64, after: f64) -> f64 {
    if after >= before {
        return 100.0;
    }
    let lost = 100.0 * (before - after);
    (103.1668 * (-0.04354 * lost).exp() - 3.1669).clamp(0.0, 100.0)
}

/// The moves that one weight is computed from: this share of the game, within limits.
const WINDOW_SHARE: usize = 10;
const WINDOW: std::ops::RangeInclusive<usize> = 2..=8;
/// Limits of a weight, in percent of winning chance.
const WEIGHT: std::ops::RangeInclusive<f64> = 0.5..=12.0;

/// The accuracy of a player in a game: the mean of two means of the moves' accuracies. One is harmonic, the other gives more weight to moves
/// where the winning chance swings. `None` without moves.
///
/// `moves` holds, for each move of the game by either player, whether it is the player's, and the mover's winning chance
/// before and after it.
pub fn game_accuracy(moves: &[(bool, f64, f64)]) -> Option<f64> {
    let size = (moves.len() / WINDOW_SHARE).clamp(*WINDOW.start(), *WINDOW.end());
    // The chance of one player before the first move and after each.
    let chance = |(own, before, after): &(bool, f64, f64)| {
        if *own { [*before, *after] } else { [1.0 - before, 1.0 - after] }
    };
    let mut chances: Vec<f64> = moves.first().map(|first| chance(first)[0]).into_iter().collect();
    chances.extend(moves.iter().map(|played| chance(played)[1]));
    let (mut weights, mut weighted, mut inverses, mut count) = (0.0, 0.0, 0.0, 0.0);
    for (ply, (own, before, after)) in moves.iter().enumerate() {
        if !own {
            continue;
        }
        // The window that ends with the move; the first moves share one.
        let end = (ply + 2).max(size).min(chances.len());
        let weight = (100.0 * deviation(&chances[end.saturating_sub(size)..end]))
            .clamp(*WEIGHT.start(), *WEIGHT.end());
        let accuracy = move_accuracy(*before, *after);
        weights += weight;
        weighted += weight * accuracy;
        inverses += 1.0 / accuracy.max(1.0);
        count += 1.0;
    }
    (count > 0.0).then(|| (weighted / weights + count / inverses) / 2.0)
}

fn deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_that_loses_nothing_is_fully_accurate() {
        assert_eq!(move_accuracy(0.5, 0.5), 100.0);
        assert_eq!(move_accuracy(0.5, 0.7), 100.0);
        assert!((move_accuracy(0.6, 0.5) - 63.6).abs() < 0.1);
        assert!(move_accuracy(1.0, 0.0) < 0.1);
    }

    #[test]
    fn a_blunder_costs_more_than_its_share_of_the_moves() {
        let level = [(true, 0.5, 0.5), (false, 0.5, 0.5)];
        let good: Vec<_> = level.iter().copied().cycle().take(40).collect();
        assert!((game_accuracy(&good).unwrap() - 100.0).abs() < 1e-9);
        let mut bad = good.clone();
        bad[20] = (true, 0.5, 0.1);
        (bad[21].1, bad[21].2) = (0.9, 0.9);
        let accuracy = game_accuracy(&bad).unwrap();
        assert!((60.0..94.0).contains(&accuracy), "{accuracy}");
        assert_eq!(game_accuracy(&[]), None);
        assert_eq!(game_accuracy(&[(false, 0.5, 0.4)]), None);
    }
}
