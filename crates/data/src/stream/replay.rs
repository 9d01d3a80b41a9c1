use tabia_encoding::Situation;

use super::cursor::OpenGame;
use super::{Filter, GameSample};
use crate::{GameBytes, RecordError};

impl GameBytes<'_> {
    /// Gives the positions of the game that pass the filter, in their order: each as a stream gives it, with all positions
    /// of the game before it.
    ///
    /// # Errors
    /// If the moves or clocks make no sense; what came before them has been given.
    pub fn replay(
        &self,
        filter: &Filter,
        each: impl FnMut(&Situation<'_>, &GameSample<'_>),
    ) -> Result<(), RecordError> {
        OpenGame::replay(self, filter, each)
    }
}
