use std::ops::ControlFlow;

use tabia_data::Side;

use crate::{Choices, Examples};

/// Called repeatedly during long work; breaking stops it.
pub type Poll<'a> = &'a mut dyn FnMut() -> ControlFlow<()>;

/// Why there are no examples.
#[derive(Debug, thiserror::Error)]
pub enum SupplyError {
    /// The data cannot be read, or there is nothing in it.
    #[error("training data: {0}")]
    Failed(String),
    /// The run was stopped.
    #[error("cancelled while reading training data")]
    Cancelled,
}

/// A source of batches, endless: it starts over at the end of its data.
pub trait Supply {
    /// The next batch to train on; `poll` may end the wait for it.
    ///
    /// # Errors
    /// If the data cannot be read or is empty, or `poll` breaks.
    fn next_polling(&mut self, poll: Poll<'_>) -> Result<Examples, SupplyError>;

    /// The next batch to train on.
    ///
    /// # Errors
    /// If the data cannot be read, or there is nothing in it to train on.
    fn next(&mut self) -> Result<Examples, SupplyError> {
        self.next_polling(&mut || ControlFlow::Continue(()))
    }

    /// Puts the last batch back: it is the next one again.
    fn put_back(&mut self, examples: Examples);

    /// About how many positions of a side one pass over the data gives, if that is known.
    fn positions(&self, side: Side) -> Option<u64>;

    /// The state after the last batch. A supply of the same data opened with it gives the same batches as this one would.
    fn place(&self) -> serde_json::Value;

    /// Gives the first `positions` held-out positions, always the same, to `each` in batches; `poll` may end the wait for
    /// one.
    ///
    /// # Errors
    /// If the data cannot be read, `each` fails, or `poll` breaks.
    fn held_out(
        &mut self,
        positions: usize,
        poll: Poll<'_>,
        each: &mut dyn FnMut(&Examples) -> Result<(), SupplyError>,
    ) -> Result<(), SupplyError>;

    /// Gives the first `roots` held-out positions whose every move was evaluated, always the same, to `each` some at a time.
    /// There may be none. `poll` may end the search for them.
    ///
    /// # Errors
    /// If the data cannot be read, `each` fails, or `poll` breaks.
    fn choices(
        &mut self,
        roots: usize,
        poll: Poll<'_>,
        each: &mut dyn FnMut(&Choices) -> Result<(), SupplyError>,
    ) -> Result<(), SupplyError>;

    /// What the data is, for the model's card.
    fn describe(&self) -> String;
}
