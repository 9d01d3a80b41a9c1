//! A lane: one of the independent parts of a stream.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::cursor::{Cursor, Place, Progress};
use super::sample::Sample;
use super::state::{CursorState, LaneState};
use super::{BlockPlace, Plan, Repeat, StreamError};
use crate::set::SetError;
use crate::shard::Block;
use crate::shuffle::Rng;
use crate::{RecordError, RecordIndex, Side};

/// One of the independent parts of a [`Stream`](super::Stream).
pub struct Lane {
    plan: Arc<Plan>,
    lane: u32,
    epoch: u32,
    /// This lane's blocks of this epoch, and which time it has each.
    order: Vec<(u32, u32)>,
    blocks_begun: u32,
    /// The current block and its number, until all its records have been opened.
    block: Option<(u32, Block)>,
    /// Distinguishes the times its records are read.
    visit: u32,
    next_record: u32,
    /// Whether this epoch has yielded a record.
    gave: bool,
    /// Whether the cursors have been filled.
    filled: bool,
    cursors: Vec<Cursor>,
    drawn: Option<u32>,
    rng: Rng,
    /// Once set, the lane ends.
    cancelled: Arc<AtomicBool>,
}

impl Lane {
    pub(super) fn new(plan: Arc<Plan>, lane: u32) -> Self {
        let rng = Rng::of(&[plan.options.seed, 1, u64::from(lane)]);
        let mut lane = Lane {
            plan,
            lane,
            epoch: 0,
            order: Vec::new(),
            blocks_begun: 0,
            block: None,
            visit: 0,
            next_record: 0,
            gave: false,
            filled: false,
            cursors: Vec::new(),
            drawn: None,
            rng,
            cancelled: Arc::default(),
        };
        lane.deal();
        lane
    }

    /// Ends the lane wherever it is when `cancelled` is set.
    pub(super) fn end_when(&mut self, cancelled: &Arc<AtomicBool>) {
        self.cancelled = Arc::clone(cancelled);
    }

    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Selects this lane's blocks of the epoch.
    fn deal(&mut self) {
        let mut order: Vec<(u32, u32)> = Vec::with_capacity(self.plan.blocks.len());
        let mut chance = Rng::of(&[self.plan.options.seed, 3, u64::from(self.epoch)]);
        for (number, place) in (0..).zip(&self.plan.blocks) {
            let repeats = self.plan.repeats[place.set as usize];
            let extra = repeats.fract() > 0.0
                && chance.below(CHANCES) < (repeats.fract() * f64::from(CHANCES)) as u32;
            order.extend((0..repeats as u32 + u32::from(extra)).map(|time| (number, time)));
        }
        Rng::of(&[self.plan.options.seed, 0, u64::from(self.epoch)]).shuffle(&mut order);
        self.order = order.into_iter().skip(self.lane as usize).step_by(self.plan.lanes as usize).collect();
    }

