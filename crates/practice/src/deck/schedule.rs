//! When a card is repeated: FSRS, by the library that Anki uses.

use fsrs::{DEFAULT_PARAMETERS, FSRS, MemoryState};
use serde::{Deserialize, Serialize};

use super::{DeckSettings, UnixMillis};

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// A forgotten card returns after this.
const RELEARN_MS: i64 = 10 * MINUTE_MS;

/// Seconds from which a right answer was hard.
const SLOW_SECONDS: f32 = 60.0;

/// The longest interval.
const MAX_DAYS: f32 = 3650.0;

/// How well a card was remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// Not at all.
    Again,
    /// With effort.
    Hard,
    /// Well.
    Good,
    /// At once.
    Easy,
}

impl Grade {
    /// The grade of a move that took so long.
    pub fn of_answer(correct: bool, seconds: f32) -> Grade {
        match correct {
            false => Grade::Again,
            true if seconds >= SLOW_SECONDS => Grade::Hard,
            true => Grade::Good,
        }
    }
}

/// A repetition of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Repetition {
    /// When.
    pub at: UnixMillis,
    /// How well it was remembered.
    pub grade: Grade,
}

/// What is known about the memory of a card.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    /// Days until the probability of remembering falls to 90%; 0 before the first repetition.
    stability: f32,
    /// From 1 to 10.
    difficulty: f32,
    due: UnixMillis,
    repetitions: Vec<Repetition>,
}

impl Schedule {
    /// Whether the card was never shown.
    pub fn is_new(&self) -> bool {
        self.repetitions.is_empty()
    }

    /// Whether it was shown and is due.
    pub fn is_due(&self, now: UnixMillis) -> bool {
        !self.is_new() && self.due <= now
    }

    /// When it is due.
    pub fn due(&self) -> UnixMillis {
        self.due
    }

    /// All repetitions, oldest first.
    pub fn repetitions(&self) -> &[Repetition] {
        &self.repetitions
    }

    /// Notes a repetition and schedules the next, with the default settings of decks.
    pub fn repeat(&mut self, grade: Grade, now: UnixMillis) {
        Scheduler::new(DeckSettings::default().retention).repeat(self, grade, now);
    }

    pub(super) fn is_finite(&self) -> bool {
        self.stability.is_finite() && self.difficulty.is_finite()
    }

    fn memory(&self) -> Option<MemoryState> {
        (!self.is_new()).then_some(MemoryState { stability: self.stability, difficulty: self.difficulty })
    }
}

/// Schedules cards for a probability of remembering them.
pub(super) struct Scheduler {
    fsrs: FSRS,
    retention: f32,
}

impl Scheduler {
    pub(super) fn new(retention: f32) -> Scheduler {
        let fsrs = FSRS::new(&DEFAULT_PARAMETERS).expect("the default parameters are valid");
        Scheduler { fsrs, retention: retention.clamp(0.7, 0.98) }
    }

    /// Notes a repetition and when the next is due.
    pub(super) fn repeat(&self, schedule: &mut Schedule, grade: Grade, now: UnixMillis) {
        let last = schedule.repetitions.last().map_or(now, |repetition| repetition.at);
        // A clock that was set back counts as the same day.
        let days = u32::try_from((now - last).max(0) / DAY_MS).unwrap_or(u32::MAX);
        let next = self.fsrs.next_states(schedule.memory(), self.retention, days);
        // Only a stored schedule out of its range has no next state; it starts again.
        let next = next.or_else(|_| self.fsrs.next_states(None, self.retention, 0));
        let next = next.expect("a new card has next states");
        let state = match grade {
            Grade::Again => next.again,
            Grade::Hard => next.hard,
            Grade::Good => next.good,
            Grade::Easy => next.easy,
        };
        schedule.stability = state.memory.stability;
        schedule.difficulty = state.memory.difficulty;
        schedule.due = now
            + match grade {
                Grade::Again => RELEARN_MS,
                // At least a day, so that a session ends.
                _ => (state.interval.clamp(1.0, MAX_DAYS) * DAY_MS as f32) as i64,
            };
        schedule.repetitions.push(Repetition { at: now, grade });
    }
}
