use std::fmt::Debug;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, LargeBinaryBuilder};
use datafusion::error::Result;
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use datafusion::scalar::ScalarValue;

/// An aggregate whose state is bytes.
///
/// The result must not depend on the order of rows or on how states are merged, so that an aggregation can be split,
/// spilled and distributed.
pub(super) trait Fold: Debug + Send + 'static {
    /// The state of a single row; empty if the row is ignored.
    fn state_of_row(&self, arguments: &[ArrayRef], row: usize, state: &mut Vec<u8>);

    /// Adds a state, which is not empty, to another.
    fn merge(&self, kept: &mut Vec<u8>, other: &[u8]);

    /// The results of groups; an empty state is a group without rows.
    fn results(&self, states: &[Vec<u8>]) -> Result<ArrayRef>;
}

/// The groups of an aggregate, each with its bytes.
#[derive(Debug)]
pub(super) struct Groups<F> {
    fold: F,
    states: Vec<Vec<u8>>,
    /// Heap size of the states.
    held: usize,
    scratch: Vec<u8>,
}

/// Estimated overhead of an allocation.
const ALLOCATION: usize = 16;

fn held_by(state: &Vec<u8>) -> usize {
    if state.capacity() == 0 { 0 } else { state.capacity() + ALLOCATION }
}

impl<F: Fold> Groups<F> {
    pub(super) fn new(fold: F) -> Groups<F> {
        Groups { fold, states: Vec::new(), held: 0, scratch: Vec::new() }
    }

    fn add(&mut self, group: usize, state: &[u8]) {
        if state.is_empty() {
            return;
        }
        let kept = &mut self.states[group];
        self.held -= held_by(kept);
        if kept.is_empty() {
            kept.reserve_exact(state.len());
            kept.extend_from_slice(state);
        } else {
            self.fold.merge(kept, state);
        }
        self.held += held_by(kept);
    }

    fn take(&mut self, emit: EmitTo) -> Vec<Vec<u8>> {
        let taken = emit.take_needed(&mut self.states);
        self.held -= taken.iter().map(held_by).sum::<usize>();
        taken
    }
}

impl<F: Fold> GroupsAccumulator for Groups<F> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        filter: Option<&BooleanArray>,
        groups: usize,
    ) -> Result<()> {
        self.states.resize_with(groups, Vec::new);
        let mut state = std::mem::take(&mut self.scratch);
        for (row, &group) in group_indices.iter().enumerate() {
            if counts(filter, row) {
                state.clear();
                self.fold.state_of_row(values, row, &mut state);
                self.add(group, &state);
            }
        }
        self.scratch = state;
        Ok(())
    }

    fn merge_batch(&mut self, values: &[ArrayRef], group_indices: &[usize], groups: usize) -> Result<()> {
        self.states.resize_with(groups, Vec::new);
        let states = values[0].as_binary::<i64>();
        for (row, &group) in group_indices.iter().enumerate() {
            if states.is_valid(row) {
                self.add(group, states.value(row));
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let states = self.take(emit);
        self.fold.results(&states)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let states = self.take(emit);
        let mut column = LargeBinaryBuilder::with_capacity(states.len(), states.iter().map(Vec::len).sum());
        for state in states {
            column.append_option((!state.is_empty()).then_some(&state));
        }
        Ok(vec![Arc::new(column.finish())])
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let mut column = LargeBinaryBuilder::new();
        let mut state = Vec::new();
        for row in 0..values[0].len() {
            state.clear();
            if counts(filter, row) {
                self.fold.state_of_row(values, row, &mut state);
            }
            column.append_option((!state.is_empty()).then_some(&state));
        }
        Ok(vec![Arc::new(column.finish())])
    }

    fn size(&self) -> usize {
        self.held + self.states.capacity() * size_of::<Vec<u8>>() + self.scratch.capacity()
    }
}

fn counts(filter: Option<&BooleanArray>, row: usize) -> bool {
    filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row))
}

/// The aggregate over one group, for queries without GROUP BY and for windows.
#[derive(Debug)]
pub(super) struct OneGroup<F>(Groups<F>);

impl<F: Fold> OneGroup<F> {
    pub(super) fn new(fold: F) -> OneGroup<F> {
        OneGroup(Groups { states: vec![Vec::new()], ..Groups::new(fold) })
    }
}

impl<F: Fold + Sync> Accumulator for OneGroup<F> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.update_batch(values, &vec![0; values[0].len()], None, 1)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge_batch(states, &vec![0; states[0].len()], 1)
    }

    /// Keeps the state: a window goes on.
    fn evaluate(&mut self) -> Result<ScalarValue> {
        ScalarValue::try_from_array(&self.0.fold.results(&self.0.states)?, 0)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let state = GroupsAccumulator::state(&mut self.0, EmitTo::All)?;
        self.0.states.resize_with(1, Vec::new);
        Ok(vec![ScalarValue::try_from_array(&state[0], 0)?])
    }

    fn size(&self) -> usize {
        size_of_val(self) + GroupsAccumulator::size(&self.0)
    }
}
