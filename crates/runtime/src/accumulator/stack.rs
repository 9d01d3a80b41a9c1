use shakmaty::{Chess, Color, Move};
use tabia_encoding::{FeatureList, Perspectives, SparseEncoding};

use super::{
    Level,
    update::{SumBlock, Update},
};

/// A stack of positions, each with lazily updated accumulators for one or both perspectives.
///
/// Accumulators of a position do not depend on how it got on the stack. No memory is allocated once the stack has reached its
/// greatest depth.
pub(super) struct Stack<B> {
    encoding: &'static dyn SparseEncoding,
    level: Level,
    /// Never empty; plies above `top` are kept for reuse.
    plies: Vec<Ply<B>>,
    top: usize,
    changes: Changes,
}

struct Ply<B> {
    position: Chess,
    origin: Origin,
    /// White's and Black's, or one for both.
    sums: [Vec<B>; 2],
    ready: [bool; 2],
}

/// How a position came onto the stack.
#[derive(Clone, Copy)]
pub(super) enum Origin {
    /// By itself: its accumulators are refreshed.
    Set,
    /// By a move, which updates those of the ply below.
    Move(Move),
    /// By a null move that changes no feature.
    Pass,
}

/// The features that an accumulator gains and loses, each as often as its amount says.
#[derive(Default)]
pub(super) struct Changes {
    features: FeatureList,
    pub(super) added: Vec<u16>,
    pub(super) removed: Vec<u16>,
}

impl Changes {
    /// Collects features by the sign of their amounts.
    pub(super) fn collect(&mut self, features: impl FnOnce(&mut FeatureList)) {
        self.features.clear();
        features(&mut self.features);
        self.added.clear();
        self.removed.clear();
        for feature in &self.features {
            let list = if feature.amount > 0 { &mut self.added } else { &mut self.removed };
            list.extend(std::iter::repeat_n(feature.index, usize::from(feature.amount.unsigned_abs())));
        }
    }
}

impl<B: SumBlock> Stack<B> {
    /// A stack of one position with accumulators as long as `bias`.
    pub(super) fn new(
        encoding: &'static dyn SparseEncoding,
        level: Level,
        bias: &[B],
        position: &Chess,
    ) -> Self {
        let sums = match encoding.perspectives() {
            Perspectives::Shared => [bias.to_vec(), Vec::new()],
            Perspectives::PerSide => [bias.to_vec(), bias.to_vec()],
        };
        let root = Ply { position: position.clone(), origin: Origin::Set, sums, ready: [false; 2] };
        Stack { encoding, level, plies: vec![root], top: 0, changes: Changes::default() }
    }

    pub(super) fn level(&self) -> Level {
        self.level
    }

    /// The position on top.
    pub(super) fn position(&self) -> &Chess {
        &self.plies[self.top].position
    }

    /// Clears the stack down to `position`.
    pub(super) fn set_position(&mut self, position: &Chess) {
        self.top = 0;
        self.plies[0].reset(position, Origin::Set);
    }

    pub(super) fn push(&mut self, position: &Chess, origin: Origin) {
        self.top += 1;
        if let Some(ply) = self.plies.get_mut(self.top) {
            ply.reset(position, origin);
            return;
        }
        let sums = self.plies[0].sums.clone();
        self.plies.push(Ply { position: position.clone(), origin, sums, ready: [false; 2] });
    }

    /// # Panics
    /// If there is only one position.
    pub(super) fn pop(&mut self) {
        self.top = self.top.checked_sub(1).expect("every pop follows a push");
    }

    /// Brings the accumulator of the position on top up to date for a perspective. `rows` are the weights of each feature.
    pub(super) fn update(&mut self, perspective: Color, rows: &[B], bias: &[B]) {
        let (slot, perspective) = self.slot(perspective);
        let mut first = self.top;
        while !self.plies[first].ready[slot] && !matches!(self.plies[first].origin, Origin::Set) {
            first -= 1;
        }
        if !self.plies[first].ready[slot] {
            let Ply { position, sums, ready, .. } = &mut self.plies[first];
            self.changes.collect(|features| self.encoding.features(position, perspective, features));
            let Changes { added, removed, .. } = &self.changes;
            self.level.run(Update { rows, from: bias, added, removed, to: &mut sums[slot] });
            ready[slot] = true;
        }
        for ply in first + 1..=self.top {
            let (below, from_here) = self.plies.split_at_mut(ply);
            let (before, after) = (&below[ply - 1], &mut from_here[0]);
            self.changes.collect(|features| {
                if let Origin::Move(m) = after.origin {
                    self.encoding.changes(&before.position, m, &after.position, perspective, features);
                }
            });
            let Changes { added, removed, .. } = &self.changes;
            let (from, to) = (&before.sums[slot][..], &mut after.sums[slot][..]);
            self.level.run(Update { rows, from, added, removed, to });
            after.ready[slot] = true;
        }
    }

    /// The accumulator of the position on top, as of the last [`update`](Stack::update).
    pub(super) fn sums(&self, perspective: Color) -> &[B] {
        &self.plies[self.top].sums[self.slot(perspective).0]
    }

    fn slot(&self, perspective: Color) -> (usize, Color) {
        match (self.encoding.perspectives(), perspective) {
            (Perspectives::Shared, _) | (Perspectives::PerSide, Color::White) => (0, Color::White),
            (Perspectives::PerSide, Color::Black) => (1, Color::Black),
        }
    }
}

impl<B> Ply<B> {
    fn reset(&mut self, position: &Chess, origin: Origin) {
        self.position.clone_from(position);
        self.origin = origin;
        self.ready = [false; 2];
    }
}
