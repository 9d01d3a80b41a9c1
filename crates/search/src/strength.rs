//! Playing at a rating: what a network is told and how its answer is taken, so that it shows the rating asked for.

use tabia_encoding::Elo;
use tabia_model::{Strength, StrengthKnot};

use crate::{Pick, SearchBlend};

/// What decides how strong a network that predicts people's moves plays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StrengthSettings {
    /// How a move is picked from the probabilities.
    pub pick: Pick,
    /// How much a light search has to say.
    pub blend: SearchBlend,
}

impl StrengthSettings {
    /// The network's own probabilities.
    pub const RAW: StrengthSettings =
        StrengthSettings { pick: Pick::AS_THE_NETWORK_SAYS, blend: SearchBlend::NONE };
}

/// The rating to tell a network, and the dials, that show the rating asked for. `None` where the table has no knots.
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
    fn dials_go_evenly_from_knot_to_knot_and_stay_beyond_the_ends() {
        let at = |asked| strength_at(&table(), Elo(asked)).unwrap();
        let (told, dials) = at(1200);
        assert_eq!(told, Elo(1000));
        let Pick::Sampled { temperature, .. } = dials.pick else { panic!("another pick") };
        assert!((temperature - 1.1).abs() < 1e-6);
        assert!((dials.blend.trust - 2.0).abs() < 1e-6 && (dials.blend.mates - 0.7).abs() < 1e-6);
        assert_eq!(dials.blend.nodes, 1000, "nodes by equal factors");
        assert_eq!(at(1000).0, Elo(800));
        assert_eq!(at(100), at(1000));
        assert_eq!(at(4000), at(1400));
        assert_eq!(at(1400).0, Elo(1200));
        let empty = Strength { knots: Vec::new(), ..table() };
        assert_eq!(strength_at(&empty, Elo(1500)), None);
    }
}
