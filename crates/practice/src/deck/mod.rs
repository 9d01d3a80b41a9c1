//! Positions to practise, repeated at growing intervals.
//!
//! A [`Card`] is a position in which I went wrong, or whose move I want to remember. The schedule is FSRS, as in Anki. Times come
//! from the caller, as Unix milliseconds.

mod anki;
mod card;
mod file;
mod repertoires;
mod schedule;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::schedule::Scheduler;
pub use self::{
    card::{Answer, Card, CardError, CardId, CardKind, Expectation, Explanation, MoveShare, NewCard, Origin},
    file::DeckError,
    repertoires::{REMOVED_LINE, RepertoireCards, SyncedCards},
    schedule::{Grade, Repetition, Schedule},
};

/// Milliseconds since 1970.
pub type UnixMillis = i64;

/// How many answers can be taken back.
const UNDO_LEVELS: usize = 100;

/// Cards by id, and how to repeat them.
#[derive(Debug, Default)]
pub struct Deck {
    cards: BTreeMap<CardId, Card>,
    settings: DeckSettings,
    /// Cards as they were before the last answers, newest last.
    undo: Vec<Card>,
}

/// Settings of a deck.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase", default)]
pub struct DeckSettings {
    /// The probability of remembering a card at which it is due.
    pub retention: f32,
}

impl Default for DeckSettings {
    fn default() -> DeckSettings {
        DeckSettings { retention: 0.9 }
    }
}

/// Which cards to practise; an empty filter is all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase", default)]
pub struct CardFilter {
    /// Of this kind.
    pub kind: Option<CardKind>,
    /// With this tag.
    pub tag: Option<String>,
    /// From openings whose name begins so.
    pub opening: Option<String>,
    /// From this phase.
    pub phase: Option<String>,
}

impl CardFilter {
    /// Whether a card passes.
    pub fn accepts(&self, card: &Card) -> bool {
        let matches = |wanted: &Option<String>, has: &Option<String>, whole: bool| match (wanted, has) {
            (None, _) => true,
            (Some(wanted), Some(has)) => {
                if whole {
                    has == wanted
                } else {
                    has.starts_with(wanted.as_str())
                }
            }
            (Some(_), None) => false,
        };
        self.kind.is_none_or(|kind| kind == card.kind)
            && self.tag.as_ref().is_none_or(|tag| card.tags.contains(tag))
            && matches(&self.opening, &card.opening, false)
            && matches(&self.phase, &card.phase, true)
    }
}

/// How many cards a deck has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct DeckCounts {
    /// Cards, suspended ones included.
    pub cards: usize,
    /// Due now and seen before.
    pub due: usize,
    /// Never seen.
    pub new: usize,
    /// Not shown until they are resumed.
    pub suspended: usize,
}

/// The verdict on an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    /// Whether the move is one of the good ones.
    pub correct: bool,
    /// The grade that was given for it.
    pub grade: Grade,
    /// When the card is due again.
    pub due: UnixMillis,
}

impl Deck {
    /// An empty deck.
    pub fn new(settings: DeckSettings) -> Deck {
        Deck { settings, ..Deck::default() }
    }

    /// The settings.
    pub fn settings(&self) -> DeckSettings {
        self.settings
    }

    /// All cards, in the order of their ids.
    pub fn cards(&self) -> impl Iterator<Item = &Card> {
        self.cards.values()
    }

    /// A card.
    pub fn card(&self, id: &CardId) -> Option<&Card> {
        self.cards.get(id)
    }

    /// Adds a card, or its origin to the card of the same position. Returns its id and whether it is new.
    ///
    /// # Errors
    /// If the position is illegal or a move is not legal in it.
    pub fn add(&mut self, card: NewCard, now: UnixMillis) -> Result<(CardId, bool), CardError> {
        let card = Card::new(card, now)?;
        let id = card.id.clone();
        match self.cards.get_mut(&id) {
            Some(known) => {
                known.merge_facts(card);
                Ok((id, false))
            }
            None => {
                self.cards.insert(id.clone(), card);
                Ok((id, true))
            }
        }
    }

