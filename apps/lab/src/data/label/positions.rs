//! Selection of the positions to label, each once, in the order of the input.

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::ops::ControlFlow;

use shakmaty::{CastlingMode, Chess, EnPassantMode, FromSetup, Position};
use tabia_data::EvaluationRecord;
use twox_hash::XxHash3_64;

/// Which positions to label.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// Share of positions to keep, from 0 to 1.
    pub(super) share: f64,
    /// Maximum number of positions per game.
    pub(super) per_game: Option<usize>,
    pub(super) seed: u64,
    /// Maximum number of positions.
    pub(super) limit: Option<u64>,
    /// First ply of a game to label.
    pub(super) first_ply: usize,
    /// Share of positions replaced by one after one or two random moves, from 0 to 1.
    pub(super) random_moves: f64,
}

/// Counts of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Met {
    pub(super) chosen: u64,
    pub(super) duplicates: u64,
    /// Checkmates and stalemates, which are skipped.
    pub(super) over: u64,
    /// Chess960 positions, which are skipped.
    pub(super) chess960: u64,
    /// Positions that were replaced by random moves.
    pub(super) perturbed: u64,
}

/// A position and its hash, for deduplication and sampling.
#[derive(Clone)]
pub(super) struct Keyed {
    pub(super) position: Chess,
    pub(super) key: u64,
}

/// Selects positions from a sequence.
pub(super) struct Picker<S> {
    choice: Choice,
    seen: HashSet<u64>,
    met: Met,
    /// Takes a selected position; may stop the selection.
    sink: S,
}

impl<S: FnMut(Keyed) -> ControlFlow<()>> Picker<S> {
    pub(super) fn new(choice: Choice, sink: S) -> Picker<S> {
        Picker { choice, seen: HashSet::new(), met: Met::default(), sink }
    }

    pub(super) fn met(&self) -> Met {
        self.met
    }

    /// Offers a single position.
    pub(super) fn show(&mut self, position: &Chess) -> ControlFlow<()> {
        match self.look_at(position) {
            Some(keyed) => self.take(keyed),
            None => ControlFlow::Continue(()),
        }
    }

    /// Offers the positions of one game, in order.
    pub(super) fn show_game<'a>(&mut self, positions: impl Iterator<Item = &'a Chess>) -> ControlFlow<()> {
        let positions = positions.skip(self.choice.first_ply);
        let mut candidates: Vec<Keyed> = positions.filter_map(|position| self.look_at(position)).collect();
        if let Some(most) = self.choice.per_game.filter(|&most| most < candidates.len()) {
            let mut ranks: Vec<u64> = candidates.iter().map(|keyed| self.draw(keyed.key)).collect();
            ranks.sort_unstable();
            let bar = ranks.get(most).copied().unwrap_or(u64::MAX);
            candidates.retain(|keyed| self.draw(keyed.key) < bar);
        }
        candidates.into_iter().try_for_each(|keyed| self.take(keyed))
    }

    /// The position as it is labelled, if it is selected.
    fn look_at(&mut self, position: &Chess) -> Option<Keyed> {
        if position.castles().mode() == CastlingMode::Chess960 {
            self.met.chess960 += 1;
            return None;
        }
        if position.legal_moves().is_empty() {
            self.met.over += 1;
            return None;
        }
        let keyed = keyed(position)?;
        let drawn =
            self.choice.share >= 1.0 || (self.draw(keyed.key) as f64) < self.choice.share * 2f64.powi(64);
        drawn.then_some(keyed)
    }

    fn draw(&self, key: u64) -> u64 {
        XxHash3_64::oneshot_with_seed(self.choice.seed, &key.to_le_bytes())
    }

    fn take(&mut self, keyed: Keyed) -> ControlFlow<()> {
        if self.choice.limit.is_some_and(|limit| self.met.chosen >= limit) {
            return ControlFlow::Break(());
        }
        let perturbed = self.perturb(&keyed);
        let is_perturbed = perturbed.is_some();
        if perturbed.as_ref().is_some_and(|perturbed| perturbed.position.legal_moves().is_empty()) {
            self.met.over += 1;
            return ControlFlow::Continue(());
        }
        let keyed = perturbed.unwrap_or(keyed);
        if !self.seen.insert(keyed.key) {
            self.met.duplicates += 1;
            return ControlFlow::Continue(());
        }
        self.met.chosen += 1;
        self.met.perturbed += u64::from(is_perturbed);
        (self.sink)(keyed)
    }

    /// The replacement of a position after one or, as often, two random moves, if it is selected. Depends only on the position
    /// and the seed. Such positions are rare in games but common in searches.
    fn perturb(&self, from: &Keyed) -> Option<Keyed> {
        let mut random = fastrand::Rng::with_seed(self.draw(self.draw(from.key)));
        if random.f64() >= self.choice.random_moves {
            return None;
        }
        let mut position = from.position.clone();
        for _ in 0..random.u8(1..=2) {
            let moves = position.legal_moves();
            if let Some(&chosen) = random.choice(&moves) {
                position.play_unchecked(chosen);
            }
        }
        keyed(&position)
    }
}

