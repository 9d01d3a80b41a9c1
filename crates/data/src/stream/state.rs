use serde::{Deserialize, Serialize};

/// Where a stream is: enough to go on with exactly the samples that would have come next.
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
    /// Blocks of this epoch that the lane has begun.
    pub(super) blocks_begun: u32,
    /// The next record of the block begun last.
    pub(super) next_record: u32,
    /// Whether the last epoch had any record to give.
    pub(super) gave: bool,
    pub(super) filled: bool,
    #[serde(rename = "dice")]
    pub(super) rng: u64,
    /// The cursor drawn last, which has not moved on yet.
    pub(super) drawn: Option<u32>,
    #[serde(rename = "seats")]
    pub(super) cursors: Vec<CursorState>,
}

/// Where an open record is: block, record in it, epoch, ply or positions given, ply at which it was taken up, whether it
/// began anew since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CursorState(
    pub(super) u32,
    pub(super) u32,
    pub(super) u32,
    pub(super) u32,
    pub(super) u32,
    pub(super) bool,
);
