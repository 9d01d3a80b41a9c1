//! Thinking times from the probabilities of a network.

use fastrand::Rng;
use tabia_encoding::{TIME_BINS, time_bin_range};

/// A move of this probability takes as long as the average move of the position.
const AVERAGE_PROBABILITY: f32 = 0.2;
/// How much faster people play likelier moves: the odds of a time fall by `1 + seconds` to this power per unit of the log
/// probability. Fitted to online games by likelihood; either half of them gives 0.19.
const SPEEDUP: f32 = 0.19;
/// Lower probabilities are clamped to this.
const LEAST_PROBABILITY: f32 = 1e-4;

/// The first bins hold one whole second each: 0, 1, ... 6 seconds on a clock without tenths.
const WHOLE: usize = 7;
/// Steps per second.
const STEPS: usize = 10;
/// Steps from zero to the last of those seconds.
const MOMENTS: usize = (WHOLE - 1) * STEPS + 1;
/// Iterations that bring the result within a percent.
const ROUNDS: usize = 20;

/// The probabilities of thinking times for a move of this `probability`.
///
/// The network predicts thinking times for a position, whatever move is played. Likely moves, recaptures above all, are
/// played faster; unlikely ones take longer.
pub fn think_time_for(chances: &[f32; TIME_BINS], probability: f32) -> [f32; TIME_BINS] {
    let likelier = (probability.max(LEAST_PROBABILITY) / AVERAGE_PROBABILITY).ln();
    let mut tilted = *chances;
    for (bin, chance) in tilted.iter_mut().enumerate() {
        let range = time_bin_range(bin);
        // In the first bin the clock shows no difference.
        let seconds = if bin == 0 { 0.0 } else { (range.start + range.end) / 2.0 };
        *chance *= (1.0 + seconds).powf(-SPEEDUP * likelier);
    }
    let total: f32 = tilted.iter().sum();
    if total > 0.0 {
        for chance in &mut tilted {
            *chance /= total;
        }
    }
    tilted
}

/// Draws seconds from the probabilities of the bins.
pub(crate) fn draw(chances: &[f32; TIME_BINS], rng: &mut Rng) -> f32 {
    let bin = place_at(chances, rng.f32());
    if bin >= WHOLE {
        let range = time_bin_range(bin);
        return range.start + rng.f32() * (range.end - range.start);
    }
    let behind = behind_whole_seconds(chances);
    let moment = place_at(&behind, rng.f32() * behind.iter().sum::<f32>());
    let within = rng.f32() - 0.5;
    ((moment as f32 + within) / STEPS as f32).max(0.0)
}

/// The index at `point` of the cumulative distribution; 0 beyond its end.
fn place_at(chances: &[f32], point: f32) -> usize {
    let mut left = point;
    let hit = chances.iter().position(|chance| {
        left -= chance;
        left < 0.0
    });
    hit.unwrap_or(0)
}

/// The probabilities of each tenth of a second under which a clock without tenths shows whole seconds as often as the
/// first bins say.
///
/// Networks are trained on clocks that show whole seconds. A move of 0.4 s leaves such a clock unchanged six times in ten
/// and costs a second otherwise. Estimated by maximum likelihood (Richardson-Lucy), starting from a uniform
/// distribution within each bin.
fn behind_whole_seconds(chances: &[f32; TIME_BINS]) -> [f32; MOMENTS] {
    let mut behind = [0.0; MOMENTS];
    for (moment, chance) in behind.iter_mut().enumerate() {
        let bin = (moment + STEPS / 2) / STEPS;
        let moments = if bin == 0 || bin == WHOLE - 1 { STEPS / 2 } else { STEPS };
        *chance = chances[bin] / moments as f32;
    }
    for _ in 0..ROUNDS {
        let mut shown = [0.0; WHOLE];
        for (moment, chance) in behind.iter().enumerate() {
            for (second, share) in shown_as(moment) {
                shown[second] += chance * share;
            }
        }
        for (moment, chance) in behind.iter_mut().enumerate() {
            let wanted = |second: usize| {
                if shown[second] > f32::EPSILON { chances[second] / shown[second] } else { 0.0 }
            };
            *chance *= shown_as(moment).map(|(second, share)| share * wanted(second)).iter().sum::<f32>();
        }
    }
    behind
}

/// The two whole seconds around a moment, and how often a clock shows each.
fn shown_as(moment: usize) -> [(usize, f32); 2] {
    let (second, over) = (moment / STEPS, (moment % STEPS) as f32 / STEPS as f32);
    [(second, 1.0 - over), ((second + 1).min(WHOLE - 1), over)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(first: &[f32]) -> [f32; TIME_BINS] {
        let mut chances = [0.0; TIME_BINS];
        chances[..first.len()].copy_from_slice(first);
        chances
    }

    /// How often a clock without tenths would show 0, 1, 2 and 3 seconds, and the median of the times themselves.
    fn shown(chances: &[f32; TIME_BINS]) -> ([f32; 4], f32) {
        const MOVES: usize = 20_000;
        let mut rng = Rng::with_seed(11);
        let mut seen = [0.0; 4];
        let mut drawn: Vec<f32> = (0..MOVES).map(|_| draw(chances, &mut rng)).collect();
        for seconds in &drawn {
            let second = (seconds + rng.f32()).floor() as usize;
            if let Some(count) = seen.get_mut(second) {
                *count += 1.0 / MOVES as f32;
            }
        }
        drawn.sort_by(f32::total_cmp);
        (seen, drawn[MOVES / 2])
    }

    #[test]
    fn clocks_show_what_the_chances_say() {
        for chances in [[0.53, 0.26, 0.12, 0.09], [0.3, 0.4, 0.2, 0.1], [0.05, 0.15, 0.5, 0.3]] {
            let (seen, _) = shown(&of(&chances));
            for (seen, said) in seen.iter().zip(chances) {
                assert!((seen - said).abs() < 0.03, "{seen} of {said} in {chances:?}");
            }
        }
    }

    #[test]
    fn high_zero_bin_means_instant_moves() {
        let (_, premoved) = shown(&of(&[0.9, 0.05, 0.05]));
        assert!(premoved < 0.1, "{premoved}");
        let (_, thought) = shown(&of(&[0.3, 0.5, 0.2]));
        assert!((0.5..1.2).contains(&thought), "{thought}");
    }

    #[test]
    fn long_think_times_lie_in_their_bins() {
        let mut rng = Rng::with_seed(3);
        for bin in WHOLE..TIME_BINS {
            let mut chances = [0.0; TIME_BINS];
            chances[bin] = 1.0;
            assert!((0..50).all(|_| time_bin_range(bin).contains(&draw(&chances, &mut rng))), "{bin}");
        }
    }

    #[test]
    fn likely_moves_are_played_faster() {
        let chances = of(&[0.2, 0.2, 0.2, 0.2, 0.2]);
        let sooner = think_time_for(&chances, 0.95);
        let later = think_time_for(&chances, 0.01);
        assert!(sooner[0] > 0.25 && sooner[4] < 0.17, "{sooner:?}");
        assert!(later[0] < 0.12 && later[4] > 0.25, "{later:?}");
        assert!((later.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        let usual = think_time_for(&chances, AVERAGE_PROBABILITY);
        assert!(usual.iter().zip(chances).all(|(a, b)| (a - b).abs() < 1e-6));
        let never = think_time_for(&chances, 0.0);
        assert!(never.iter().all(|chance| chance.is_finite()));
    }
}
