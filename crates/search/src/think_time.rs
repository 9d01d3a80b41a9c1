//! From the chances that a network gives to thinking times, a time for one move.

use fastrand::Rng;
use tabia_encoding::{TIME_BINS, time_bin_range};

/// A move that people play this often takes as long as moves of the position take in general.
const USUAL_PROBABILITY: f32 = 0.2;
/// How much sooner people make a likelier move: the odds of a time fall by `1 + seconds` to this power, for each step by
/// which the logarithm of the probability rises. Fitted to online games by likelihood; either half of them gives 0.19.
const SOONER: f32 = 0.19;
/// What is less likely than this is not known to be.
const LEAST_PROBABILITY: f32 = 1e-4;

/// The first bins hold one whole second each: what a clock without tenths shows of a move is 0, 1, ... 6 seconds.
const WHOLE: usize = 7;
/// Into how many steps a second is divided.
const STEPS: usize = 10;
/// From no time at all to the last of those whole seconds.
const MOMENTS: usize = (WHOLE - 1) * STEPS + 1;
/// So many rounds of estimation bring the seconds shown within a percent of what was asked for.
const ROUNDS: usize = 20;

/// The chances of thinking times for a move that the network gives this `probability`.
///
/// A network tells how long people think in a position, whatever they play. What they expected, a recapture above all,
/// they play at once; what few see takes its time.
pub fn think_time_for(chances: &[f32; TIME_BINS], probability: f32) -> [f32; TIME_BINS] {
    let likelier = (probability.max(LEAST_PROBABILITY) / USUAL_PROBABILITY).ln();
    let mut tilted = *chances;
    for (bin, chance) in tilted.iter_mut().enumerate() {
        let range = time_bin_range(bin);
        // The first bin is a clock that shows no difference.
        let seconds = if bin == 0 { 0.0 } else { (range.start + range.end) / 2.0 };
        *chance *= (1.0 + seconds).powf(-SOONER * likelier);
    }
    let total: f32 = tilted.iter().sum();
    if total > 0.0 {
        for chance in &mut tilted {
            *chance /= total;
        }
    }
    tilted
}

/// Seconds drawn from the chances of their bins.
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

/// The one at `point` when chances are laid side by side; the first where none is.
fn place_at(chances: &[f32], point: f32) -> usize {
    let mut left = point;
    let hit = chances.iter().position(|chance| {
        left -= chance;
        left < 0.0
    });
    hit.unwrap_or(0)
}

/// The chances of each tenth of a second, such that a clock without tenths would show whole seconds as often as the
/// first bins say.
///
/// Networks learn from clocks that show whole seconds. A move of 0.4 s leaves the clock as it was six times in ten and
/// costs a second otherwise; where more than half of the moves cost nothing, most of them were made at once. Estimated
/// by maximum likelihood (Richardson and Lucy), from times that are even within each bin.
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

/// The two whole seconds between which a moment lies, and how often a clock shows either for it.
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
    fn where_clocks_stand_still_moves_come_at_once() {
        let (_, premoved) = shown(&of(&[0.9, 0.05, 0.05]));
        assert!(premoved < 0.1, "{premoved}");
        let (_, thought) = shown(&of(&[0.3, 0.5, 0.2]));
        assert!((0.5..1.2).contains(&thought), "{thought}");
    }

    #[test]
    fn long_times_lie_in_their_bins() {
        let mut rng = Rng::with_seed(3);
        for bin in WHOLE..TIME_BINS {
            let mut chances = [0.0; TIME_BINS];
            chances[bin] = 1.0;
            assert!((0..50).all(|_| time_bin_range(bin).contains(&draw(&chances, &mut rng))), "{bin}");
        }
    }

    #[test]
    fn what_was_expected_is_played_sooner() {
        let chances = of(&[0.2, 0.2, 0.2, 0.2, 0.2]);
        let sooner = think_time_for(&chances, 0.95);
        let later = think_time_for(&chances, 0.01);
        assert!(sooner[0] > 0.25 && sooner[4] < 0.17, "{sooner:?}");
        assert!(later[0] < 0.12 && later[4] > 0.25, "{later:?}");
        assert!((later.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        let usual = think_time_for(&chances, USUAL_PROBABILITY);
        assert!(usual.iter().zip(chances).all(|(a, b)| (a - b).abs() < 1e-6));
        let never = think_time_for(&chances, 0.0);
        assert!(never.iter().all(|chance| chance.is_finite()));
    }
}
