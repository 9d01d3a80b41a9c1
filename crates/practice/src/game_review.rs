//! The review of a whole game.

use serde::{Deserialize, Serialize};
use shakmaty::{Color, Position as _};
use tabia_encoding::RatingPool;
use tabia_game::{Game, TimeClass};
use tabia_players::PlayerError;

use crate::accuracy::game_accuracy;
use crate::library::GameHead;
use crate::rating::{RatingEstimate, RatingEvidence, RatingModel};
use crate::review::{ReviewInProgress, ReviewSettings, ReviewedMove, Reviewer, StartClock};

/// Identifies a game by its players, its date and its moves: the same game from two files has one key.
pub fn game_key(game: &Game) -> u64 {
    let mut hash = Fnv::default();
    for tag in ["White", "Black", "Date", "UTCDate", "UTCTime", "Round"] {
        hash.write(game.headers.get(tag).unwrap_or("").trim().as_bytes());
    }
    let mut position = game.start().clone();
    hash.write(tabia_game::fen_of(&position).as_bytes());
    for m in game.moves() {
        hash.write(m.to_uci(position.castles().mode()).to_string().as_bytes());
        position.play_unchecked(m);
    }
    hash.0
}

/// The 64-bit FNV-1a hash of strings.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, bytes: &[u8]) {
        // A byte that UTF-8 never has separates the strings.
        for byte in bytes.iter().chain(&[0xFF]) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// The review of a game.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GameReview {
    /// The [key](game_key) in hexadecimal.
    pub key: String,
    /// White's name.
    pub white: String,
    /// Black's name.
    pub black: String,
    /// White's rating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub white_rating: Option<u16>,
    /// Black's rating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub black_rating: Option<u16>,
    /// The date as PGN writes it, `2024.05.31`; empty if unknown.
    pub date: String,
    /// Where the game can be seen, or the event.
    pub site: String,
    /// `1-0`, `0-1`, `1/2-1/2` or `*`.
    pub result: String,
    /// The pool of the ratings.
    pub pool: RatingPool,
    /// The class of the time control.
    pub time_class: TimeClass,
    /// The family of the opening; empty if it has no name.
    pub opening: String,
    /// The moves that were reviewed.
    pub moves: Vec<ReviewedMove>,
    /// White's side.
    pub white_side: SideReview,
    /// Black's side.
    pub black_side: SideReview,
}

/// A player's side of a game.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SideReview {
    /// Its accuracy, from 0 to 100; `None` without moves.
    pub accuracy: Option<f64>,
    /// Winning chance lost, over all moves.
    pub loss: f64,
    /// Evidence of the rating: in the opening, the middlegame and the endgame.
    pub evidence: [RatingEvidence; 3],
}

impl SideReview {
    /// "You played like N", in a phase (its number) or in the whole game; `None` without evidence.
    pub fn played_like(&self, pool: RatingPool, phase: Option<usize>) -> Option<RatingEstimate> {
        let evidence = match phase {
            Some(phase) => self.evidence.get(phase).copied().unwrap_or_default(),
            None => RatingEvidence::sum(&self.evidence),
        };
        evidence.estimate(&RatingModel::of(pool))
    }
}

impl GameReview {
    /// A side.
    pub fn side(&self, color: Color) -> &SideReview {
        color.fold_wb(&self.white_side, &self.black_side)
    }

    /// A player's rating.
    pub fn rating(&self, color: Color) -> Option<u16> {
        color.fold_wb(self.white_rating, self.black_rating)
    }

    /// The colour of the player with this name, ignoring case; `None` if nobody has it.
    pub fn color_of(&self, name: &str) -> Option<Color> {
        let is = |player: &str| player.trim().to_lowercase() == name.trim().to_lowercase();
        match (is(&self.white), is(&self.black)) {
            (true, _) => Some(Color::White),
            (false, true) => Some(Color::Black),
            (false, false) => None,
        }
    }
}

impl Reviewer {
    /// Reviews the main line of a game.
    ///
    /// # Errors
    /// If the engine or the network fails.
    pub fn review(
        &mut self,
        game: &Game,
        settings: &ReviewSettings,
        clock: StartClock<'_>,
    ) -> Result<GameReview, PlayerError> {
        let mut review = self.start(game, settings.clone());
        let mut moves = Vec::with_capacity(review.moves_left());
        while let Some(reviewed) = self.step(&mut review, clock)? {
            moves.push(reviewed);
        }
        Ok(GameReview::new(game, &review, moves))
    }
}

impl GameReview {
    /// The review of a game from the [steps](Reviewer::step) of its main line.
    pub fn new(game: &Game, review: &ReviewInProgress, moves: Vec<ReviewedMove>) -> GameReview {
        let side = |color: Color| {
            let chances: Vec<(bool, f64, f64)> =
                moves.iter().map(|m| (m.color == color, m.win_before, m.win_after)).collect();
            SideReview {
                accuracy: game_accuracy(&chances),
                loss: moves.iter().filter(|m| m.color == color).map(ReviewedMove::loss).sum(),
                evidence: *review.evidence(color),
            }
        };
        let (white_side, black_side) = (side(Color::White), side(Color::Black));
        let head = GameHead::of(game);
        GameReview {
            key: head.key,
            white: head.white,
            black: head.black,
            white_rating: head.white_rating,
            black_rating: head.black_rating,
            date: head.date,
            site: head.site,
            result: head.result,
            pool: review.settings().pool.unwrap_or_else(|| game.rating_pool()),
            time_class: head.time_class,
            opening: head.opening,
            moves,
            white_side,
            black_side,
        }
    }
}
