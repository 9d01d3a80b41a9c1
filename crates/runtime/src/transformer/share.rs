//! How threads share the work of one position.
//!
//! Each has its own buffers and computes some of the tokens and some of the heads of attention, whose results it exchanges with
//! the others: twice a block, by copying. A row or a head is computed in the same way whoever computes it, so the outputs do not
//! depend on the number of threads.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;
use std::sync::{Mutex, PoisonError, RwLock};

use tabia_threads::Member;

use super::trunk::{Plan, TrunkBuffers};
use crate::accumulator::block::LANES;

/// Tokens whose products are computed together.
const TILE: usize = 8;

/// What the threads of a run exchange.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    /// The tokens at the start.
    pub(super) tokens: Vec<[f32; LANES]>,
    /// The rows of each thread.
    rows: [RwLock<Vec<[f32; LANES]>>; MOST],
    /// Each thread's heads: the blocks of a token, one token after another.
    heads: [RwLock<Vec<[f32; LANES]>>; MOST],
    /// Buffers of helpers.
    idle: Mutex<Vec<TrunkBuffers>>,
}

/// The most threads of a run.
pub(super) const MOST: usize = 4;

/// A thread's share.
pub(super) struct Share<'a> {
    plan: Plan,
    index: usize,
    /// The tokens of each thread.
    tokens: Vec<Range<usize>>,
    /// The heads of each thread.
    heads: Vec<Range<usize>>,
    others: Option<(&'a Member<'a>, &'a Exchange)>,
}

impl Exchange {
    /// The buffers of a helper of an earlier run.
    pub(super) fn take_buffers(&self) -> Option<TrunkBuffers> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps them for the next run.
    pub(super) fn keep_buffers(&self, buffers: TrunkBuffers) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(buffers);
    }
}

impl<'a> Share<'a> {
    /// Everything, for one thread.
    pub(super) fn whole(plan: Plan) -> Share<'a> {
        let all = |len: usize| std::iter::once(0..len).collect();
        Share { plan, index: 0, tokens: all(plan.tokens), heads: all(plan.heads()), others: None }
    }

    /// The share of a member of a team.
    pub(super) fn of(plan: Plan, member: &'a Member<'a>, exchange: &'a Exchange) -> Share<'a> {
        if member.count() == 1 {
            return Share::whole(plan);
        }
        let shares =
            |len, block| (0..member.count()).map(|index| member.share_of(index, len, block)).collect();
        Share {
            plan,
            index: member.index(),
            tokens: shares(plan.tokens, TILE),
            heads: shares(plan.heads(), 1),
            others: Some((member, exchange)),
        }
    }

    /// The blocks of its tokens in a buffer of rows of `width` numbers.
    pub(super) fn rows(&self, width: usize) -> Range<usize> {
        blocks(&self.tokens[self.index], width / LANES)
    }

    /// Its heads.
    pub(super) fn heads(&self) -> Range<usize> {
        self.heads[self.index].clone()
    }

    /// Copies its tokens at the start.
    pub(super) fn take_tokens(&self, to: &mut [[f32; LANES]]) {
        if let Some((_, exchange)) = self.others {
            let rows = self.rows(self.plan.width);
            to[rows.clone()].copy_from_slice(&exchange.tokens[rows]);
        }
    }

    /// Completes a buffer of which each thread has the rows of its tokens.
    pub(super) fn exchange_rows(&self, buffer: &mut [[f32; LANES]]) {
        let Some((member, exchange)) = self.others else { return };
        let width = buffer.len() / self.plan.tokens;
        publish(&exchange.rows[self.index], |own| {
            own.extend_from_slice(&buffer[blocks(&self.tokens[self.index], width)]);
        });
        member.wait();
        for (at, tokens) in self.others() {
            let theirs = exchange.rows[at].read().unwrap_or_else(PoisonError::into_inner);
            buffer[blocks(&self.tokens[at], width)].copy_from_slice(&theirs[..tokens.len() * width]);
        }
    }

    /// Completes the rows of this thread's tokens, of which each thread has the blocks of its heads.
    pub(super) fn exchange_heads(&self, buffer: &mut [[f32; LANES]]) {
        let Some((member, exchange)) = self.others else { return };
        let (width, head) = (self.plan.width / LANES, self.plan.head / LANES);
        let own = blocks(&self.heads[self.index], head);
        publish(&exchange.heads[self.index], |to| {
            for row in buffer.chunks_exact(width) {
                to.extend_from_slice(&row[own.clone()]);
            }
        });
        member.wait();
        for (at, _) in self.others() {
            let theirs = exchange.heads[at].read().unwrap_or_else(PoisonError::into_inner);
            let columns = blocks(&self.heads[at], head);
            if columns.is_empty() {
                continue;
            }
            let rows = theirs.chunks_exact(columns.len()).skip(self.tokens[self.index].start);
            let to = buffer[self.rows(self.plan.width)].chunks_exact_mut(width);
            for (row, to) in rows.zip(to) {
                to[columns.clone()].copy_from_slice(row);
            }
        }
    }

    /// The other threads and their tokens.
    fn others(&self) -> impl Iterator<Item = (usize, &Range<usize>)> {
        self.tokens.iter().enumerate().filter(|(at, _)| *at != self.index)
    }
}

/// Replaces what a thread shows the others.
fn publish(place: &RwLock<Vec<[f32; LANES]>>, put: impl FnOnce(&mut Vec<[f32; LANES]>)) {
    let mut place = place.write().unwrap_or_else(PoisonError::into_inner);
    place.clear();
    put(&mut place);
}

/// The blocks of a range of rows or heads.
fn blocks(of: &Range<usize>, width: usize) -> Range<usize> {
    of.start * width..of.end * width
}
