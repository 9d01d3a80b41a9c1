//! Repertoires as PGN: games with variations, or a study with several chapters.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::cmp::Ordering;

use shakmaty::{ByColor, Color, Position as _};
use tabia_game::{Game, NodeId, PgnReader};

use super::Repertoire;

/// The largest text that is read.
const MOST_BYTES: usize = 16 << 20;
/// The most positions with a prepared move.
const MOST_POSITIONS: usize = 20_000;

/// A repertoire as it was read.
#[derive(Clone, Debug)]
pub struct RepertoireFile {
    /// The moves.
    pub repertoire: Repertoire,
    /// The name of each game: a chapter, an event or the players.
    pub chapters: Vec<String>,
    /// What is wrong with games that cannot be read to their end.
    pub problems: Vec<String>,
}

/// Why a text is no repertoire.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepertoireError {
    /// It is too long.
    #[error("{} MiB of PGN (expected at most {} MiB)", .0 >> 20, MOST_BYTES >> 20)]
    TooLong(usize),
    /// No game can be read.
    #[error("no game with moves{}", .0.as_ref().map(|problem| format!(": {problem}")).unwrap_or_default())]
    NoGame(Option<String>),
    /// The side makes no move.
    #[error("{0} makes no move in it")]
    NoMoves(Color),
    /// It is a collection of games.
    #[error("{0} positions (expected at most {MOST_POSITIONS} in a repertoire)")]
    TooManyPositions(usize),
}

impl Repertoire {
    /// Reads games with variations. Without a `color` it is [guessed](guess_color).
    ///
    /// # Errors
    /// If no game can be read, or there is too much of it.
    pub fn from_pgn(name: &str, color: Option<Color>, pgn: &str) -> Result<RepertoireFile, RepertoireError> {
        if pgn.len() > MOST_BYTES {
            return Err(RepertoireError::TooLong(pgn.len()));
        }
        let (mut games, mut problems) = (Vec::new(), Vec::new());
        for game in PgnReader::new(pgn.as_bytes()) {
            match game {
                Ok(game) => games.push(game),
                Err(broken) => {
                    problems.push(broken.to_string());
                    games.extend(broken.readable.map(|game| *game));
                }
            }
        }
        games.retain(|game| game.children(NodeId::ROOT).next().is_some());
        if games.is_empty() {
            return Err(RepertoireError::NoGame(problems.into_iter().next()));
        }
        let color = color.unwrap_or_else(|| guess_color(&games));
        let repertoire = Repertoire::new(color, name, &games);
        match repertoire.len() {
            0 => return Err(RepertoireError::NoMoves(color)),
            many if many > MOST_POSITIONS => return Err(RepertoireError::TooManyPositions(many)),
            _ => {}
        }
        Ok(RepertoireFile { repertoire, chapters: games.iter().map(chapter).collect(), problems })
    }
}

/// Whose repertoire games are: that of the `Orientation` tag of studies, or of the side with fewer alternatives, since a
/// repertoire has one move where the opponent has many; of two sides alike, the one that moves last.
pub fn guess_color(games: &[Game]) -> Color {
    let told = games.iter().find_map(|game| game.headers.get("Orientation"));
    if let Some(color) = told.and_then(named_color) {
        return color;
    }
    let (mut alternatives, mut ends) = (ByColor::<usize>::default(), ByColor::<usize>::default());
    for game in games {
        let mut stack = vec![(NodeId::ROOT, game.start().turn())];
        while let Some((node, turn)) = stack.pop() {
            match game.children(node).count() {
                // A line ends after the move of the side that is not to move.
                0 => ends[!turn] += 1,
                children => alternatives[turn] += children - 1,
            }
            stack.extend(game.children(node).map(|child| (child, !turn)));
        }
    }
    match alternatives.white.cmp(&alternatives.black) {
        Ordering::Less => Color::White,
        Ordering::Greater => Color::Black,
        Ordering::Equal => {
            if ends.white >= ends.black {
                Color::White
            } else {
                Color::Black
            }
        }
    }
}

fn chapter(game: &Game) -> String {
    let known = |name| game.headers.get(name).filter(|value| !matches!(value.trim(), "" | "?"));
    if let Some(name) = known("ChapterName").or_else(|| known("Event")) {
        return name.to_owned();
    }
    match (known("White"), known("Black")) {
        (None, None) => String::new(),
        (white, black) => format!("{} – {}", white.unwrap_or("?"), black.unwrap_or("?")),
    }
}

fn named_color(name: &str) -> Option<Color> {
    match name.trim().to_ascii_lowercase().as_str() {
        "white" => Some(Color::White),
        "black" => Some(Color::Black),
        _ => None,
    }
}
