//! Which positions a question is about.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde::Deserialize;
use tabia_data::stats::{Category as _, Phase};

/// What a position must be like. What is not said does not matter; a position of which an asked-for fact is unknown
/// (a rating, a depth, an entropy) does not pass.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Filter {
    /// The mover's rating.
    min_rating: Option<u16>,
    max_rating: Option<u16>,
    /// `opening`, `middlegame` or `endgame`.
    phase: Option<PhaseName>,
    /// The deepest engine session.
    min_depth: Option<u8>,
    max_depth: Option<u8>,
    /// Of the labels, in nats.
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
            serde::de::Error::custom(format!("phase is {}, not `{name}`", names.join(", ")))
        })
    }
}

/// The facts a filter asks about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    pub(super) rating: Option<u16>,
    pub(super) phase: Phase,
    pub(super) depth: Option<u8>,
    pub(super) entropy: Option<f32>,
    pub(super) ply: u32,
}

impl Filter {
    pub(super) fn lets_through(&self, facts: Facts) -> bool {
        within(facts.rating, self.min_rating, self.max_rating)
            && self.phase.is_none_or(|PhaseName(phase)| phase == facts.phase)
            && within(facts.depth, self.min_depth, self.max_depth)
            && within(facts.entropy, self.min_entropy, self.max_entropy)
            && within(Some(facts.ply), self.min_ply, self.max_ply)
    }
}

fn within<T: PartialOrd>(fact: Option<T>, min: Option<T>, max: Option<T>) -> bool {
    match fact {
        Some(fact) => min.is_none_or(|min| fact >= min) && max.is_none_or(|max| fact <= max),
        None => min.is_none() && max.is_none(),
    }
}
