//! How hard a position is for people of a rating.

use std::ops::ControlFlow;

use serde::Serialize;
use tabia_players::Limits;
use tabia_practice::{Difficulty, DifficultyInProgress, Reviewer};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{
    Engine, Fault, GameInput, Opinion, PoolInput,
    engine::input::{duration, elo},
    review::opinion,
    stopwatch::Stopwatch,
};

/// The share of the time that the search of the position takes, and that after each move that people play (at most six).
const POSITION_SHARE: f64 = 0.5;
const CANDIDATE_SHARE: f64 = 0.1;

/// How hard a position is for people of a rating.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct PositionDifficulty {
    /// The probability that a person of the rating errs: loses 10 points of winning chance or more.
    pub errs: f64,
    /// The winning chance that a person of the rating loses on average.
    pub peer_loss: f64,
    /// The engine's evaluation, from White's point of view.
    pub evaluation: Opinion,
    /// The mover's winning chance by the engine.
    pub win: f64,
    /// The mover's expected score if two people of the ratings in the game play on, by the human network.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub expected_score: Option<f32>,
    /// The rating from which most people find a good move; 600 if all do, missing if nobody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub found_from: Option<u16>,
    /// The moves that people of the rating play, and the best, best first.
    pub moves: Vec<MoveDifficulty>,
}

/// A move that people consider.
#[derive(Clone, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct MoveDifficulty {
    /// In UCI notation.
    pub uci: String,
    /// In algebraic notation.
    pub san: String,
    /// The mover's winning chance after it.
    pub win: f64,
    /// The winning chance it loses.
    pub loss: f64,
    /// The probability that a person of the rating plays it.
    pub probability: f32,
    /// The rating from which most people play it; missing if nobody does.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[tsify(optional)]
    pub found_from: Option<u16>,
}

/// Computes the difficulty of a position, one search at a time. It needs the model `value` and one with a policy head.
#[wasm_bindgen]
pub struct DifficultySearch {
    reviewer: Reviewer,
    position: DifficultyInProgress,
    found: Option<PositionDifficulty>,
}

#[wasm_bindgen]
impl DifficultySearch {
    /// The last position of a game between people of the ratings in it, by a model with a policy head, in about this time.
    #[wasm_bindgen(constructor)]
    pub fn new(
        engine: &Engine,
        game: &Ts<GameInput>,
        model: &str,
        rating: f64,
        seconds: f64,
    ) -> Result<DifficultySearch, Fault> {
        DifficultySearch::of(engine, game.to_rust()?, model, rating, seconds)
    }

    /// One search more; returns whether it was not the last.
    pub fn step(&mut self) -> Result<bool, Fault> {
        let step = self.reviewer.step_difficulty(&mut self.position, &|| Box::new(Stopwatch::start()))?;
        Ok(match step {
            ControlFlow::Continue(()) => true,
            ControlFlow::Break(found) => {
                self.found = found.map(PositionDifficulty::from);
                false
            }
        })
    }

    /// The result after the last step; `undefined` before, or if the game is over.
    pub fn result(&self) -> Result<Option<Ts<PositionDifficulty>>, Fault> {
        Ok(self.found.as_ref().map(Tsify::into_ts).transpose()?)
    }
}

impl DifficultySearch {
    fn of(
        engine: &Engine,
        mut game: GameInput,
        model: &str,
        rating: f64,
        seconds: f64,
    ) -> Result<DifficultySearch, Fault> {
        // A number alone is a rating on a chess site.
        game.pool.get_or_insert(PoolInput::Online);
        let time = duration("seconds", seconds)?;
        let share = |share: f64| Limits { movetime: Some(time.mul_f64(share)), ..Limits::default() };
        let player = engine.store().player(&"engine,hash=8".parse()?, 0)?;
        let reviewer = Reviewer::new(player, engine.store().model(model)?)
            .map_err(|_| Fault::new(format!("the model {model:?} has no policy head")))?;
        let rating = Some(elo("rating", rating)?);
        let (limits, after) = (share(POSITION_SHARE), share(CANDIDATE_SHARE));
        let position = DifficultyInProgress::new(game.history()?, rating, limits, after);
        Ok(DifficultySearch { reviewer, position, found: None })
    }
}

impl From<Difficulty> for PositionDifficulty {
    fn from(of: Difficulty) -> PositionDifficulty {
        PositionDifficulty {
            errs: of.peers.errs,
            peer_loss: of.peers.loss,
            evaluation: opinion(of.evaluation),
            win: of.win,
            expected_score: of.expected_score,
            found_from: of.found_from,
            moves: of
                .moves
                .into_iter()
                .map(|m| MoveDifficulty {
                    uci: m.uci,
                    san: m.san,
                    win: m.win,
                    loss: m.loss,
                    probability: m.probability,
                    found_from: m.found_from,
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &[u8] = include_bytes!("../../../models/value.safetensors");
    const HUMAN: &[u8] = include_bytes!("../../../fixtures/models/human.safetensors");

    fn difficulty(moves: &[&str]) -> Option<PositionDifficulty> {
        let mut engine = Engine::new(7.0);
        engine.open("value", VALUE).unwrap();
        engine.open("human", HUMAN).unwrap();
        let moves = moves.iter().map(|m| (*m).to_owned()).collect();
        let game = GameInput { moves, ..GameInput::default() };
        let mut search = DifficultySearch::of(&engine, game, "human", 1500.0, 0.02).unwrap();
        let mut steps = 0;
        while search.step().unwrap() {
            steps += 1;
            assert!(steps <= 7, "a search of the position, and after six moves");
            assert!(search.found.is_none());
        }
        search.found
    }

    #[test]
    fn a_position_is_searched_in_steps() {
        let found = difficulty(&["e2e4", "e7e5", "d1h5"]).unwrap();
        assert!((0.0..1.0).contains(&found.errs) && (0.0..1.0).contains(&found.peer_loss), "{found:?}");
        assert!(found.expected_score.is_some_and(|score| (0.0..=1.0).contains(&score)));
        assert!(found.evaluation.cp.is_some() && found.moves.len() > 1, "{found:?}");
        assert!(found.moves.is_sorted_by(|one, other| one.win >= other.win));
    }

    #[test]
    fn there_is_nothing_to_find_after_mate() {
        assert_eq!(difficulty(&["f2f3", "e7e5", "g2g4", "d8h4"]), None);
    }
}
