//! Cards of positions: the engine's good moves, and what people play.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use shakmaty::{Move, Position as _};
use tabia_encoding::Elo;
use tabia_game::{Game, History, NodeId, Phase, fen_of};
use tabia_model::Policy;
use tabia_players::{Limits, PlayerError, winning_chance};

use crate::deck::{Answer, CardKind, Expectation, NewCard, Origin};
use crate::openings::opening_family;
use crate::rating::with_rating;
use crate::review::{Reviewer, StartClock, uci};

/// Moves that lose less of the winning chance than this are good too.
const GOOD: f64 = 0.04;
/// The moves that are looked at.
const LINES: usize = 5;
/// The longest line after a good move, in plies.
const LINE: usize = 7;
/// The moves of people that are listed.
const LISTED: usize = 4;
/// How much stronger the people are who find what can be learned.
const STRONGER: u16 = 200;
const MAX_RATING: u16 = 2600;
/// A mistake can be learned from if stronger people find a good move at least this often.
const LEARNABLE: f32 = 0.15;

/// What a card is about, besides the position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "tsify", derive(tsify::Tsify))]
#[serde(rename_all = "camelCase")]
pub struct CardSubject {
    /// What it is for.
    pub kind: CardKind,
    /// My rating; that in the game if it is missing.
    #[serde(default)]
    pub rating: Option<u16>,
    /// The move I played, in UCI notation.
    #[serde(default)]
    pub played: Option<String>,
    /// The winning chance that it lost.
    #[serde(default)]
    pub loss: f32,
    /// The name of the opening.
    #[serde(default)]
    pub opening: Option<String>,
    /// A game or a study, as text.
    pub source: String,
    /// The half-move in it, from 1.
    pub ply: u32,
    /// Its tags.
    #[serde(default)]
    pub tags: BTreeSet<String>,
}

impl CardSubject {
    /// The mistake that a player of a game made in a half-move; with it, the position before. `None` if the main line is
    /// shorter.
    pub fn of_mistake(game: &Game, ply: u32, loss: f32) -> Option<(History, CardSubject)> {
        let number = usize::try_from(ply).ok()?.checked_sub(1)?;
        let node = game.mainline().nth(number)?;
        let before = game.parent(node).unwrap_or(NodeId::ROOT);
        let history = game.history(before);
        let name = |tag| game.headers.get(tag).filter(|name| !matches!(*name, "" | "?")).unwrap_or("?");
        let played = uci(history.current(), game.move_to(node)?);
        let subject = CardSubject {
            kind: CardKind::Mistake,
            rating: history.situation().mover.rating.map(|rating| rating.0),
            played: Some(played),
            loss,
            opening: opening_family(game).map(str::to_owned),
            source: format!("{} – {}", name("White"), name("Black")),
            ply,
            tags: BTreeSet::new(),
        };
        Some((history, subject))
    }
}

impl Reviewer {
    /// A card for the current position of a game; `None` if the game is over.
    ///
    /// # Errors
    /// If the engine or the network fails.
    pub fn new_card(
        &mut self,
        history: &History,
        subject: CardSubject,
        limits: &Limits,
        clock: StartClock<'_>,
    ) -> Result<Option<NewCard>, PlayerError> {
        let position = history.current();
        if position.legal_moves().is_empty() {
            return Ok(None);
        }
        let limits = Limits { lines: LINES, ..limits.clone() };
        let choice = self.engine.choose(history, &limits, &*clock())?;
        let chance = |score| winning_chance(score);
        let best = choice.lines.first().and_then(|line| line.score).map_or(0.5, chance);
        let mut answers: Vec<Answer> = choice
            .lines
            .iter()
            .filter_map(|line| Some((line, line.score.map(chance)?)))
            .filter(|(_, chance)| best - chance <= GOOD)
            .filter_map(|(line, chance)| answer(position, &line.moves, Some(chance)))
            .collect();
        if answers.is_empty() {
            answers.extend(answer(position, &[choice.mv], None));
        }
        let told = history.situation();
        let rating = subject.rating.or(told.mover.rating.map(|rating| rating.0));
        let asked = match rating {
            Some(rating) => {
                let above = rating.saturating_add(STRONGER).min(MAX_RATING.max(rating));
                [with_rating(&told, Elo(rating)), with_rating(&told, Elo(above))]
            }
            None => [told, told],
        };
        let mut said = self.human.evaluate(&asked)?.into_iter().map(|said| said.policy.unwrap_or_default());
        let mut likeliest = || said.next().map(|policy| likeliest(position, &policy)).unwrap_or_default();
        let (peers, stronger) = (likeliest(), likeliest());
        Ok(Some(NewCard {
            kind: subject.kind,
            fen: fen_of(position),
            answers,
            played: subject.played,
            loss: subject.loss,
            peers,
            stronger,
            opening: subject.opening,
            phase: Some(Phase::of(position.board()).name().to_owned()),
            origin: Some(Origin { source: subject.source, ply: Some(subject.ply) }),
            tags: subject.tags,
        }))
    }
}

impl NewCard {
    /// Whether people somewhat stronger find a good move often enough to learn it.
    pub fn is_learnable(&self) -> bool {
        let is_good = |expected: &&Expectation| self.answers.iter().any(|answer| answer.uci == expected.uci);
        let found: f32 = self.stronger.iter().filter(is_good).map(|expected| expected.probability).sum();
        found >= LEARNABLE
    }
}

/// A move and the line after it; `None` for an empty line.
fn answer(position: &shakmaty::Chess, moves: &[Move], chance: Option<f64>) -> Option<Answer> {
    let mut at = position.clone();
    let mut line = moves.iter().take(1 + LINE).map(|m| {
        let text = uci(&at, *m);
        at.play_unchecked(*m);
        text
    });
    Some(Answer { uci: line.next()?, chance: chance.map(|chance| chance as f32), line: line.collect() })
}

fn likeliest(position: &shakmaty::Chess, policy: &Policy) -> Vec<Expectation> {
    let listed = policy.candidates().iter().take(LISTED);
    listed.map(|m| Expectation { uci: uci(position, m.mv), probability: m.probability }).collect()
}
