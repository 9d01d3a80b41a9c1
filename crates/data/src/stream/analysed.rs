//! An open analysed position: itself, the positions after its moves, or both.

use tabia_encoding::Situation;

use super::sample::{LineSample, Target};
use crate::shuffle::Rng;
use crate::{EvaluationRecord, Line};

/// Which positions of analysed records a stream yields.
///
/// Moves are those of a record's deepest session, in a new random order at each visit. If not all are taken, half of the
/// visits include the best move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Analysed {
    /// The analysed position.
    #[default]
    Roots,
    /// The positions after its moves.
    Children {
        /// Number per visit; 0 means all.
        most: u32,
    },
    /// The analysed position and the positions after its moves.
    Both {
        /// Number of positions after moves per visit; 0 means all.
        most: u32,
    },
}

/// The next sample of an analysed position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    Root,
    /// A line of the deepest session, counted from the best.
    Line(u16),
}

/// An analysed position and its remaining samples.
#[derive(Debug)]
pub(super) struct OpenRecord {
    record: EvaluationRecord,
    order: Vec<Item>,
    given: usize,
}

impl OpenRecord {
    /// `None` if there is nothing after the first `given` samples. `rng` decides the order.
    pub(super) fn new(record: EvaluationRecord, analysed: Analysed, rng: Rng, given: u32) -> Option<Self> {
        let lines = record.sessions.first().map_or(0, |deepest| deepest.lines.len());
        let open = OpenRecord { record, order: order(lines as u16, analysed, rng), given: given as usize };
        (open.given < open.order.len()).then_some(open)
    }

    /// Number of samples before the current one.
    pub(super) fn given(&self) -> u32 {
        self.given as u32
    }

    /// Advances; `false` at the end.
    pub(super) fn step(&mut self) -> bool {
        self.given += 1;
        self.given < self.order.len()
    }

    pub(super) fn sample(&self) -> (Situation<'_>, Target<'_>) {
        let line = match self.order[self.given] {
            Item::Root => None,
            Item::Line(number) => self.line(number).map(|(depth, line)| LineSample { depth, number, line }),
        };
        let target = line.map_or(Target::Evaluation(&self.record), Target::Line);
        (Situation::of(&self.record.position), target)
    }

    fn line(&self, number: u16) -> Option<(u8, Line)> {
        let deepest = self.record.sessions.first()?;
        Some((deepest.depth, *deepest.lines.get(usize::from(number))?))
    }
}

fn order(lines: u16, analysed: Analysed, mut rng: Rng) -> Vec<Item> {
    let most = match analysed {
        Analysed::Roots => return vec![Item::Root],
        Analysed::Children { most } | Analysed::Both { most } => most as usize,
    };
    let mut order: Vec<Item> = (0..lines).map(Item::Line).collect();
    rng.shuffle(&mut order);
    let wants_best = rng.below(2) == 0;
    if most > 0 && most < order.len() {
        order.truncate(most);
        if wants_best && !order.contains(&Item::Line(0)) {
            order[most - 1] = Item::Line(0);
        }
    }
    if matches!(analysed, Analysed::Both { .. }) {
        order.insert(rng.below(order.len() as u32 + 1) as usize, Item::Root);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_with_best(lines: u16, most: u32) -> f64 {
        let with_best = |seed: &u64| {
            let order = order(lines, Analysed::Children { most }, Rng::of(&[*seed]));
            assert_eq!(order.len(), (most as usize).min(usize::from(lines)));
            order.contains(&Item::Line(0))
        };
        (0..4000_u64).filter(with_best).count() as f64 / 4000.0
    }

    #[test]
    fn half_of_the_visits_include_the_best_move() {
        // Half of the visits always include it, the others as often as any move.
        assert!((share_with_best(40, 4) - 0.55).abs() < 0.03);
        assert!((share_with_best(2, 1) - 0.75).abs() < 0.03);
        assert_eq!(share_with_best(3, 3), 1.0);
    }

    #[test]
    fn the_root_is_at_a_random_place_among_its_children() {
        let mut places = [0_u32; 4];
        for seed in 0..4000 {
            let order = order(3, Analysed::Both { most: 0 }, Rng::of(&[seed]));
            places[order.iter().position(|item| *item == Item::Root).unwrap()] += 1;
        }
        assert!(places.iter().all(|count| (800..1200).contains(count)), "{places:?}");
    }
}
