//! Position filters of requests.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde::Deserialize;
use tabia_data::stats::{Category as _, Phase};

/// Conditions on a position. A position with an unknown value (rating, depth, entropy) fails conditions on it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filter {
    /// Rating of the side to move.
    min_rating: Option<u16>,
    max_rating: Option<u16>,
    /// `opening`, `middlegame` or `endgame`.
    phase: Option<PhaseName>,
    /// Depth of the deepest engine session.
    min_depth: Option<u8>,
    max_depth: Option<u8>,
    /// Entropy of the labels in nats.
    min_entropy: Option<f32>,
    max_entropy: Option<f32>,
    min_ply: Option<u32>,
    max_ply: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct PhaseName(Phase);

impl<'de> Deserialize<'de> for PhaseName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known = Phase::ALL.iter().find(|phase| phase.label() == name);
        known.map(|&phase| PhaseName(phase)).ok_or_else(|| {
            let names: Vec<_> = Phase::ALL.iter().map(|phase| phase.label()).collect();
            serde::de::Error::custom(format!("invalid phase `{name}` (expected {})", names.join(", ")))
        })
    }
}

/// Values that filters test.
#[derive(Clone, Copy, Debug)]
pub(super) struct PositionFacts {
    pub(super) rating: Option<u16>,
    pub(super) phase: Phase,
    pub(super) depth: Option<u8>,
    pub(super) entropy: Option<f32>,
    pub(super) ply: u32,
}

impl Filter {
    pub(super) fn matches(&self, facts: PositionFacts) -> bool {
        within(facts.rating, self.min_rating, self.max_rating)
            && self.phase.is_none_or(|PhaseName(phase)| phase == facts.phase)
            && within(facts.depth, self.min_depth, self.max_depth)
            && within(facts.entropy, self.min_entropy, self.max_entropy)
            && within(Some(facts.ply), self.min_ply, self.max_ply)
    }
}

fn within<T: PartialOrd>(value: Option<T>, min: Option<T>, max: Option<T>) -> bool {
    match value {
        Some(value) => min.is_none_or(|min| value >= min) && max.is_none_or(|max| value <= max),
        None => min.is_none() && max.is_none(),
    }
}
