//! The deck of positions to practise, and positions at odds.

use serde::{Deserialize, Serialize};
use tabia_game::{Odds, fen_of};
use tabia_practice::deck::{
    Card, CardFilter, CardId, Deck, DeckCounts, DeckSettings, Explanation, Grade, NewCard, RepertoireCards,
    SyncedCards, UnixMillis, Verdict,
};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{Fault, Side};

/// The initial position without what one side gives.
#[wasm_bindgen(js_name = oddsFen)]
pub fn odds_fen(odds: &str, giver: &str) -> Result<String, Fault> {
    let odds: Odds = odds.parse()?;
    let giver: Side = giver.parse()?;
    Ok(fen_of(&odds.start(giver.into())))
}

/// A card that was added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tsify)]
pub struct AddedCard {
    /// Its id.
    pub id: String,
    /// Whether the deck had no card of the position.
    pub new: bool,
}

/// The repertoires whose lines are cards.
#[derive(Clone, Debug, PartialEq, Deserialize, Tsify)]
pub struct AllRepertoires {
    /// All of them.
    pub repertoires: Vec<RepertoireCards>,
    /// Names of deleted or renamed ones.
    pub former: Vec<String>,
}

/// A deck of cards. Times are milliseconds since 1970.
#[wasm_bindgen]
pub struct PracticeDeck {
    deck: Deck,
}

#[wasm_bindgen]
impl PracticeDeck {
    /// An empty deck.
    #[wasm_bindgen(constructor)]
    #[expect(clippy::new_without_default, reason = "TypeScript has constructors only")]
    pub fn new() -> PracticeDeck {
        PracticeDeck { deck: Deck::new(DeckSettings::default()) }
    }

    /// Reads a deck.
    #[wasm_bindgen(js_name = fromJson)]
    pub fn from_json(text: &str) -> Result<PracticeDeck, Fault> {
        Ok(PracticeDeck { deck: Deck::from_json(text)? })
    }

    /// The whole deck as JSON.
    pub fn json(&self) -> String {
        self.deck.to_json()
    }

    /// One game per card.
    pub fn pgn(&self) -> String {
        self.deck.to_pgn()
    }

    /// Notes that Anki imports.
    pub fn anki(&self) -> String {
        self.deck.to_anki()
    }

    /// Adds the cards of another deck, as JSON; returns the number of new ones.
    pub fn merge(&mut self, text: &str) -> Result<usize, Fault> {
        Ok(self.deck.merge(Deck::from_json(text)?))
    }

    /// Adds a card.
    pub fn add(&mut self, card: &Ts<NewCard>, now: f64) -> Result<Ts<AddedCard>, Fault> {
        let (id, new) = self.deck.add(card.to_rust()?, millis(now))?;
        Ok(AddedCard { id: id.to_string(), new }.into_ts()?)
    }

    /// Makes the cards of repertoires what all repertoires say. `former` are names of deleted or renamed ones.
    #[wasm_bindgen(js_name = syncRepertoires)]
    pub fn sync_repertoires(&mut self, all: &Ts<AllRepertoires>, now: f64) -> Result<Ts<SyncedCards>, Fault> {
        let AllRepertoires { repertoires, former } = all.to_rust()?;
        Ok(self.deck.sync_repertoires(repertoires, &former, millis(now))?.into_ts()?)
    }

    /// All cards.
    pub fn cards(&self) -> Result<Vec<Ts<Card>>, Fault> {
        self.deck.cards().map(|card| Ok(card.into_ts()?)).collect()
    }

    /// A card.
    pub fn card(&self, id: &str) -> Result<Option<Ts<Card>>, Fault> {
        Ok(self.deck.card(&id.into()).map(Tsify::into_ts).transpose()?)
    }

    /// The cards to practise now, in order.
    pub fn due(&self, now: f64, filter: &Ts<CardFilter>) -> Result<Vec<Ts<Card>>, Fault> {
        let filter = filter.to_rust()?;
        self.deck.due(millis(now), &filter).into_iter().map(|card| Ok(card.into_ts()?)).collect()
    }

    /// The number of cards.
    pub fn counts(&self, now: f64) -> Result<Ts<DeckCounts>, Fault> {
        Ok(self.deck.counts(millis(now)).into_ts()?)
    }

    /// What to show after an answer.
    pub fn explanation(&self, id: &str) -> Result<Ts<Explanation>, Fault> {
        let card = self.deck.card(&id.into()).ok_or_else(|| unknown(id))?;
        Ok(card.explanation().into_ts()?)
    }

    /// Grades a move that took some seconds, and schedules the card.
    pub fn answer(&mut self, id: &str, uci: &str, seconds: f64, now: f64) -> Result<Ts<Verdict>, Fault> {
        let verdict = self.deck.answer(&id.into(), uci, seconds as f32, millis(now));
        Ok(verdict.ok_or_else(|| unknown(id))?.into_ts()?)
    }

    /// Schedules a card by a grade; returns when it is due.
    pub fn grade(&mut self, id: &str, grade: &Ts<Grade>, now: f64) -> Result<f64, Fault> {
        let due = self.deck.grade(&id.into(), grade.to_rust()?, millis(now));
        Ok(due.ok_or_else(|| unknown(id))? as f64)
    }

    /// Takes the last answer back; returns the id of its card.
    pub fn undo(&mut self) -> Option<String> {
        self.deck.undo().map(|id| id.to_string())
    }

    /// Stops showing a card, or shows it again.
    pub fn suspend(&mut self, id: &str, suspended: bool) -> Result<(), Fault> {
        self.deck.suspend(&id.into(), suspended).then_some(()).ok_or_else(|| unknown(id))
    }

    /// Deletes a card.
    pub fn delete(&mut self, id: &str) -> Result<(), Fault> {
        self.deck.delete(&id.into()).then_some(()).ok_or_else(|| unknown(id))
    }

    /// Replaces the tags of a card.
    #[wasm_bindgen(js_name = setTags)]
    pub fn set_tags(&mut self, id: &str, tags: Vec<String>) -> Result<(), Fault> {
        let id = CardId::from(id);
        self.deck.set_tags(&id, tags).then_some(()).ok_or_else(|| unknown(id.as_str()))
    }
}

fn unknown(id: &str) -> Fault {
    Fault::new(format!("no card {id:?}"))
}

/// A time as the browser has it.
fn millis(now: f64) -> UnixMillis {
    now as UnixMillis
}
