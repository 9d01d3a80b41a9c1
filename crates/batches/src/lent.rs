//! Buffers that are used again.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Columns;

/// Most buffers that wait to be used again.
const MOST: usize = 64;

/// Buffers that wait to be used again.
#[derive(Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<Vec<Columns>>>);

impl Shelf {
    /// An empty buffer, or else a new one.
    pub(crate) fn take(&self, new: impl FnOnce() -> Columns) -> Columns {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_else(new)
    }

    pub(crate) fn lend(&self, columns: Columns) -> Lent {
        Lent { columns: Some(columns), shelf: self.clone() }
    }
}

/// A batch. Its memory is used for another one once it is dropped: memory that was just written to is much faster to write
/// to than new memory.
pub struct Lent {
    /// `None` only while it is dropped.
    columns: Option<Columns>,
    shelf: Shelf,
}

impl Deref for Lent {
    type Target = Columns;

    fn deref(&self) -> &Columns {
        self.columns.as_ref().expect("it is there until it is dropped")
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Columns {
        self.columns.as_mut().expect("it is there until it is dropped")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(mut columns) = self.columns.take() else { return };
        columns.clear();
        let mut waiting = self.shelf.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < MOST {
            waiting.push(columns);
        }
    }
}
