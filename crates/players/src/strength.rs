//! Playing at a rating, by the calibration of a network.

use tabia_encoding::Elo;
use tabia_model::{Strength, StrengthKnot};

use crate::{Pick, SearchBlend};

/// What determines the strength of a human-like network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StrengthSettings {
    /// How a move is picked from the probabilities.
    pub pick: Pick,
    /// How much a shallow search counts.
    pub blend: SearchBlend,
}

impl StrengthSettings {
    /// The raw policy.
    pub const RAW: StrengthSettings = StrengthSettings { pick: Pick::RAW, blend: SearchBlend::NONE };
}

/// The rating to tell a network and the settings that make it play at the rating asked for. `None` if the table is empty.
pub fn strength_at(table: &Strength, asked: Elo) -> Option<(Elo, StrengthSettings)> {
    let at = f32::from(asked.0);
    let above = table.knots.partition_point(|knot| f32::from(knot.asked) <= at);
    let low = table.knots.get(above.saturating_sub(1))?;
    let high = table.knots.get(above).unwrap_or(low);
    let gap = f32::from(high.asked) - f32::from(low.asked);
    let share = if gap > 0.0 { ((at - f32::from(low.asked)) / gap).clamp(0.0, 1.0) } else { 0.0 };
    let between = |of: fn(&StrengthKnot) -> f32| of(low) + share * (of(high) - of(low));
    let told = Elo(between(|knot| knot.told).round() as u16);
    let pick = Pick::Sampled { temperature: between(|knot| knot.temperature), top_p: 1.0 };
    let (trust, mates) = (between(|knot| knot.trust), between(|knot| knot.mates));
    let nodes = between(|knot| (knot.nodes.max(1) as f32).ln()).exp().round() as u32;
    Some((told, StrengthSettings { pick, blend: SearchBlend { trust, nodes, mates } }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Strength {
        let knot = |asked, told, temperature, trust, nodes, mates| StrengthKnot {
            asked,
            told,
            temperature,
            trust,
            nodes,
            mates,
            shown: None,
        };
        let knots = vec![knot(1000, 800.0, 1.2, 0.0, 500, 0.5), knot(1400, 1200.0, 1.0, 4.0, 2000, 0.9)];
        Strength { method: String::new(), knots }
    }

    #[test]
    fn settings_are_interpolated_between_knots() {
        let at = |asked| strength_at(&table(), Elo(asked)).unwrap();
        let (told, settings) = at(1200);
        assert_eq!(told, Elo(1000));
        let Pick::Sampled { temperature, .. } = settings.pick else { panic!("another pick") };
        assert!((temperature - 1.1).abs() < 1e-6);
        assert!((settings.blend.trust - 2.0).abs() < 1e-6 && (settings.blend.mates - 0.7).abs() < 1e-6);
        assert_eq!(settings.blend.nodes, 1000, "geometric in nodes");
        assert_eq!(at(1000).0, Elo(800));
        assert_eq!(at(100), at(1000));
        assert_eq!(at(4000), at(1400));
        assert_eq!(at(1400).0, Elo(1200));
        let empty = Strength { knots: Vec::new(), ..table() };
        assert_eq!(strength_at(&empty, Elo(1500)), None);
    }
}
