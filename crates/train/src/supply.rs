use crate::{Choices, Examples};

/// Why examples could not be had.
#[derive(Debug, thiserror::Error)]
#[error("training data: {0}")]
pub struct SupplyError(pub String);

/// Where batches come from. Training never runs out: a supply begins again at the end of its data.
pub trait Supply {
    /// The next batch to train on.
    ///
    /// # Errors
    /// If the data cannot be read, or there is nothing in it to train on.
    fn next(&mut self) -> Result<Examples, SupplyError>;

    /// Where to continue after the last batch given: a supply of the same data that is told so gives the same batches as
    /// this one would.
    fn place(&self) -> serde_json::Value;

    /// Gives the first `positions` held-out positions, always the same, to `each` in batches.
    ///
    /// # Errors
    /// If the data cannot be read, or `each` fails.
    fn held_out(
        &mut self,
        positions: usize,
        each: &mut dyn FnMut(&Examples) -> Result<(), SupplyError>,
    ) -> Result<(), SupplyError>;

    /// Gives the first `roots` held-out positions whose every move was judged, always the same, to `each` some at a time.
    /// There may be none.
    ///
    /// # Errors
    /// If the data cannot be read, or `each` fails.
    fn choices(
        &mut self,
        roots: usize,
        each: &mut dyn FnMut(&Choices) -> Result<(), SupplyError>,
    ) -> Result<(), SupplyError>;

    /// What the data is, for the model's card.
    fn describe(&self) -> String;
}