    /// The next sample, or `None` at the end.
    ///
    /// # Errors
    /// If a set cannot be read. The lane is unusable after that.
    #[inline]
    pub fn draw(&mut self) -> Result<Option<Sample<'_>>, StreamError> {
        if !self.filled {
            self.fill()?;
        }
        if let Some(drawn) = self.drawn.take() {
            self.advance(drawn as usize)?;
        }
        if self.cursors.is_empty() || self.is_cancelled() {
            return Ok(None);
        }
        let drawn = self.rng.below(self.cursors.len() as u32);
        self.drawn = Some(drawn);
        Ok(self.cursors.get(drawn as usize).map(Cursor::sample))
    }

    /// Passes up to `count` samples to `take` and returns their number.
    ///
    /// # Errors
    /// As [`draw`](Lane::draw).
    pub fn draw_many(
        &mut self,
        count: usize,
        mut take: impl FnMut(&Sample<'_>),
    ) -> Result<usize, StreamError> {
        for drawn in 0..count {
            match self.draw()? {
                Some(sample) => take(&sample),
                None => return Ok(drawn),
            }
        }
        Ok(count)
    }

    fn fill(&mut self) -> Result<(), StreamError> {
        self.filled = true;
        while self.cursors.len() < self.plan.options.cursors.max(1) as usize && !self.is_cancelled() {
            let Some(cursor) = self.next_cursor(TakeUp::Anywhere)? else { break };
            self.cursors.push(cursor);
        }
        Ok(())
    }

    /// Advances a cursor; at the end of its record it opens the next one.
    #[inline]
    fn advance(&mut self, at: usize) -> Result<(), StreamError> {
        let cursor = &mut self.cursors[at];
        let place = cursor.place;
        if cursor.advance(&self.plan.options.filter).map_err(|error| at_place(&self.plan, place, error))? {
            return Ok(());
        }
        match self.next_cursor(TakeUp::AtTheBeginning)? {
            Some(cursor) => self.cursors[at] = cursor,
            None => drop(self.cursors.swap_remove(at)),
        }
        Ok(())
    }

    /// Opens the next record of the right side that passes the filter.
    fn next_cursor(&mut self, take_up: TakeUp) -> Result<Option<Cursor>, StreamError> {
        loop {
            let Some((number, block)) = &self.block else {
                if !self.next_block()? {
                    return Ok(None);
                }
                continue;
            };
            let (number, record_number) = (*number, self.next_record);
            let Some(record) = block.record(record_number as usize) else {
                self.block = None;
                continue;
            };
            self.next_record += 1;
            let place = place(&self.plan, number, record_number, self.visit)?;
            let wrong = |error| at_place(&self.plan, place, error);
            let record = record.map_err(wrong)?;
            let options = &self.plan.options;
            if options.side != Side::All
                && !options.side.takes(options.split.side(record.key(), record.players()))
            {
                continue;
            }
            let first = match (take_up, &record) {
                (TakeUp::Anywhere, crate::Record::Game(game)) => self.rng.below(game.plies),
                _ => 0,
            };
            let cursor = Cursor::open(place, &record, first, options).map_err(wrong)?;
            if let Some(cursor) = cursor {
                self.gave = true;
                return Ok(Some(cursor));
            }
        }
    }

    /// Reads the next block; `false` if there is none.
    fn next_block(&mut self) -> Result<bool, StreamError> {
        if self.blocks_begun as usize >= self.order.len() {
            // An epoch without records would repeat forever.
            if self.plan.options.repeat == Repeat::Once || !self.gave {
                return Ok(false);
            }
            self.epoch += 1;
            self.blocks_begun = 0;
            self.gave = false;
            self.deal();
        }
        let Some(&(number, time)) = self.order.get(self.blocks_begun as usize) else { return Ok(false) };
        self.visit = self.plan.visit(self.epoch, time);
        self.block = Some((number, read_block(&self.plan, number)?));
        self.blocks_begun += 1;
        self.next_record = 0;
        Ok(true)
    }

    /// The state of the lane.
    pub fn state(&self) -> LaneState {
        let cursor = |cursor: &Cursor| {
            let Place { block, record, epoch, .. } = cursor.place;
            let Progress { ply, first, anew } = cursor.progress();
            CursorState(block, record, epoch, ply, first, anew)
        };
        LaneState {
            epoch: self.epoch,
            blocks_begun: self.blocks_begun,
            next_record: self.next_record,
            gave: self.gave,
            filled: self.filled,
            rng: self.rng.0,
            drawn: self.drawn,
            cursors: self.cursors.iter().map(cursor).collect(),
        }
    }

    pub(super) fn resume(plan: Arc<Plan>, lane: u32, state: &LaneState) -> Result<Self, StreamError> {
        let mut lane = Lane {
            epoch: state.epoch,
            blocks_begun: state.blocks_begun,
            next_record: state.next_record,
            gave: state.gave,
            filled: state.filled,
            drawn: state.drawn,
            ..Lane::new(plan, lane)
        };
        lane.rng = Rng(state.rng);
        lane.deal();
        if lane.drawn.is_some_and(|drawn| drawn as usize >= state.cursors.len()) {
            return Err(StreamError::State { what: "it draws from a cursor that is not there" });
        }
        if let Some(last) = lane.blocks_begun.checked_sub(1) {
            let found = lane.order.get(last as usize).copied();
            let (number, time) = found.ok_or(StreamError::State { what: "it is past the last block" })?;
            lane.visit = lane.plan.visit(lane.epoch, time);
            lane.block = Some((number, read_block(&lane.plan, number)?));
        }
        // Each block is read once, whatever the order of the cursors.
        let mut by_block: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (at, cursor) in state.cursors.iter().enumerate() {
            by_block.entry(cursor.0).or_default().push(at);
        }
        let mut cursors: Vec<Option<Cursor>> = state.cursors.iter().map(|_| None).collect();
        for (number, waiting) in by_block {
            let block = read_block(&lane.plan, number)?;
            for at in waiting {
                let CursorState(_, record_number, epoch, ply, first, anew) = state.cursors[at];
                let place = place(&lane.plan, number, record_number, epoch)?;
                let record = block.record(record_number as usize);
                let record = record.ok_or(StreamError::State { what: "a record is not there" })?;
                let cursor = record.and_then(|record| {
                    Cursor::reopen(place, &record, Progress { ply, first, anew }, &lane.plan.options)
                });
                cursors[at] = Some(cursor.map_err(|error| at_place(&lane.plan, place, error))?);
            }
        }
        lane.cursors = cursors.into_iter().flatten().collect();
        Ok(lane)
    }
}

/// Resolution of the chance of one more repetition.
const CHANCES: u32 = 1 << 20;

/// The ply at which a game is entered.
#[derive(Clone, Copy)]
enum TakeUp {
    AtTheBeginning,
    Anywhere,
}

fn block_place(plan: &Plan, number: u32) -> Result<BlockPlace, StreamError> {
    let place = plan.blocks.get(number as usize).copied();
    place.ok_or(StreamError::State { what: "a block is not there" })
}

fn read_block(plan: &Plan, number: u32) -> Result<Block, StreamError> {
    let BlockPlace { set, shard, block } = block_place(plan, number)?;
    let shard = &plan.sets[set as usize].shards()[shard as usize];
    Ok(shard.block(block as usize).map_err(SetError::from)?)
}

fn place(plan: &Plan, number: u32, record: u32, epoch: u32) -> Result<Place, StreamError> {
    let BlockPlace { set, shard, block } = block_place(plan, number)?;
    let within = &plan.sets[set as usize];
    let before_shard = within.before(shard as usize).map_or(0, |(records, _)| records);
    let before_block =
        within.shards()[shard as usize].before(block as usize).map_or(0, |(records, _)| records);
    let index = RecordIndex(before_shard + before_block + u64::from(record));
    Ok(Place { block: number, record, set, index, epoch })
}

fn at_place(plan: &Plan, place: Place, error: RecordError) -> StreamError {
    let file = block_place(plan, place.block).map(|BlockPlace { set, shard, block }| {
        (plan.sets[set as usize].shards()[shard as usize].path().display().to_string(), block)
    });
    let (file, block) = file.unwrap_or_default();
    StreamError::Record { file, block, record: place.record, error }
}
