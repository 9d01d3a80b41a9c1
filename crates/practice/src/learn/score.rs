//! How well an adapter predicts games it was not learned from.

use serde::Serialize;
use tabia_players::Adapter;
use tabia_runtime::RunError;

use super::games::{PersonGame, told};
use super::table::FLOOR;
use super::{Asked, Predict, Prediction};

/// Sums over moves, of a network told the rating in the game and of an adapter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveScores {
    /// Number of moves.
    pub moves: u32,
    /// Log-losses.
    pub log_loss: [f64; 2],
    /// Moves that are the likeliest one.
    pub top_1: [u32; 2],
}

impl MoveScores {
    /// Adds other moves.
    pub fn merge(&mut self, other: &MoveScores) {
        self.moves += other.moves;
        for side in 0..2 {
            self.log_loss[side] += other.log_loss[side];
            self.top_1[side] += other.top_1[side];
        }
    }
}

/// The figures of a game.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PersonScore {
    /// All of the person's moves.
    pub all: MoveScores,
    /// Those from ply 10 on.
    pub later: MoveScores,
}

/// The first ply that counts as later.
const LATER: usize = 10;

/// Compares an adapter with the network told the rating in the game.
///
/// # Errors
/// If the network fails.
pub fn score_game(
    adapter: &Adapter,
    game: &PersonGame,
    network: &dyn Predict,
) -> Result<PersonScore, RunError> {
    let mut score = PersonScore::default();
    let mut ratings = vec![game.rating()];
    let own_told = adapter.told(game.rating());
    if own_told != ratings[0] {
        ratings.push(own_told);
    }
    game.each(|history, own| {
        let said = network.predict(&Asked { game: game.key(), ply: own.ply, history, ratings: &ratings })?;
        let (Some(plain), Some(as_told)) = (said.first(), said.last()) else { return Ok(()) };
        let mut adapted: Prediction = as_told.clone();
        adapter.adapt(&told(history, own_told), &mut adapted.candidates);
        let mut one = MoveScores { moves: 1, ..MoveScores::default() };
        for (side, said) in [plain, &adapted].into_iter().enumerate() {
            let found = said.candidates.iter().position(|candidate| candidate.mv == own.played);
            let probability = found.map_or(0.0, |place| f64::from(said.candidates[place].probability));
            one.log_loss[side] = -probability.max(FLOOR).ln();
            one.top_1[side] = u32::from(found == Some(0));
        }
        score.all.merge(&one);
        if own.ply >= LATER {
            score.later.merge(&one);
        }
        Ok(())
    })?;
    Ok(score)
}
