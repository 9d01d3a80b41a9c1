//! The games of one person.

use std::time::Duration;

use shakmaty::{Chess, Color, Move, Position as _};
use tabia_encoding::{Elo, RatingPool, Situation};
use tabia_game::{Game, History};
use tabia_players::{MemoryMove, memory_key};

use crate::game_key;

/// A game of the person.
#[derive(Clone, Debug)]
pub struct PersonGame {
    key: u64,
    color: Color,
    start: History,
    moves: Vec<(Move, Option<Duration>)>,
    /// When it was played, as far as tags say.
    date: String,
}

/// One of the person's moves in a game.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OwnMove {
    /// Plies before it.
    pub ply: usize,
    pub played: Move,
    /// The [key](memory_key) of the position.
    pub position: u64,
    /// Seconds it took.
    pub seconds: Option<f32>,
}

impl PersonGame {
    /// The game, if the person of this name played it: names are compared without case. Games from other initial positions
    /// than the usual one count too.
    pub fn of(game: &Game, name: &str) -> Option<PersonGame> {
        let name = name.trim().to_lowercase();
        let is = |tag| game.headers.get(tag).is_some_and(|of| of.trim().to_lowercase() == name);
        let color = match (is("White"), is("Black")) {
            (true, false) => Color::White,
            (false, true) => Color::Black,
            // Nobody plays against themselves.
            _ => return None,
        };
        let tag = |name| game.headers.get(name).unwrap_or("").trim();
        let date = [tag("UTCDate"), tag("Date")].into_iter().find(|date| !matches!(*date, "" | "????.??.??"));
        let moves = game.mainline().filter_map(|node| Some((game.move_to(node)?, game.notes(node).clock)));
        Some(PersonGame {
            key: game_key(game),
            color,
            start: History::at_start_of(game),
            moves: moves.collect(),
            date: format!("{} {}", date.unwrap_or_default(), tag("UTCTime")),
        })
    }

    #[cfg(test)]
    pub(super) fn of_moves(
        key: u64,
        color: Color,
        start: History,
        moves: Vec<(Move, Option<Duration>)>,
        date: String,
    ) -> PersonGame {
        PersonGame { key, color, start, moves, date }
    }

    /// Identifies the game.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// Games in the order they were played sort by it; unknown dates come first.
    pub fn date(&self) -> &str {
        &self.date
    }

    /// The person's rating in the game.
    pub fn rating(&self) -> Option<Elo> {
        let situation = self.start.situation();
        if situation.position.turn() == self.color {
            situation.mover.rating
        } else {
            situation.opponent.rating
        }
    }

    /// The pool of the rating.
    pub fn pool(&self) -> RatingPool {
        self.start.situation().pool
    }

    /// The number of the person's moves.
    pub fn own_moves(&self) -> usize {
        let first = usize::from(self.start.current().turn() != self.color);
        self.moves.len().saturating_sub(first).div_ceil(2)
    }

    /// Visits the person's moves with the game before each.
    pub(super) fn each<E>(&self, mut visit: impl FnMut(&History, OwnMove) -> Result<(), E>) -> Result<(), E> {
        let mut history = self.start.clone();
        for (ply, &(played, clock)) in self.moves.iter().enumerate() {
            if history.current().turn() == self.color {
                let situation = history.situation();
                let increment = situation.pace.map_or(Duration::ZERO, |pace| pace.increment);
                let spent = situation.mover.time_left.zip(clock);
                let spent = spent.map(|(before, after)| (before + increment).saturating_sub(after));
                let position = memory_key(history.current());
                let seconds = spent.map(|spent| spent.as_secs_f32());
                visit(&history, OwnMove { ply, played, position, seconds })?;
            }
            history.push(played, clock);
        }
        Ok(())
    }

    /// The positions and moves of the person in the first plies.
    pub(super) fn opening(&self, plies: usize) -> Vec<(u64, MemoryMove)> {
        let mut position: Chess = self.start.current().clone();
        let mut found = Vec::new();
        for (played, _) in self.moves.iter().take(plies) {
            if position.turn() == self.color {
                found.push((memory_key(&position), (*played).into()));
            }
            position.play_unchecked(*played);
        }
        found
    }
}

/// The situation of a person who has this rating; `None` leaves it unknown.
pub(super) fn told<'a>(history: &'a History, rating: Option<Elo>) -> Situation<'a> {
    let mut situation = history.situation();
    situation.mover.rating = rating;
    situation
}
