//! A deck as a file: JSON with everything, PGN to look at.

use pgn_reader::Nag;
use serde::{Deserialize, Serialize};
use tabia_game::{Game, NodeId, write_game};

use super::{Card, CardError, Deck, DeckSettings};

const FORMAT: &str = "tabia-deck";
/// The newest version. A change that older programs would misread raises it; older versions stay readable.
const VERSION: u32 = 1;

/// `?`
const MISTAKE: Nag = Nag(2);

/// A deck as JSON.
#[derive(Serialize, Deserialize)]
struct DeckFile<C> {
    format: String,
    version: u32,
    #[serde(default)]
    settings: DeckSettings,
    cards: C,
}

/// Why a file is no deck.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeckError {
    /// It is not JSON, or not of this form.
    #[error("invalid deck: {0}")]
    Json(#[from] serde_json::Error),
    /// It is another kind of file.
    #[error("format {0:?} (expected {FORMAT:?})")]
    Format(String),
    /// It was written by a newer program.
    #[error("version {0} of the deck format (this program reads up to {VERSION})")]
    Version(u32),
    /// A card is invalid.
    #[error("card {number}: {error}")]
    Card {
        /// Its place in the file, from 1.
        number: usize,
        /// What is wrong.
        error: CardError,
    },
}

impl Deck {
    /// The whole deck as JSON.
    pub fn to_json(&self) -> String {
        let file = DeckFile {
            format: FORMAT.to_owned(),
            version: VERSION,
            settings: self.settings(),
            cards: self.cards().collect::<Vec<_>>(),
        };
        serde_json::to_string(&file).expect("cards have string keys only")
    }

    /// Reads a deck; nothing is kept of an invalid one.
    ///
    /// # Errors
    /// If it is not a deck, or a card in it is invalid.
    pub fn from_json(text: &str) -> Result<Deck, DeckError> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        // First, so that a newer version is named instead of a missing field.
        let head: Head = serde_json::from_str(text)?;
        if head.format != FORMAT {
            return Err(DeckError::Format(head.format));
        }
        if head.version > VERSION {
            return Err(DeckError::Version(head.version));
        }
        let file: DeckFile<Vec<Card>> = serde_json::from_str(text)?;
        let mut deck = Deck::new(file.settings);
        for (index, card) in file.cards.into_iter().enumerate() {
            card.check().map_err(|error| DeckError::Card { number: index + 1, error })?;
            deck.cards.insert(card.id.clone(), card);
        }
        Ok(deck)
    }

    /// One game per card: the position, the good line, and what was played as a variation.
    pub fn to_pgn(&self) -> String {
        let mut pgn = Vec::new();
        for card in self.cards() {
            write_game(&game(card), &mut pgn).expect("writing to memory succeeds");
        }
        String::from_utf8_lossy(&pgn).into_owned()
    }
}

fn game(card: &Card) -> Game {
    let mut game = Game::from_position(card.position());
    let event = card.origins.first().map_or("Practice", |origin| origin.source.as_str());
    let tags =
        [("Event", Some(event)), ("Opening", card.opening.as_deref()), ("CardId", Some(card.id.as_str()))];
    for (name, value) in tags {
        if let Some(value) = value {
            game.headers.set(name, value).expect("the names are valid");
        }
    }
    let mut node = NodeId::ROOT;
    for m in card.line() {
        node = game.add_move(node, m).expect("the line is legal");
    }
    if let Some(m) = card.played_move() {
        let played = game.add_move(NodeId::ROOT, m).expect("the move is legal");
        // A move that is good and was played needs no mark.
        if game.line_after(NodeId::ROOT).next() != Some(played) {
            game.notes_mut(played).nags.push(MISTAKE);
        }
    }
    game
}
