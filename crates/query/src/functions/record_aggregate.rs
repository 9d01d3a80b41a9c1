use std::borrow::Cow;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, LargeBinaryBuilder};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility};
use tabia_data::RecordKind;

use super::groups::{Fold, Groups, OneGroup};

/// `best_record(record)` and `merge_evaluations(record)`: merge records with the same key.
///
/// Of games, the one with the most information, then the one with the smaller bytes; of evaluations, all sessions. Valid
/// records replace invalid bytes. Of different positions with equal keys, which takes a collision of 64-bit hashes, the
/// one with the smaller bytes is kept.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct RecordAggregate {
    kind: RecordKind,
    signature: Signature,
}

impl RecordAggregate {
    pub(super) fn new(kind: RecordKind) -> RecordAggregate {
        let signature = Signature::exact(vec![DataType::LargeBinary], Volatility::Immutable);
        RecordAggregate { kind, signature }
    }
}

/// The name of the aggregate that merges records.
pub(crate) fn aggregate_name(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Games => "best_record",
        RecordKind::Evaluations => "merge_evaluations",
    }
}

impl AggregateUDFImpl for RecordAggregate {
    fn name(&self) -> &str {
        aggregate_name(self.kind)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(DataType::LargeBinary)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let name = format_state_name(args.name, "record");
        Ok(vec![Arc::new(Field::new(name, DataType::LargeBinary, true))])
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneGroup::new(Unite(self.kind))))
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups::new(Unite(self.kind))))
    }
}

/// A state is a list of records, each after its 32-bit length: the first is merged, the others are pending.
///
/// Merging when as many bytes are pending as merged keeps the cost of large groups linear.
#[derive(Debug)]
struct Unite(RecordKind);

/// Pending bytes below which no merge happens.
const WAITING: usize = 4096;

fn push_record(state: &mut Vec<u8>, record: &[u8]) {
    let length = u32::try_from(record.len()).unwrap_or(u32::MAX);
    state.extend_from_slice(&length.to_le_bytes());
    state.extend_from_slice(&record[..length as usize]);
}

fn records(mut state: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, rest) = state.split_first_chunk()?;
        let (record, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        state = rest;
        Some(record)
    })
}

impl Unite {
    /// One record for all records of a state; `None` if there is none.
    fn united<'a>(&self, state: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let Unite(kind) = self;
        let mut all = records(state);
        let first = all.next()?;
        if all.next().is_none() {
            return Some(first.into());
        }
        if let Ok(united) = kind.unite(records(state)) {
            return Some(united.into());
        }
        // A hash collision. The position comes first in the bytes, so the same record stays in any order of merging.
        let rank = |bytes: &[u8]| kind.key(bytes).is_err();
        records(state).map(Cow::from).reduce(|kept, other| {
            match kind.unite([kept.as_ref(), other.as_ref()]) {
                Ok(united) => united.into(),
                Err(_) if (rank(&other), &other) < (rank(&kept), &kept) => other,
                Err(_) => kept,
            }
        })
    }
}

impl Fold for Unite {
    fn state_of_row(&self, arguments: &[ArrayRef], row: usize, state: &mut Vec<u8>) {
        if arguments[0].is_valid(row) {
            push_record(state, arguments[0].as_binary::<i64>().value(row));
        }
    }

    fn merge(&self, kept: &mut Vec<u8>, other: &[u8]) {
        kept.extend_from_slice(other);
        let united = records(kept).next().map_or(0, <[u8]>::len);
        if kept.len() > 2 * united + WAITING
            && let Some(record) = self.united(kept).map(Cow::into_owned)
        {
            kept.clear();
            push_record(kept, &record);
        }
    }

    fn results(&self, states: &[Vec<u8>]) -> Result<ArrayRef> {
        let mut column = LargeBinaryBuilder::with_capacity(states.len(), states.iter().map(Vec::len).sum());
        for state in states {
            column.append_option(self.united(state));
        }
        Ok(Arc::new(column.finish()))
    }
}
