use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, LargeBinaryBuilder};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDFImpl, GroupsAccumulator, Signature, Volatility};
use tabia_data::RecordKind;

use super::groups::{Fold, Groups, OneGroup};

/// `best_record(record)` and `merge_evaluations(record)`: one record for all records with the same key.
///
/// Of games it is the one of which most is known, then the one with the smaller bytes; of evaluations of a position, one
/// with the sessions of all. Bytes that are no record give way to bytes that are. Different positions under one key,
/// which takes two equal hashes of 64 bits, keep the one with the smaller bytes.
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

/// The name of the aggregate that makes one record of several.
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

/// A state is the bytes of one record.
#[derive(Debug)]
struct Unite(RecordKind);

impl Fold for Unite {
    fn state_of_row(&self, arguments: &[ArrayRef], row: usize, state: &mut Vec<u8>) {
        if arguments[0].is_valid(row) {
            state.extend_from_slice(arguments[0].as_binary::<i64>().value(row));
        }
    }

    fn merge(&self, kept: &mut Vec<u8>, other: &[u8]) {
        if kept == other {
            return;
        }
        let Unite(kind) = self;
        if let Ok(united) = kind.unite([kept.as_slice(), other]) {
            *kept = united;
            return;
        }
        // Not two records of one thing. Records of different positions differ in the position already, which comes
        // first: whatever is united in between, the same one stays.
        let rank = |bytes: &[u8]| kind.key(bytes).is_err();
        if (rank(other), other) < (rank(kept), kept.as_slice()) {
            *kept = other.to_vec();
        }
    }

    fn results(&self, states: &[Vec<u8>]) -> Result<ArrayRef> {
        let mut column = LargeBinaryBuilder::with_capacity(states.len(), states.iter().map(Vec::len).sum());
        for state in states {
            column.append_option((!state.is_empty()).then_some(state));
        }
        Ok(Arc::new(column.finish()))
    }
}
