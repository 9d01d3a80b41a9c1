//! Records as a shuffled stream of positions to learn from.

mod analysed;
mod cursor;
mod feed;
mod filter;
mod identity;
mod lane;
mod replay;
mod sample;
mod state;

use std::sync::Arc;

pub use analysed::Analysed;
pub use feed::{Feed, FeedError};
pub use filter::{Filter, Need};
pub use lane::Lane;
pub use sample::{GameSample, LineSample, Sample, Target};
pub use state::{CursorState, LaneState, StreamState};

use crate::set::SetError;
use crate::{RecordError, Set, Side, Split};

/// How a stream goes through its sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// Another seed gives another order.
    pub seed: u64,
    /// How records are split in two.
    pub split: Split,
    /// Which of the two sides is streamed.
    pub side: Side,
    /// How many independent streams it is made of: at most this many threads can work on it. The order of samples
    /// depends on this number, not on the number of threads.
    pub lanes: u32,
    /// How many records each lane keeps open, to draw its next position from.
    pub cursors: u32,
    /// What happens after the last record.
    pub repeat: Repeat,
    /// What is left out.
    pub filter: Filter,
    /// How many earlier positions of the game a situation shows; few encodings look at any.
    pub earlier: u32,
    /// Which positions of analysed records there are.
    pub analysed: Analysed,
}

impl Default for StreamOptions {
    fn default() -> Self {
        StreamOptions {
            seed: 0,
            split: Split::NONE,
            side: Side::All,
            lanes: 8,
            cursors: 4096,
            repeat: Repeat::Forever,
            filter: Filter::default(),
            earlier: 0,
            analysed: Analysed::Roots,
        }
    }
}

/// What a stream does after its last record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It ends.
    Once,
    /// It begins again, in another order.
    Forever,
}

/// Why a stream cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// A set cannot be read.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A record passes its checksum and still makes no sense.
    #[error("{file}: block {block}, record {record}: {error}")]
    Record {
        /// The shard.
        file: String,
        /// The block in it.
        block: u32,
        /// The record in the block.
        record: u32,
        /// What is wrong.
        error: RecordError,
    },
    /// A saved state is of other sets or options.
    #[error("this stream was saved with other sets or options")]
    OtherStream,
    /// A saved state names records that are not there.
    #[error("the saved state of the stream makes no sense: {what}")]
    State {
        /// How.
        what: &'static str,
    },
}

/// A block of one of the sets.
#[derive(Clone, Copy, Debug)]
struct BlockPlace {
    set: u32,
    shard: u32,
    block: u32,
}

/// What all lanes of a stream share.
#[derive(Debug)]
struct Plan {
    sets: Vec<Arc<Set>>,
    blocks: Vec<BlockPlace>,
    options: StreamOptions,
    lanes: u32,
}

impl Plan {
    fn new(sets: Vec<Arc<Set>>, options: StreamOptions) -> Self {
        let mut blocks = Vec::new();
        for (set, shards) in (0..).zip(sets.iter().map(|set| set.shards())) {
            for (shard, within) in (0..).zip(shards) {
                blocks.extend((0..within.blocks().len() as u32).map(|block| BlockPlace {
                    set,
                    shard,
                    block,
                }));
            }
        }
        let lanes = options.lanes.clamp(1, (blocks.len() as u32).max(1));
        Plan { sets, blocks, options, lanes }
    }

    fn identity(&self) -> String {
        identity::identity(&self.options, &self.shard_checksums())
    }

    fn has_identity(&self, identity: &str) -> bool {
        identity == self.identity()
            || identity == identity::identity_v1(&self.options, &self.shard_checksums())
    }

    fn shard_checksums(&self) -> Vec<u8> {
        let shards = self.sets.iter().flat_map(|set| set.shards());
        shards.flat_map(|shard| shard.totals().checksum.to_le_bytes()).collect()
    }
}

/// All positions of some sets in random order, each once before any comes again.
///
/// The blocks of all sets are shuffled and dealt out to lanes. A lane keeps a few thousand records open, its cursors; each
/// draw takes one of them at random and gives its next position. So the positions of a batch come from as many games,
/// while every game is decoded once, from its beginning, and only the open ones are in memory. Where a game is taken up
/// first is random too, so that a stream does not begin with openings: what was left out follows when it has ended. The
/// positions after the moves of an analysed one, where they are asked for, come one at a time like those of a game.
pub struct Stream {
    plan: Arc<Plan>,
    lanes: Vec<Lane>,
    turn: usize,
}

impl Stream {
    /// A stream at its beginning.
    pub fn new(sets: Vec<Arc<Set>>, options: StreamOptions) -> Self {
        let plan = Arc::new(Plan::new(sets, options));
        let lanes = (0..plan.lanes).map(|lane| Lane::new(Arc::clone(&plan), lane)).collect();
        Stream { plan, lanes, turn: 0 }
    }

    /// A stream where it was when its state was saved.
    ///
    /// # Errors
    /// If it was saved with other sets or options, or the sets cannot be read.
    pub fn resume(
        sets: Vec<Arc<Set>>,
        options: StreamOptions,
        state: &StreamState,
    ) -> Result<Self, StreamError> {
        let plan = Arc::new(Plan::new(sets, options));
        if !plan.has_identity(&state.stream) || state.lanes.len() != plan.lanes as usize {
            return Err(StreamError::OtherStream);
        }
        let lanes = (0..).zip(&state.lanes).map(|(lane, state)| Lane::resume(Arc::clone(&plan), lane, state));
        let lanes = lanes.collect::<Result<_, _>>()?;
        Ok(Stream { plan, lanes, turn: state.turn as usize % state.lanes.len() })
    }

    /// Where the stream is.
    pub fn state(&self) -> StreamState {
        let lanes = self.lanes.iter().map(Lane::state).collect();
        StreamState { stream: self.plan.identity(), turn: self.turn as u32, lanes }
    }

    /// The lanes; each can be drawn from on a thread of its own.
    pub fn lanes(&mut self) -> &mut [Lane] {
        &mut self.lanes
    }

    /// Gives up to `count` samples to `take`, all from one lane, the lanes taking turns. Returns how many there were:
    /// 0 means that the stream has ended.
    ///
    /// # Errors
    /// If a set cannot be read.
    pub fn draw(&mut self, count: usize, mut take: impl FnMut(&Sample<'_>)) -> Result<usize, StreamError> {
        for _ in 0..self.lanes.len() {
            let turn = self.turn;
            self.turn = (turn + 1) % self.lanes.len();
            let drawn = self.lanes[turn].draw_many(count, &mut take)?;
            if drawn > 0 {
                return Ok(drawn);
            }
        }
        Ok(0)
    }
}
