use tabia_encoding::Situation;

use super::cursor::OpenGame;
use super::{Filter, GameSample};
use crate::{GameBytes, RecordError};

impl GameBytes<'_> {
    /// Calls `each` with the positions of the game that pass the filter, in order, each as in a stream with all earlier
    /// positions.
    ///
    /// # Errors
    /// If the moves or clocks are invalid, after the positions before them.
    pub fn replay(
        &self,
        filter: &Filter,
        each: impl FnMut(&Situation<'_>, &GameSample<'_>),
    ) -> Result<(), RecordError> {
        OpenGame::replay(self, filter, each)
    }
}
