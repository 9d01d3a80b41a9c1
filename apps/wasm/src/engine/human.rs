//! Predictions for people of given ratings.

use serde::Serialize;
use shakmaty::Position as _;
use tabia_encoding::{Elo, RatingPool, Situation, time_bin_range};
use tabia_model::{Evaluation, Model};
use tsify::Tsify;

use super::{
    input::{GameInput, elo},
    thought::wdl_for_white,
};
use crate::{Fault, notation};

/// A move and its probability.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
pub struct HumanMove {
    /// The move in UCI notation.
    pub uci: String,
    /// The move in algebraic notation.
    pub san: String,
    /// Its probability.
    pub probability: f32,
}

/// A thinking time and its probability.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Tsify)]
pub struct PauseChance {
    /// The middle of its bin in seconds.
    pub seconds: f32,
    /// Its probability.
    pub chance: f32,
}

/// The prediction for people of a rating.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[tsify(missing_as_null)]
pub struct HumanView {
    /// The rating asked for.
    pub rating: Option<f64>,
    /// All legal moves, likeliest first.
    pub moves: Vec<HumanMove>,
    /// The probabilities of a White win, a draw and a Black win.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wdl: Option<(f32, f32, f32)>,
    /// The thinking times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Vec<PauseChance>>,
}

/// The largest number of ratings per call.
const MOST_RATINGS: usize = 128;

/// One prediction per rating of the side to move.
pub(super) fn views(
    model: &Model,
    game: &GameInput,
    ratings: &[Option<f64>],
) -> Result<Vec<HumanView>, Fault> {
    if model.card().policy.is_none() {
        return Err(Fault::new("the network has no policy head"));
    }
    if ratings.len() > MOST_RATINGS {
        return Err(Fault::new(format!("{} ratings (expected at most {MOST_RATINGS})", ratings.len())));
    }
    let history = game.history()?;
    let situation = history.situation();
    let rated = |rating: &Option<f64>| -> Result<Situation<'_>, Fault> {
        let rating: Option<Elo> = rating.map(|rating| elo("ratings", rating)).transpose()?;
        let mut situation = situation;
        situation.mover.rating = rating;
        // With one rating alone, no position would be even.
        situation.opponent.rating = situation.opponent.rating.or(rating);
        // A bare number is a Lichess rating.
        if rating.is_some() && game.pool.is_none() {
            situation.pool = RatingPool::Lichess;
        }
        Ok(situation)
    };
    let situations: Vec<_> = ratings.iter().map(rated).collect::<Result<_, _>>()?;
    let evaluations = model.evaluate(&situations)?;
    Ok(ratings.iter().zip(&evaluations).map(|(rating, said)| view(*rating, &situation, said)).collect())
}

fn view(rating: Option<f64>, situation: &Situation<'_>, said: &Evaluation) -> HumanView {
    let position = situation.position;
    let candidates = said.policy.as_ref().map_or(&[][..], |policy| policy.candidates());
    let moves = candidates.iter().map(|candidate| HumanMove {
        uci: notation::uci(position, candidate.mv),
        san: notation::san(position, candidate.mv),
        probability: candidate.probability,
    });
    let pause = said.think_time.as_ref().map(|chances| {
        let middle = |bin| {
            let range = time_bin_range(bin);
            (range.start + range.end) / 2.0
        };
        chances
            .iter()
            .enumerate()
            .map(|(bin, chance)| PauseChance { seconds: middle(bin), chance: *chance })
            .collect()
    });
    HumanView {
        rating,
        moves: moves.collect(),
        wdl: said.wdl.map(|wdl| wdl_for_white(wdl, position.turn())),
        pause,
    }
}
