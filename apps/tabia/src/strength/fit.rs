//! Finding the numbers that make a network show the rating asked for.
//!
//! Every rating has one number to turn, its push: how much stronger or weaker than the network alone it is to play, in
//! steps of about one Elo. [`knot`] says what a push means. The games say what it comes to.

use tabia_model::StrengthKnot;

/// The lowest and the highest rating a network is told: beyond them it has seen nobody.
const LEAST_TOLD: f32 = 600.0;
const MOST_TOLD: f32 = 2800.0;

/// How far a push may go.
const WEAKEST: f32 = -1200.0;
const STRONGEST: f32 = 2000.0;

/// What the search visits at a push of nothing, doubled with every so much, and at most: a fifth of a second.
const FEWEST_NODES: f32 = 1500.0;
const DOUBLED_BY: f32 = 200.0;
const MOST_NODES: f32 = 200_000.0;

/// How often people see a mate in one, by rating; `tabia habits` counts it.
const MATES_SEEN: [(f32, f32); 5] =
    [(800.0, 0.65), (1200.0, 0.7), (1600.0, 0.82), (2000.0, 0.85), (2600.0, 0.9)];

/// What a push means for a rating. Weaker: the network is told a lower rating, and strays. Stronger: it keeps to its
/// likely moves more, and listens more to the search.
pub(super) fn knot(asked: u16, push: f32) -> StrengthKnot {
    let (weaker, stronger) = ((-push).max(0.0), push.max(0.0));
    let asked_for = f32::from(asked);
    StrengthKnot {
        asked,
        told: rounded((asked_for - 0.5 * weaker).clamp(LEAST_TOLD, MOST_TOLD), 1.0),
        temperature: rounded((1.0 + weaker / 2000.0) / (1.0 + stronger / 1500.0), 0.001),
        trust: rounded(stronger / 40.0, 0.01),
        nodes: (FEWEST_NODES * (stronger / DOUBLED_BY).exp2()).min(MOST_NODES).round() as u32,
        mates: rounded(seen(asked_for), 0.001),
        shown: None,
    }
}

/// To so many digits, so that a spec says what a card says.
fn rounded(number: f32, step: f32) -> f32 {
    let steps = (f64::from(number) / f64::from(step)).round();
    // Back through text: the nearest number to a short decimal.
    format!("{:.3}", steps * f64::from(step)).parse().unwrap_or(number)
}

fn seen(asked: f32) -> f32 {
    let above = MATES_SEEN.partition_point(|(rating, _)| *rating <= asked);
    match (MATES_SEEN.get(above.wrapping_sub(1)), MATES_SEEN.get(above)) {
        (Some((low, from)), Some((high, to))) => from + (to - from) * (asked - low) / (high - low),
        (Some((_, share)), None) | (None, Some((_, share))) => *share,
        (None, None) => 1.0,
    }
}

/// One rating on its way: the pushes tried and the ratings they showed.
#[derive(Clone, Debug)]
pub(super) struct Search {
    pub(super) asked: u16,
    pub(super) push: f32,
    /// Push, rating shown, and its standard deviation.
    tried: Vec<(f32, f32, f32)>,
}

impl Search {
    /// Begins with the network alone, or with what a table says.
    pub(super) fn new(asked: u16) -> Search {
        Search { asked, push: 0.0, tried: Vec::new() }
    }

    pub(super) fn add(&mut self, shown: f32, deviation: f32) {
        self.tried.push((self.push, shown, deviation.max(1.0)));
    }
}

/// How much a step of push is worth before anything is known, and how sure that is, against one measurement.
const USUAL_SLOPE: f32 = 0.8;

/// Turns every push so that its rating comes closest to the one asked for, as far as the trials tell.
///
/// Ratings that were tried together share one slope: what a step of push is worth. Each has a level of its own, the mean
/// of its trials, later ones not preferred. So one more trial moves a push less the more there are.
pub(super) fn turn(searches: &mut [Search]) {
    let slope = slope(searches);
    for search in searches {
        let (mut weights, mut level) = (0.0, 0.0);
        for (push, shown, deviation) in &search.tried {
            // What would have been shown without a push, going by this trial; trials far away tell less.
            let distance = (push - search.push) * 0.2;
            let weight = 1.0 / (deviation * deviation + distance * distance);
            weights += weight;
            level += weight * (shown - slope * push);
        }
        if weights > 0.0 {
            let wanted = (f32::from(search.asked) - level / weights) / slope;
            search.push = wanted.clamp(WEAKEST, STRONGEST);
        }
    }
}

/// What a step of push is worth: the regression of ratings shown on pushes, each rating asked for by itself.
fn slope(searches: &[Search]) -> f32 {
    // The usual slope counts like trials 200 apart, each sure to 60.
    let mut above = USUAL_SLOPE * 200.0 * 200.0 / (60.0 * 60.0);
    let mut below = 200.0 * 200.0 / (60.0 * 60.0);
    for search in searches {
        let weight = |deviation: f32| 1.0 / (deviation * deviation);
        let total: f32 = search.tried.iter().map(|(.., deviation)| weight(*deviation)).sum();
        let mean = |of: fn(&(f32, f32, f32)) -> f32| {
            search.tried.iter().map(|trial| weight(trial.2) * of(trial)).sum::<f32>() / total.max(1e-9)
        };
        let (push_mean, shown_mean) = (mean(|trial| trial.0), mean(|trial| trial.1));
        for (push, shown, deviation) in &search.tried {
            above += weight(*deviation) * (push - push_mean) * (shown - shown_mean);
            below += weight(*deviation) * (push - push_mean) * (push - push_mean);
        }
    }
    (above / below).clamp(0.3, 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_push_makes_weaker_or_stronger_and_none_is_the_network_alone() {
        let plain = knot(1500, 0.0);
        assert_eq!((plain.told, plain.temperature, plain.trust), (1500.0, 1.0, 0.0));
        let weak = knot(1000, -400.0);
        assert_eq!((weak.told, weak.trust), (800.0, 0.0));
        assert!(weak.temperature > 1.0);
        let strong = knot(2200, 400.0);
        assert_eq!((strong.told, strong.trust), (2200.0, 10.0));
        assert!(strong.temperature < 1.0);
        assert!(knot(1000, 0.0).mates < knot(2200, 0.0).mates);
    }

    #[test]
    fn searches_close_the_gap() {
        // The truth: the network alone is flat and too strong below, too weak above; a step is worth 0.6.
        let shows = |asked: u16, push: f32| 1300.0 + 0.3 * (f32::from(asked) - 1500.0) + 0.6 * push;
        let mut searches: Vec<Search> = (5..=12).map(|n| Search::new(200 * n)).collect();
        for _ in 0..3 {
            for search in &mut searches {
                search.add(shows(search.asked, search.push), 30.0);
            }
            turn(&mut searches);
        }
        for search in &searches {
            let gap = shows(search.asked, search.push) - f32::from(search.asked);
            assert!(gap.abs() < 20.0, "{}: {gap}", search.asked);
        }
    }
}
