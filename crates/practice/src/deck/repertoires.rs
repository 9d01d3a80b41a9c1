//! The cards of repertoires follow what the repertoires say.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Card, CardError, CardId, CardKind, Deck, NewCard, UnixMillis};

/// The tag of a card that was suspended because its line was removed.
pub const REMOVED_LINE: &str = "removed line";

/// The cards that a repertoire makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct RepertoireCards {
    /// The name of the repertoire, which is a tag of its cards.
    pub name: String,
    /// Its cards.
    pub cards: Vec<NewCard>,
}

/// What changed in a deck.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct SyncedCards {
    /// New cards.
    pub added: usize,
    /// Cards with other answers, names or tags than before.
    pub updated: usize,
    /// Cards whose lines were removed.
    pub suspended: usize,
    /// Cards whose lines came back.
    pub resumed: usize,
    /// All of them.
    pub changed: Vec<CardId>,
}

impl Deck {
    /// Makes the cards of repertoires what all repertoires say: new lines add cards, edited answers replace the old
    /// ones, and removed lines suspend their cards until they come back. Schedules stay. `former` are names of
    /// repertoires that were deleted or renamed; cards of other repertoires, as of a backup, are left alone.
    ///
    /// # Errors
    /// If a card is invalid; then nothing changes.
    pub fn sync_repertoires(
        &mut self,
        repertoires: Vec<RepertoireCards>,
        former: &[String],
        now: UnixMillis,
    ) -> Result<SyncedCards, CardError> {
        let names: BTreeSet<String> =
            repertoires.iter().map(|repertoire| &repertoire.name).chain(former).cloned().collect();
        let mut wanted: BTreeMap<CardId, Card> = BTreeMap::new();
        for card in repertoires.into_iter().flat_map(|repertoire| repertoire.cards) {
            let card = Card::new(card, now)?;
            match wanted.get_mut(&card.id) {
                Some(known) => known.merge_facts(card),
                None => {
                    wanted.insert(card.id.clone(), card);
                }
            }
        }
        let mut synced = SyncedCards::default();
        for card in self.cards.values_mut() {
            let of_repertoire = card.kind == CardKind::Repertoire && !card.tags.is_disjoint(&names);
            // One that was resumed by hand stays.
            let removed =
                of_repertoire && !wanted.contains_key(&card.id) && !card.tags.contains(REMOVED_LINE);
            if removed && !card.suspended {
                card.suspended = true;
                card.tags.insert(REMOVED_LINE.to_owned());
                synced.suspended += 1;
                synced.changed.push(card.id.clone());
            }
        }
        for (id, card) in wanted {
            let Some(known) = self.cards.get_mut(&id) else {
                synced.added += 1;
                synced.changed.push(id.clone());
                self.cards.insert(id, card);
                continue;
            };
            let before = known.clone();
            known.tags.retain(|tag| !names.contains(tag));
            known.tags.extend(card.tags);
            known.answers = card.answers;
            known.origins = card.origins;
            known.opening = card.opening;
            if known.tags.remove(REMOVED_LINE) {
                known.suspended = false;
                synced.resumed += 1;
                synced.changed.push(id);
            } else if *known != before {
                synced.updated += 1;
                synced.changed.push(id);
            }
        }
        Ok(synced)
    }
}
