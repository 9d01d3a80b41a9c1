//! Teacher networks: policies to distil beside the moves of games.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tabia_encoding::{
    Elo, MoveSubset, MoveVocabulary, OwnedSituation, Pace, PlayerInfo, RatingPool, Situation,
};
use tabia_model::{LoadError, Model};

use crate::{PolicyTargets, SoftTargets};

/// Batch size of a teacher.
const ASKED_AT_ONCE: usize = 32;
/// Moves with a lower probability are left out of the targets.
const UNLIKELY: f32 = 1e-4;

/// The time controls, in seconds, that a distilled position is labelled with.
const PACES: [(u64, u64); 7] = [(180, 0), (180, 2), (300, 0), (300, 3), (600, 0), (600, 5), (900, 10)];
/// The shortest clock time given: people in time trouble play differently from a teacher that sees no clock.
const SHORTEST_CLOCK: f32 = 30.0;

/// A policy network, and the rating it plays at.
#[derive(Clone)]
pub struct Teacher {
    model: Arc<Model>,
    rating: Elo,
    pool: RatingPool,
}

impl std::fmt::Debug for Teacher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Teacher { model, rating, pool } = self;
        f.debug_struct("Teacher")
            .field("model", &model.sha256())
            .field("rating", rating)
            .field("pool", pool)
            .finish()
    }
}

/// Why a network cannot be a teacher.
#[derive(Debug, thiserror::Error)]
pub enum TeacherError {
    /// It cannot be read.
    #[error("the teacher {file}: {error}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        error: Box<LoadError>,
    },
    /// It has no policy head.
    #[error("the teacher {file} has no move head")]
    NoMoveHead {
        /// The file.
        file: String,
    },
}

impl Teacher {
    /// The network in `file`, which plays like people of `rating` on the scale of `pool`.
    ///
    /// # Errors
    /// If it cannot be read, or has no move head.
    pub fn open(file: &Path, rating: Elo, pool: RatingPool) -> Result<Teacher, TeacherError> {
        let name = || file.display().to_string();
        let model = Model::open(file)
            .map_err(|error| TeacherError::Unreadable { file: name(), error: Box::new(error) })?;
        if model.card().policy.is_none() {
            return Err(TeacherError::NoMoveHead { file: name() });
        }
        Ok(Teacher { model: Arc::new(model), rating, pool })
    }

    /// The situation the student sees: the teacher's rating for both players and, for half of the positions, a random time
    /// control and clocks. The game is the same.
    fn student_view<'a>(&self, known: &Situation<'a>, random: &mut Rng) -> Situation<'a> {
        let timed = random.bool();
        let (base, increment) = PACES[random.usize(..PACES.len())];
        let base = Duration::from_secs(base);
        let mut player = || {
            let left = SHORTEST_CLOCK + random.f32() * (base.as_secs_f32() - SHORTEST_CLOCK);
            PlayerInfo { rating: Some(self.rating), time_left: timed.then(|| Duration::from_secs_f32(left)) }
        };
        Situation {
            mover: player(),
            opponent: player(),
            pool: self.pool,
            pace: timed.then(|| Pace { base, increment: Duration::from_secs(increment) }),
            ..*known
        }
    }
}

/// Teachers, and the positions of the batch that wait for their policies.
#[derive(Debug, Default)]
pub(crate) struct Distillation {
    teachers: Arc<[Teacher]>,
    /// For each teacher: the rows of the batch, and their situations.
    waiting: Vec<Vec<(usize, OwnedSituation)>>,
}

impl Distillation {
    pub(crate) fn new(teachers: Arc<[Teacher]>) -> Distillation {
        let waiting = teachers.iter().map(|_| Vec::new()).collect();
        Distillation { teachers, waiting }
    }

    /// Whether there are no teachers.
    pub(crate) fn is_empty(&self) -> bool {
        self.teachers.is_empty()
    }

