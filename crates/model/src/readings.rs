//! What a two-input network says of a position in a context, in both of its readings.

use serde::Serialize;
use shakmaty::{Chess, Position};
use tabia_encoding::{Perspective, Situation};

use crate::Model;
use crate::card::ValueHead;
use tabia_runtime::RunError;

/// The evaluation of a position in a context by a two-input network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Readings {
    /// The number is the probability that the side to move in the context wins.
    pub context_win: Reading,
    /// The number is the probability that the position is better for White than the context.
    pub compare: Reading,
}

/// One reading of a two-input network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// The number of the network.
    pub raw: f32,
    /// The score in centipawns for White.
    pub white_cp: f32,
}

impl Model {
    /// Whether its evaluation of a position depends on another one, the context.
    pub fn takes_context(&self) -> bool {
        self.encoding().value_convention().perspective == Perspective::ContextMover
            && self.card().value.is_some()
    }

    /// Both readings of a two-input network; `None` for another network.
    ///
    /// # Errors
    /// If an output is not finite, or the runtime fails.
    pub fn readings(&self, position: &Chess, context: &Chess) -> Result<Option<Readings>, RunError> {
        let Some(head) = self.card().value.as_ref().filter(|_| self.takes_context()) else {
            return Ok(None);
        };
        // The reading of the card decides which position is the first input; the other reading takes them the other way round.
        let of_card = |position, context| Situation { context: Some(context), ..Situation::of(position) };
        let outputs = self.outputs(&[of_card(position, context), of_card(context, position)])?;
        let Some(output) = outputs.iter().find(|output| output.name == head.output) else { return Ok(None) };
        let width = output.values.len() / 2;
        let at = head.index.unwrap_or(0);
        let (Some(&own), Some(&other)) = (output.values.get(at), output.values.get(width + at)) else {
            return Ok(None);
        };
        let read = |perspective, raw| {
            let head = ValueHead { perspective, ..head.clone() };
            let score = head.read(raw, position.turn(), context.turn());
            Reading { raw, white_cp: score.for_white(position.turn()).0 }
        };
        let (context_win, compare) = match head.perspective {
            Perspective::Comparison => (other, own),
            _ => (own, other),
        };
        Ok(Some(Readings {
            context_win: read(Perspective::ContextMover, context_win),
            compare: read(Perspective::Comparison, compare),
        }))
    }
}
