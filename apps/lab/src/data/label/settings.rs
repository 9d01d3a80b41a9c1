//! What decides the labels.

use serde::{Deserialize, Serialize};

use super::form::Form;

/// Settings that decide the labels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Settings {
    /// The engine's or network's name.
    pub(super) engine: String,
    /// Its options, in order.
    pub(super) options: Vec<(String, String)>,
    /// Limits per position as a `go` command.
    pub(super) go: String,
    pub(super) lines: usize,
    pub(super) chunk: usize,
    /// Output format.
    pub(super) form: Form,
}
