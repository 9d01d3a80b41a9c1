//! What lists and summaries need of a reviewed game, for one of its players.

use serde::{Deserialize, Serialize};
use shakmaty::Color;
use tabia_encoding::RatingPool;
use tabia_game::{Phase, TimeClass};

use crate::difficulty::Peers;
use crate::rating::{MIN_MOVES, RatingEstimate, RatingEvidence, RatingModel};
use crate::{GameReview, Mark, Side};

/// A tenth of a [`GameReview`]: the figures of one player, without lines and evaluations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GameFigures {
    /// The [key](crate::game_key) in hexadecimal.
    pub key: String,
    /// The player's colour.
    pub color: Side,
    /// The player's name.
    pub name: String,
    /// The opponent's name.
    pub opponent: String,
    /// The player's rating.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rating: Option<u16>,
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
    /// The player's accuracy, from 0 to 100; `None` without moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Evidence of the rating: in the opening, the middlegame and the endgame.
    pub evidence: [RatingEvidence; 3],
    /// The player's moves that were compared with those of peers.
    pub moves: Vec<MoveFigures>,
}

/// The figures of a move.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveFigures {
    /// Plies from the start, this one included.
    pub ply: u32,
    /// The move in algebraic notation.
    pub san: String,
    /// Its mark.
    #[serde(default, skip_serializing_if = "is_unmarked")]
    pub mark: Mark,
    /// The phase of the game.
    pub phase: Phase,
    /// Seconds on the player's clock before the move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<f64>,
    /// The winning chance that it lost.
    pub loss: f64,
    /// Its accuracy, from 0 to 100.
    pub accuracy: f64,
    /// What people of the rating lose there.
    pub peers: Peers,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_unmarked(mark: &Mark) -> bool {
    *mark == Mark::None
}

impl GameFigures {
    /// The figures of the player with a colour. Moves without [peers](crate::ReviewedMove::peers) are left out.
    pub fn of(game: &GameReview, color: Color) -> GameFigures {
        let side = game.side(color);
        let moves = game.moves.iter().filter(|reviewed| reviewed.color == color).filter_map(|reviewed| {
            Some(MoveFigures {
                ply: reviewed.ply,
                san: reviewed.san.clone(),
                mark: reviewed.mark,
                phase: reviewed.phase,
                clock: reviewed.clock,
                loss: reviewed.loss(),
                accuracy: reviewed.accuracy,
                peers: reviewed.peers?,
            })
        });
        GameFigures {
            key: game.key.clone(),
            color: color.into(),
            name: color.fold_wb(&game.white, &game.black).clone(),
            opponent: color.fold_wb(&game.black, &game.white).clone(),
            rating: game.rating(color),
            date: game.date.clone(),
            site: game.site.clone(),
            result: game.result.clone(),
            pool: game.pool,
            time_class: game.time_class,
            opening: game.opening.clone(),
            accuracy: side.accuracy,
            evidence: side.evidence,
            moves: moves.collect(),
        }
    }

    /// "You played like N" in this game; `None` after too few moves.
    pub fn played_like(&self) -> Option<RatingEstimate> {
        let evidence = RatingEvidence::sum(&self.evidence);
        (evidence.moves >= MIN_MOVES).then(|| evidence.estimate(&RatingModel::of(self.pool))).flatten()
    }
}
