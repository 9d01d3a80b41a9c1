use serde::{Deserialize, Serialize};

/// The state of a stream. A resumed stream yields exactly the same samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamState {
    /// Identity of the sets and options (`identity.rs`).
    pub(super) stream: String,
    /// The lane whose turn is next.
    pub(super) turn: u32,
    pub(super) lanes: Vec<LaneState>,
}

/// Where a lane is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneState {
    pub(super) epoch: u32,
    /// Number of blocks of this epoch that were started.
    pub(super) blocks_begun: u32,
    /// Next record of the current block.
    pub(super) next_record: u32,
    /// Whether the last epoch yielded a record.
    pub(super) gave: bool,
    pub(super) filled: bool,
    #[serde(rename = "dice")]
    pub(super) rng: u64,
    /// The cursor drawn last, which has not advanced yet.
    pub(super) drawn: Option<u32>,
    #[serde(rename = "seats")]
    pub(super) cursors: Vec<CursorState>,
}

/// The state of an open record: block, record in it, epoch, ply or number of samples, ply at which it was entered, whether
/// it has wrapped around.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorState(
    pub(super) u32,
    pub(super) u32,
    pub(super) u32,
    pub(super) u32,
    pub(super) u32,
    pub(super) bool,
);