/// The position with move counters `0 1`, and its key.
fn keyed(position: &Chess) -> Option<Keyed> {
    let mut setup = position.to_setup(EnPassantMode::Legal);
    setup.halfmoves = 0;
    setup.fullmoves = NonZeroU32::MIN;
    let position = Chess::from_setup(setup, CastlingMode::Standard).ok()?;
    let record = EvaluationRecord { position, sessions: Vec::new() };
    let key = record.key().ok()?.0;
    Some(Keyed { position: record.position, key })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Choice =
        Choice { share: 1.0, per_game: None, seed: 1, limit: None, first_ply: 0, random_moves: 0.0 };

    /// The positions of a random game.
    fn game(seed: u64) -> Vec<Chess> {
        let mut random = seed;
        let mut position = Chess::default();
        let mut positions = vec![position.clone()];
        while positions.len() < 60 && !position.legal_moves().is_empty() {
            random = XxHash3_64::oneshot(&random.to_le_bytes());
            let moves = position.legal_moves();
            position.play_unchecked(moves[(random % moves.len() as u64) as usize]);
            positions.push(position.clone());
        }
        positions
    }

    fn pick(choice: Choice, games: &[Vec<Chess>]) -> (Vec<u64>, Met) {
        let mut keys = Vec::new();
        let mut picker = Picker::new(choice, |keyed: Keyed| {
            keys.push(keyed.key);
            ControlFlow::Continue(())
        });
        let _enough = games.iter().try_for_each(|game| picker.show_game(game.iter()));
        let met = picker.met();
        (keys, met)
    }

    #[test]
    fn positions_are_unique_and_limited() {
        let games = [game(1), game(1), game(2)];
        let (keys, met) = pick(ALL, &games);
        let distinct: HashSet<u64> = keys.iter().copied().collect();
        assert_eq!(distinct.len(), keys.len());
        assert_eq!(met.chosen + met.duplicates + met.over, 180);
        assert!(met.duplicates > 60, "{met:?}");
        assert_eq!(pick(Choice { limit: Some(7), ..ALL }, &games).0, keys[..7]);
    }

    #[test]
    fn samples_depend_on_the_seed_only() {
        let games: Vec<_> = (0..50).map(game).collect();
        let (all, _) = pick(ALL, &games);
        let tenth = Choice { share: 0.1, ..ALL };
        let (some, _) = pick(tenth, &games);
        assert!(some.len() * 8 < all.len() && some.len() * 13 > all.len(), "{} of {}", some.len(), all.len());
        let backwards: Vec<_> = games.iter().rev().cloned().collect();
        let set = |keys: Vec<u64>| keys.into_iter().collect::<HashSet<u64>>();
        assert_eq!(set(pick(tenth, &backwards).0), set(some.clone()));
        assert_ne!(set(pick(Choice { seed: 2, ..tenth }, &games).0), set(some));
    }

    #[test]
    fn move_counters_are_ignored() {
        let of = |fen: &str| keyed(&tabia_game::position_from_fen(fen).unwrap()).unwrap();
        assert_eq!(of("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1").key, of("4k3/8/8/8/8/8/4P3/4K3 w - - 30 77").key);
        assert_ne!(of("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1").key, of("4k3/8/8/8/8/8/4P3/4K3 b - - 0 1").key);
    }
}
