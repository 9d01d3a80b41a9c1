//! A two-input network on a position in a context.

use serde::Serialize;
use tabia_game::position_from_fen;
use tabia_model::{Model, Reading};
use tsify::Tsify;

use crate::Fault;

/// The evaluation of a position in a context, in both readings of a two-input network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Tsify)]
#[serde(rename_all = "camelCase")]
pub struct ContextScores {
    /// The network's number as the probability that the side to move in the context wins.
    pub context_win: f32,
    /// White's score in centipawns by that reading.
    pub context_win_cp: f32,
    /// The network's number as the probability that the position is better for White than the context.
    pub compare: f32,
    /// White's score in centipawns by that reading.
    pub compare_cp: f32,
}

pub(super) fn scores(model: &Model, position: &str, context: &str) -> Result<ContextScores, Fault> {
    let read = |what: &str, fen: &str| {
        position_from_fen(fen).map_err(|error| Fault::new(format!("{what}: {error}")))
    };
    let (position, context) = (read("position", position)?, read("context", context)?);
    let readings = model.readings(&position, &context).map_err(|error| Fault::new(error.to_string()))?;
    let readings = readings.ok_or_else(|| {
        Fault::new(format!("not a two-input network: it takes one position ({})", model.card().encoding))
    })?;
    let Reading { raw: context_win, white_cp: context_win_cp } = readings.context_win;
    let Reading { raw: compare, white_cp: compare_cp } = readings.compare;
    Ok(ContextScores { context_win, context_win_cp, compare, compare_cp })
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

    #[test]
    fn a_two_input_network_scores_a_position_in_a_context() {
        let pair =
            Model::from_bytes(include_bytes!("../../../../fixtures/models/tflite_pair.tflite")).unwrap();
        let after = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1";
        let scores = |position, context| scores(&pair, position, context).unwrap();
        let (there, back) = (scores(after, START), scores(START, after));
        // The second reading takes the two inputs the other way round.
        assert_eq!((there.context_win, there.compare), (back.compare, back.context_win));
        assert!((there.context_win_cp - 1000.0 * (there.context_win - 0.5)).abs() < 1e-3);
        assert!((back.context_win_cp + 1000.0 * (back.context_win - 0.5)).abs() < 1e-3, "Black moves there");
        assert!((there.compare_cp - 2000.0 * (there.compare - 0.5)).abs() < 1e-3);
    }

    #[test]
    fn other_networks_and_bad_positions_are_refused() {
        let one =
            Model::from_bytes(include_bytes!("../../../../fixtures/models/challenge-mlp.onnx")).unwrap();
        assert!(scores(&one, START, START).is_err());
        let pair =
            Model::from_bytes(include_bytes!("../../../../fixtures/models/tflite_pair.tflite")).unwrap();
        assert!(scores(&pair, START, "nonsense").is_err());
    }
}