    /// The cards to practise now, most overdue first, then new ones by what the mistake cost and by move.
    pub fn due(&self, now: UnixMillis, filter: &CardFilter) -> Vec<&Card> {
        let active = || self.cards().filter(|card| !card.suspended && filter.accepts(card));
        let mut seen: Vec<_> = active().filter(|card| card.schedule.is_due(now)).collect();
        seen.sort_by_key(|card| card.schedule.due());
        let mut new: Vec<_> = active().filter(|card| card.schedule.is_new()).collect();
        // Lines of a repertoire from their first moves on.
        let ply = |card: &Card| card.origins.first().and_then(|origin| origin.ply);
        new.sort_by(|a, b| b.loss.total_cmp(&a.loss).then_with(|| ply(a).cmp(&ply(b))));
        seen.extend(new);
        seen
    }

    /// The number of cards.
    pub fn counts(&self, now: UnixMillis) -> DeckCounts {
        let mut counts = DeckCounts { cards: self.cards.len(), ..DeckCounts::default() };
        for card in self.cards() {
            if card.suspended {
                counts.suspended += 1;
            } else if card.schedule.is_new() {
                counts.new += 1;
            } else if card.schedule.is_due(now) {
                counts.due += 1;
            }
        }
        counts
    }

    /// Grades a move that took `seconds`, and schedules the card. `None` if there is no such card.
    pub fn answer(&mut self, id: &CardId, uci: &str, seconds: f32, now: UnixMillis) -> Option<Verdict> {
        let correct = self.card(id)?.accepts(uci);
        let grade = Grade::of_answer(correct, seconds);
        let due = self.grade(id, grade, now)?;
        Some(Verdict { correct, grade, due })
    }

    /// Schedules a card by a grade; returns when it is due. `None` if there is no such card.
    pub fn grade(&mut self, id: &CardId, grade: Grade, now: UnixMillis) -> Option<UnixMillis> {
        let scheduler = Scheduler::new(self.settings.retention);
        let card = self.cards.get_mut(id)?;
        if self.undo.len() == UNDO_LEVELS {
            self.undo.remove(0);
        }
        self.undo.push(card.clone());
        scheduler.repeat(&mut card.schedule, grade, now);
        Some(card.schedule.due())
    }

    /// Takes the last answer back; returns its card.
    pub fn undo(&mut self) -> Option<CardId> {
        let card = self.undo.pop()?;
        let id = card.id.clone();
        // A card that was deleted since then stays deleted.
        let known = self.cards.get_mut(&id)?;
        known.schedule = card.schedule;
        Some(id)
    }

    /// Stops showing a card, or shows it again. Whether there is such a card.
    pub fn suspend(&mut self, id: &CardId, suspended: bool) -> bool {
        self.cards.get_mut(id).map(|card| card.suspended = suspended).is_some()
    }

    /// Deletes a card. Whether there was one.
    pub fn delete(&mut self, id: &CardId) -> bool {
        self.cards.remove(id).is_some()
    }

    /// Replaces the tags of a card. Whether there is such a card.
    pub fn set_tags(&mut self, id: &CardId, tags: impl IntoIterator<Item = String>) -> bool {
        let tags = tags.into_iter().map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect();
        self.cards.get_mut(id).map(|card| card.tags = tags).is_some()
    }

    /// Adds the cards of another deck. Of a card in both, the more often repeated schedule is kept. Returns the number of new
    /// cards.
    pub fn merge(&mut self, other: Deck) -> usize {
        let before = self.cards.len();
        for (id, card) in other.cards {
            match self.cards.get_mut(&id) {
                None => {
                    self.cards.insert(id, card);
                }
                Some(known) => {
                    if card.schedule.repetitions().len() > known.schedule.repetitions().len() {
                        known.schedule = card.schedule.clone();
                    }
                    known.merge_facts(card);
                }
            }
        }
        self.cards.len() - before
    }
}

#[cfg(test)]
mod tests;
