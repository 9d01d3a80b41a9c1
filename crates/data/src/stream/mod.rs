//! Shuffled streams of training positions.

mod analysed;
mod cursor;
mod feed;
mod filter;
mod identity;
mod lane;
mod mix;
mod replay;
mod sample;
mod state;

use std::sync::Arc;

pub use analysed::Analysed;
pub use feed::{Feed, FeedError};
pub use filter::{Filter, Need};
pub use lane::Lane;
pub use mix::repeats;
pub use sample::{GameSample, LineSample, Sample, Target};
pub use state::{CursorState, LaneState, StreamState};

use crate::set::SetError;
use crate::{RecordError, Set, Side, Split};

/// Options of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamOptions {
    /// Random seed of the order.
    pub seed: u64,
    /// The split into training and held-out records.
    pub split: Split,
    /// The side that is streamed.
    pub side: Side,
    /// Number of independent lanes, and the most threads that can work on the stream. The order of samples depends on this
    /// number, not on the number of threads.
    pub lanes: u32,
    /// Number of records each lane keeps open to draw from.
    pub cursors: u32,
    /// What happens after the last record.
    pub repeat: Repeat,
    /// Which positions are skipped.
    pub filter: Filter,
    /// Number of earlier positions of the game in a situation; few encodings use any.
    pub earlier: u32,
    /// Which positions of analysed records are streamed.
    pub analysed: Analysed,
    /// How much each set counts: its share of the samples, relative to the others. Empty for as much as it has positions.
    pub mix: Vec<u32>,
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
            mix: Vec::new(),
        }
    }
}

/// What a stream does after its last record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It ends.
    Once,
    /// It starts another epoch in another order.
    Forever,
}

/// Why a stream failed.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// A set cannot be read.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A record passes its checksum but is invalid.
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
    /// The saved state is of other sets or options.
    #[error("this stream was saved with other sets or options")]
    OtherStream,
    /// The saved state is inconsistent.
    #[error("invalid stream state: {what}")]
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

/// State shared by all lanes of a stream.
#[derive(Debug)]
struct Plan {
    sets: Vec<Arc<Set>>,
    blocks: Vec<BlockPlace>,
    options: StreamOptions,
    lanes: u32,
    /// How often an epoch has each block of a set, on average.
    repeats: Vec<f64>,
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
        let positions: Vec<u64> = sets.iter().map(|set| set.positions()).collect();
        let repeats = repeats(&positions, &options.mix);
        Plan { sets, blocks, options, lanes, repeats }
    }

    /// Distinguishes the times a record is read: the epoch, where none is repeated in it.
    fn visit(&self, epoch: u32, time: u32) -> u32 {
        let most = self.repeats.iter().fold(1.0_f64, |most, repeats| most.max(repeats.ceil())) as u32;
        epoch.wrapping_mul(most).wrapping_add(time)
    }

    fn identity(&self) -> String {
        identity::identity(&self.options, &self.shard_checksums())
    }

    fn has_identity(&self, identity: &str) -> bool {
        identity == self.identity()
            || self.options.mix.is_empty()
                && identity == identity::identity_v1(&self.options, &self.shard_checksums())
    }

    fn shard_checksums(&self) -> Vec<u8> {
        let shards = self.sets.iter().flat_map(|set| set.shards());
        shards.flat_map(|shard| shard.totals().checksum.to_le_bytes()).collect()
    }
}

/// All positions of some sets in random order, each once per epoch; with a [mix](StreamOptions::mix), those of the set that
/// counts least once, and others more often.
///
/// The blocks of all sets are shuffled and distributed over lanes. A lane keeps a few thousand records open, its cursors;
/// each draw advances a random cursor. The positions of a batch come from many games, while every game is decoded once and
/// only open games are in memory. A game is entered at a random ply, so that a stream does not begin with openings; the
/// plies before it follow after its end. The positions after the moves of an analysed one are drawn one at a time, too.
pub struct Stream {
    plan: Arc<Plan>,
    lanes: Vec<Lane>,
    turn: usize,
}

impl Stream {
    /// A new stream.
    pub fn new(sets: Vec<Arc<Set>>, options: StreamOptions) -> Self {
        let plan = Arc::new(Plan::new(sets, options));
        let lanes = (0..plan.lanes).map(|lane| Lane::new(Arc::clone(&plan), lane)).collect();
        Stream { plan, lanes, turn: 0 }
    }

    /// Resumes a stream from a saved state.
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

    /// The state of the stream.
    pub fn state(&self) -> StreamState {
        let lanes = self.lanes.iter().map(Lane::state).collect();
        StreamState { stream: self.plan.identity(), turn: self.turn as u32, lanes }
    }

    /// The lanes, which threads can draw from independently.
    pub fn lanes(&mut self) -> &mut [Lane] {
        &mut self.lanes
    }

    /// Passes up to `count` samples of the next lane to `take`. Returns their number; 0 is the end of the stream.
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
