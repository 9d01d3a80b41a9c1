use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};
use shakmaty::{Chess, EnPassantMode, Move, Position, san::SanPlus, uci::UciMove, zobrist::Zobrist64};
use tabia_game::{fen_of, position_from_fen};

use super::{Schedule, UnixMillis};

/// Identifies a card by its kind and position, so that the same mistake in two games is one card.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(transparent)]
pub struct CardId(String);

impl CardId {
    fn new(kind: CardKind, position: &Chess) -> CardId {
        let hash: Zobrist64 = position.zobrist_hash(EnPassantMode::Legal);
        CardId(format!("{}-{:016x}", kind.name(), hash.0))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for CardId {
    fn from(text: &str) -> CardId {
        CardId(text.to_owned())
    }
}

impl fmt::Display for CardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a card is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "kebab-case")]
pub enum CardKind {
    /// A better move than the one I played.
    Mistake,
    /// The move of my repertoire.
    Repertoire,
    /// A puzzle I failed.
    Puzzle,
    /// A position I added.
    Position,
}

impl CardKind {
    fn name(self) -> &'static str {
        match self {
            CardKind::Mistake => "mistake",
            CardKind::Repertoire => "repertoire",
            CardKind::Puzzle => "puzzle",
            CardKind::Position => "position",
        }
    }
}

/// A good move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// In UCI notation.
    pub uci: String,
    /// The winning chance after it, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<f32>,
    /// The engine's line after it, in UCI notation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub line: Vec<String>,
}

/// How often people play a move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Expectation {
    /// In UCI notation.
    pub uci: String,
    /// The probability by the human network.
    pub probability: f32,
}

/// Where a card comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// A game, a study or a puzzle, as text.
    pub source: String,
    /// The half-move in it, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ply: Option<u32>,
}

/// What a card is made of. Moves are in UCI notation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct NewCard {
    /// What it is for.
    pub kind: CardKind,
    /// The position to move in.
    pub fen: String,
    /// Every move that counts as found, the best first.
    pub answers: Vec<Answer>,
    /// The move I played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub played: Option<String>,
    /// The winning chance that my move lost, from 0 to 1.
    #[serde(default)]
    pub loss: f32,
    /// What people of my rating play.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<Expectation>,
    /// What people 200 points above play.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stronger: Vec<Expectation>,
    /// The name of the opening.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<String>,
    /// The phase of the game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Tags to begin with.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tags: BTreeSet<String>,
}

/// A position to practise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// Its id.
    pub id: CardId,
    /// What it is for.
    pub kind: CardKind,
    /// The position to move in.
    pub fen: String,
    /// Every move that counts as found, the best first.
    pub answers: Vec<Answer>,
    /// The move I played.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub played: Option<String>,
    /// The winning chance that my move lost, from 0 to 1.
    pub loss: f32,
    /// What people of my rating play.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub peers: Vec<Expectation>,
    /// What people 200 points above play.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stronger: Vec<Expectation>,
    /// The name of the opening.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<String>,
    /// The phase of the game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// Every place it comes from.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub origins: BTreeSet<Origin>,
    /// Tags of my own.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub tags: BTreeSet<String>,
    /// Not shown until it is resumed.
    pub suspended: bool,
    /// When it was added.
    pub added: UnixMillis,
    /// When it is repeated.
    pub schedule: Schedule,
}

/// What to show after an answer, in SAN.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The best move and the engine's line.
    pub line: Vec<String>,
    /// The other good moves.
    pub also: Vec<String>,
    /// The move I played.
    pub played: Option<String>,
    /// What people of my rating play.
    pub peers: Vec<MoveShare>,
    /// What people 200 points above play.
    pub stronger: Vec<MoveShare>,
}

/// How often people play a move.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct MoveShare {
    /// The move in SAN.
    pub san: String,
    /// Its probability.
    pub probability: f32,
}

/// Why a card is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CardError {
    /// The position cannot be read or is illegal.
    #[error("invalid position {fen:?}: {problem}")]
    Position {
        /// As given.
        fen: String,
        /// What is wrong.
        problem: String,
    },
    /// A move cannot be read or is illegal.
    #[error("illegal move {uci:?} in {fen}")]
    Move {
        /// As given.
        uci: String,
        /// The position.
        fen: String,
    },
    /// There is no move to find.
    #[error("no good move is given for {0}")]
    NoAnswer(String),
    /// A number is not finite.
    #[error("{0} is not a number")]
    NotFinite(&'static str),
    /// The id of a stored card is not that of its position.
    #[error("the id {0} does not belong to its position")]
    WrongId(CardId),
}

