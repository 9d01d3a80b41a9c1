//! Strength settings along one path from the weakest play to the strongest.
//!
//! A fit varies the aim: the rating that the settings are expected to give. [`knot`] maps an aim to settings; games
//! measure what rating it gives.

use tabia_model::StrengthKnot;

/// The range of ratings in the training data.
const LEAST_TOLD: f32 = 600.0;
const MOST_TOLD: f32 = 2800.0;

/// A knot of the path. Between two, temperature and trust are interpolated linearly, nodes geometrically.
struct Place {
    aim: f32,
    temperature: f32,
    trust: f32,
    nodes: f32,
}

const fn place(aim: f32, temperature: f32, trust: f32, nodes: f32) -> Place {
    Place { aim, temperature, trust, nodes }
}

/// Measured against Stockfish. The raw policy plays at about 1250 to 1400; below, the temperature rises; above, the weight
/// and the nodes of the search do.
const PATH: [Place; 13] = [
    place(600.0, 2.4, 0.0, 200.0),
    place(800.0, 1.7, 0.0, 200.0),
    place(1000.0, 1.2, 0.0, 200.0),
    place(1200.0, 1.0, 0.0, 200.0),
    place(1350.0, 1.0, 0.4, 300.0),
    place(1500.0, 1.0, 2.0, 500.0),
    place(1650.0, 0.95, 6.0, 600.0),
    place(1800.0, 0.9, 11.0, 1000.0),
    place(1900.0, 0.85, 30.0, 3000.0),
    place(2050.0, 0.85, 150.0, 20000.0),
    place(2150.0, 0.85, 300.0, 50000.0),
    place(2300.0, 0.85, 600.0, 130000.0),
    place(2500.0, 0.85, 1000.0, 400000.0),
];

/// How often people see a mate in one, by rating; measured by `tabia-lab behaviour`.
const MATES_SEEN: [(f32, f32); 5] =
    [(800.0, 0.65), (1200.0, 0.7), (1600.0, 0.82), (2000.0, 0.85), (2600.0, 0.9)];

/// The settings for a rating whose aim is `aim`. The network is told the rating itself.
pub(super) fn knot(asked: u16, aim: f32) -> StrengthKnot {
    let above = PATH.partition_point(|place| place.aim <= aim).clamp(1, PATH.len() - 1);
    let (low, high) = (&PATH[above - 1], &PATH[above]);
    let share = ((aim - low.aim) / (high.aim - low.aim)).clamp(0.0, 1.0);
    let between = |from: f32, to: f32| from + share * (to - from);
    let asked_for = f32::from(asked);
    StrengthKnot {
        asked,
        told: asked_for.clamp(LEAST_TOLD, MOST_TOLD),
        temperature: rounded(between(low.temperature, high.temperature), 0.001),
        trust: rounded(between(low.trust, high.trust), 0.01),
        nodes: between(low.nodes.ln(), high.nodes.ln()).exp().round() as u32,
        mates: rounded(seen(asked_for), 0.001),
        shown: None,
    }
}

/// Rounded, so that a spec and a card hold the same number.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strength_grows_with_the_aim() {
        let knots: Vec<StrengthKnot> = (300..3200).step_by(20).map(|aim| knot(1500, aim as f32)).collect();
        for pair in knots.windows(2) {
            let (low, high) = (&pair[0], &pair[1]);
            assert!(
                low.temperature >= high.temperature && low.trust <= high.trust && low.nodes <= high.nodes
            );
            assert_eq!((low.told, low.mates), (high.told, high.mates));
        }
        let (weakest, strongest) = (&knots[0], &knots[knots.len() - 1]);
        assert!(weakest.temperature > 1.5 && weakest.trust == 0.0);
        assert!(strongest.trust > 100.0 && strongest.nodes <= 400_000, "a move stays quick");
        assert_eq!(knot(1500, -1e6), *weakest);
        assert!(knot(1000, 1000.0).mates < knot(2200, 2200.0).mates);
    }

    #[test]
    fn settings_round_trip_through_text() {
        let knot = knot(1600, 1633.7);
        let again: f32 = knot.temperature.to_string().parse().unwrap();
        assert_eq!(again, knot.temperature);
        assert_eq!((knot.temperature * 1000.0).round() / 1000.0, knot.temperature);
    }
}
