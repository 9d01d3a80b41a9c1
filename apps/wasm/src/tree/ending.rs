//! How a game ends besides by its moves.

use shakmaty::Color;
use tabia_game::{DrawReason, NodeId, Outcome, Status, WinReason};
use wasm_bindgen::prelude::wasm_bindgen;

use super::{GameStatus, GameTree};
use crate::{Fault, Side};

/// Where a game's result comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// From its last move, if that ends it.
    ByRule,
    /// Somebody resigned, agreed, ran out of time.
    Declared(Outcome),
    /// The PGN says so.
    Told,
}

#[wasm_bindgen]
impl GameTree {
    /// A side resigns.
    pub fn resign(&mut self, #[wasm_bindgen(unchecked_param_type = "Side")] side: &str) -> Result<(), Fault> {
        let loser: Color = side.parse::<Side>()?.into();
        self.declare(Outcome::Win { winner: !loser, by: WinReason::Resignation });
        Ok(())
    }

    /// The players agree on a draw.
    #[wasm_bindgen(js_name = agreeDraw)]
    pub fn agree_draw(&mut self) {
        self.declare(Outcome::Draw(DrawReason::Agreement));
    }

    /// A side's time is up: a loss, or a draw if the other side cannot mate.
    #[wasm_bindgen(js_name = flagFalls)]
    pub fn flag_falls(
        &mut self,
        #[wasm_bindgen(unchecked_param_type = "Side")] side: &str,
    ) -> Result<(), Fault> {
        let flagged: Color = side.parse::<Side>()?.into();
        self.declare(Outcome::on_time(&self.game.position(self.game.last()), flagged));
        Ok(())
    }

    /// The side to move claims a draw by threefold repetition or fifty moves.
    #[wasm_bindgen(js_name = claimDraw)]
    pub fn claim_draw(&mut self) -> Result<(), Fault> {
        match self.game.status(self.game.last()) {
            Status::Ongoing { claim: Some(reason) } => {
                self.declare(Outcome::Draw(reason));
                Ok(())
            }
            Status::Ongoing { claim: None } | Status::Over(_) => {
                Err(Fault::new("there is no draw to claim in this position"))
            }
        }
    }

    /// The game is given up without a result.
    pub fn abort(&mut self) {
        self.declare(Outcome::Abandoned);
    }
}

impl GameTree {
    fn declare(&mut self, outcome: Outcome) {
        self.ending = Ending::Declared(outcome);
        self.game.finish(outcome);
    }

    /// Brings the result up to date after the moves changed.
    pub(super) fn settle(&mut self) {
        if self.ending != Ending::ByRule {
            return;
        }
        match self.game.status(self.game.last()) {
            Status::Over(outcome) => self.game.finish(outcome),
            Status::Ongoing { .. } => {
                self.game.result = shakmaty::Outcome::Unknown;
                self.game.headers.remove("Termination");
            }
        }
    }

    /// How things stand where one looks: by the rules there, else as the whole game ended.
    pub(super) fn standing(&self) -> GameStatus {
        let over = |result: shakmaty::Outcome, reason: &str| GameStatus {
            over: true,
            result: result.to_string(),
            reason: reason.to_owned(),
            claimable: false,
        };
        let here = self.game.status(self.current);
        match (here, self.ending) {
            (Status::Over(outcome), _) | (_, Ending::Declared(outcome)) => {
                over(outcome.result(), outcome.reason())
            }
            (_, Ending::Told) => over(self.game.result, self.game.headers.get("Termination").unwrap_or("")),
            (Status::Ongoing { claim }, Ending::ByRule) => match self.game.status(self.game.last()) {
                Status::Over(outcome) if self.is_mainline(self.current) => {
                    over(outcome.result(), outcome.reason())
                }
                _ => GameStatus {
                    over: false,
                    result: shakmaty::Outcome::Unknown.to_string(),
                    reason: String::new(),
                    claimable: claim.is_some(),
                },
            },
        }
    }

    fn is_mainline(&self, node: NodeId) -> bool {
        node == NodeId::ROOT || self.game.mainline().any(|at| at == node)
    }
}