impl Card {
    /// A card that was never shown.
    pub(super) fn new(new: NewCard, now: UnixMillis) -> Result<Card, CardError> {
        let position = position(&new.fen)?;
        let card = Card {
            id: CardId::new(new.kind, &position),
            kind: new.kind,
            // Normalised, so that equal positions have equal texts.
            fen: fen_of(&position),
            answers: new.answers,
            played: new.played,
            loss: new.loss,
            peers: new.peers,
            stronger: new.stronger,
            opening: new.opening,
            phase: new.phase,
            origins: new.origin.into_iter().collect(),
            tags: new.tags,
            suspended: false,
            added: now,
            schedule: Schedule::default(),
        };
        card.check()?;
        Ok(card)
    }

    /// Whether position and moves are legal.
    pub(super) fn check(&self) -> Result<(), CardError> {
        let position = position(&self.fen)?;
        if self.id != CardId::new(self.kind, &position) {
            return Err(CardError::WrongId(self.id.clone()));
        }
        if self.answers.is_empty() {
            return Err(CardError::NoAnswer(self.fen.clone()));
        }
        if !self.loss.is_finite() {
            return Err(CardError::NotFinite("the loss"));
        }
        if !self.schedule.is_finite() {
            return Err(CardError::NotFinite("the schedule"));
        }
        let expected = self.peers.iter().chain(&self.stronger).map(|expectation| &expectation.uci);
        for uci in expected.chain(&self.played) {
            legal(&position, uci)?;
        }
        for answer in &self.answers {
            let mut after = position.clone();
            for uci in std::iter::once(&answer.uci).chain(&answer.line) {
                let m = legal(&after, uci)?;
                after.play_unchecked(m);
            }
        }
        Ok(())
    }

    /// Whether a move is one of the good ones.
    pub fn accepts(&self, uci: &str) -> bool {
        self.answers.iter().any(|answer| answer.uci == uci)
    }

    /// The position; the start position should a card hold an illegal one, which none does.
    pub fn position(&self) -> Chess {
        position(&self.fen).unwrap_or_default()
    }

    /// A move in SAN; as it is if it is illegal.
    fn san(&self, uci: &str) -> String {
        let position = self.position();
        legal(&position, uci)
            .map_or_else(|_| uci.to_owned(), |m| SanPlus::from_move(position.clone(), m).to_string())
    }

    /// The best move and its line.
    pub(super) fn line(&self) -> Vec<Move> {
        let mut position = self.position();
        let Some(best) = self.answers.first() else { return Vec::new() };
        let mut line = Vec::new();
        for uci in std::iter::once(&best.uci).chain(&best.line) {
            let Ok(m) = legal(&position, uci) else { break };
            line.push(m);
            position.play_unchecked(m);
        }
        line
    }

    /// The best move and its line in SAN.
    fn line_san(&self) -> Vec<String> {
        let mut position = self.position();
        let san = |m: &Move| SanPlus::from_move_and_play_unchecked(&mut position, *m).to_string();
        self.line().iter().map(san).collect()
    }

    /// What to show after an answer.
    pub fn explanation(&self) -> Explanation {
        let share = |expected: &Expectation| MoveShare {
            san: self.san(&expected.uci),
            probability: expected.probability,
        };
        Explanation {
            line: self.line_san(),
            also: self.answers.iter().skip(1).map(|answer| self.san(&answer.uci)).collect(),
            played: self.played.as_deref().map(|uci| self.san(uci)),
            peers: self.peers.iter().map(share).collect(),
            stronger: self.stronger.iter().map(share).collect(),
        }
    }

    /// The move I played.
    pub(super) fn played_move(&self) -> Option<Move> {
        self.played.as_ref().and_then(|uci| legal(&self.position(), uci).ok())
    }

    /// Takes over where another card of the same position comes from, and newer facts.
    pub(super) fn merge_facts(&mut self, other: Card) {
        self.origins.extend(other.origins);
        self.tags.extend(other.tags);
        self.loss = self.loss.max(other.loss);
        self.played = other.played.or(self.played.take());
        self.opening = self.opening.take().or(other.opening);
        self.phase = self.phase.take().or(other.phase);
        if self.kind == CardKind::Repertoire {
            for answer in other.answers {
                if !self.accepts(&answer.uci) {
                    self.answers.push(answer);
                }
            }
        } else {
            self.answers = other.answers;
        }
        if !other.peers.is_empty() {
            self.peers = other.peers;
        }
        if !other.stronger.is_empty() {
            self.stronger = other.stronger;
        }
    }
}

fn position(fen: &str) -> Result<Chess, CardError> {
    position_from_fen(fen)
        .map_err(|error| CardError::Position { fen: fen.to_owned(), problem: error.to_string() })
}

fn legal(position: &Chess, uci: &str) -> Result<Move, CardError> {
    let parsed = uci.parse::<UciMove>().ok();
    parsed
        .and_then(|uci| uci.to_move(position).ok())
        .ok_or_else(|| CardError::Move { uci: uci.to_owned(), fen: fen_of(position) })
}
