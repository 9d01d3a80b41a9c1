//! Positions to win or to hold.

use serde::{Deserialize, Serialize};
use shakmaty::{Color, KnownOutcome};
use tabia_practice::{Drill, DrillAttempt, DrillTask, drills};
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::{Fault, Side};

/// A game from the position of a drill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Tsify)]
pub struct DrillGame {
    /// What is to be reached.
    pub task: DrillTask,
    /// My side.
    pub side: Side,
    /// As PGN writes it.
    #[tsify(type = "\"1-0\" | \"0-1\" | \"1/2-1/2\" | \"*\"")]
    pub result: String,
    /// My moves.
    pub moves: u32,
    /// The moves that are allowed.
    pub limit: u32,
}

/// The built-in drills.
#[wasm_bindgen(js_name = builtInDrills)]
pub fn built_in_drills() -> Result<Vec<Ts<Drill>>, Fault> {
    drills().iter().map(|drill| Ok(drill.into_ts()?)).collect()
}

/// Whether the task of a drill is done; `undefined` while it is open.
#[wasm_bindgen(js_name = drillAchieved)]
pub fn drill_achieved(game: &Ts<DrillGame>) -> Result<Option<bool>, Fault> {
    Ok(achieved(&game.to_rust()?))
}

fn achieved(game: &DrillGame) -> Option<bool> {
    let outcome = match game.result.as_str() {
        "1-0" => Some(KnownOutcome::Decisive { winner: Color::White }),
        "0-1" => Some(KnownOutcome::Decisive { winner: Color::Black }),
        "1/2-1/2" => Some(KnownOutcome::Draw),
        _ => None,
    };
    game.task.achieved(game.side.into(), outcome, game.moves, game.limit)
}

/// A drill with one more attempt, and when it is due again.
#[wasm_bindgen(js_name = withAttempt)]
pub fn with_attempt(drill: &Ts<Drill>, attempt: &Ts<DrillAttempt>) -> Result<Ts<Drill>, Fault> {
    let mut drill = drill.to_rust()?;
    drill.record(attempt.to_rust()?);
    Ok(drill.into_ts()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read_as_pgn_writes_them() {
        let game = |result: &str, side| DrillGame {
            task: DrillTask::Win,
            side,
            result: result.to_owned(),
            moves: 3,
            limit: 20,
        };
        assert_eq!(achieved(&game("0-1", Side::Black)), Some(true));
        assert_eq!(achieved(&game("1-0", Side::Black)), Some(false));
        assert_eq!(achieved(&game("1/2-1/2", Side::White)), Some(false));
        assert_eq!(achieved(&game("*", Side::White)), None);
    }
}