    /// Queues the position, which becomes row `row`, for a random teacher; returns the situation the student sees.
    pub(crate) fn ask<'a>(&mut self, row: usize, known: &Situation<'a>, random: &mut Rng) -> Situation<'a> {
        let chosen = random.usize(..self.teachers.len());
        let teacher = &self.teachers[chosen];
        let seen = teacher.student_view(known, random);
        self.waiting[chosen].push((row, OwnedSituation::of(&seen)));
        seen
    }

    /// Runs the teachers, and writes their policies into the targets of their rows.
    pub(crate) fn hold(
        &mut self,
        policy: &mut PolicyTargets,
        vocabulary: &dyn MoveVocabulary,
        known: Option<&MoveSubset>,
    ) -> Result<(), String> {
        let mut answers = Vec::new();
        for (teacher, waiting) in self.teachers.iter().zip(&mut self.waiting) {
            for asked in waiting.chunks(ASKED_AT_ONCE) {
                let situations: Vec<_> = asked.iter().map(|(_, kept)| kept.get()).collect();
                let said = teacher.model.evaluate(&situations).map_err(|error| error.to_string())?;
                for ((row, _), (situation, evaluation)) in asked.iter().zip(situations.iter().zip(said)) {
                    let turn = shakmaty::Position::turn(situation.position);
                    let moves = evaluation.policy.as_ref().map_or(&[][..], |policy| policy.candidates());
                    let likely = moves.iter().filter(|candidate| candidate.probability >= UNLIKELY);
                    let entries = likely.filter_map(|candidate| {
                        let index = vocabulary.slot(turn, candidate.mv).index;
                        let has = known.is_none_or(|known| known.contains(index));
                        has.then_some((index.0, candidate.probability))
                    });
                    answers.push((*row, normalised(entries)));
                }
            }
            waiting.clear();
        }
        answers.sort_by_key(|(row, _)| *row);
        replace(&mut policy.soft, policy.played.len(), &answers);
        for (row, answer) in answers {
            let best = answer.into_iter().reduce(|best, entry| if entry.1 > best.1 { entry } else { best });
            if let (Some(played), Some((index, _))) = (policy.played.get_mut(row), best) {
                *played = index;
            }
        }
        Ok(())
    }
}

/// Each index once, with probabilities that add up to one: a pawn that promotes has four moves with one index.
fn normalised(entries: impl Iterator<Item = (u16, f32)>) -> Vec<(u16, f32)> {
    let mut entries: Vec<(u16, f32)> = entries.collect();
    entries.sort_by_key(|(index, _)| *index);
    entries.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 += if same { next.1 } else { 0.0 };
        same
    });
    let total: f32 = entries.iter().map(|(_, probability)| probability).sum();
    entries.iter_mut().for_each(|(_, probability)| *probability /= total);
    entries
}

/// Gives some rows, in ascending order, other soft targets.
fn replace(soft: &mut SoftTargets, rows: usize, answers: &[(usize, Vec<(u16, f32)>)]) {
    if answers.is_empty() {
        return;
    }
    let old = std::mem::take(soft);
    let mut answers = answers.iter().peekable();
    soft.starts.push(0);
    for row in 0..rows {
        if let Some((_, answer)) = answers.next_if(|(of, _)| *of == row) {
            soft.indices.extend(answer.iter().map(|(index, _)| index));
            soft.probabilities.extend(answer.iter().map(|(_, probability)| probability));
        } else if let Some(&[start, end]) = old.starts.get(row..row + 2) {
            soft.indices.extend(&old.indices[start as usize..end as usize]);
            soft.probabilities.extend(&old.probabilities[start as usize..end as usize]);
        }
        soft.starts.push(soft.indices.len() as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_with_one_index_are_merged_in_targets() {
        let entries = normalised([(9, 0.2), (4, 0.1), (9, 0.1)].into_iter());
        assert_eq!(entries.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [4, 9]);
        assert!((entries[0].1 - 0.25).abs() < 1e-6 && (entries[1].1 - 0.75).abs() < 1e-6);
    }

    #[test]
    fn rows_without_a_teacher_keep_their_targets() {
        let mut soft = SoftTargets {
            starts: vec![0, 0, 1, 3],
            indices: vec![7, 8, 9],
            probabilities: vec![1.0, 0.5, 0.5],
        };
        replace(&mut soft, 3, &[(0, vec![(1, 1.0)]), (1, vec![(2, 0.3), (3, 0.7)])]);
        assert_eq!(soft.starts, [0, 1, 3, 5]);
        assert_eq!(soft.indices, [1, 2, 3, 8, 9]);
        assert_eq!(soft.probabilities, [1.0, 0.3, 0.7, 0.5, 0.5]);

        let mut none = SoftTargets::default();
        replace(&mut none, 2, &[]);
        assert_eq!(none, SoftTargets::default());
        replace(&mut none, 3, &[(1, vec![(5, 1.0)])]);
        assert_eq!((none.starts, none.indices), (vec![0, 0, 1, 1], vec![5]));
    }
}
