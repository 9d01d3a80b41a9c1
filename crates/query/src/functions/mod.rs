//! Chess as SQL functions: one list, which every context, scheduler and executor registers.
//!
//! A scalar function gives NULL for what it cannot read (a text that is no FEN, an illegal move), so that one bad row
//! never fails a query. Aggregates pass over such rows.

mod chess_function;
mod draw;
mod groups;
mod legal_moves;
mod move_index;
mod packing;
mod position_facts;
mod record_aggregate;
mod soft_label;

use std::sync::Arc;

use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use tabia_data::RecordKind;

use self::record_aggregate::RecordAggregate;
pub(crate) use self::record_aggregate::aggregate_name;

/// Every function this crate adds to SQL.
#[derive(Clone, Debug)]
pub struct Functions {
    /// Functions of one row.
    pub scalar: Vec<Arc<ScalarUDF>>,
    /// Functions of a group of rows.
    pub aggregate: Vec<Arc<AggregateUDF>>,
}

/// Every function this crate adds to SQL: what a client, a scheduler and its executors all have to know.
pub fn functions() -> Functions {
    Functions {
        scalar: [
            position_facts::fen_key(),
            position_facts::material(),
            position_facts::phase(),
            position_facts::side(),
            legal_moves::legal_moves(),
            move_index::move_index(),
            packing::pack_position(),
            packing::unpack_position(),
            draw::draw(),
        ]
        .into_iter()
        .map(|function| Arc::new(ScalarUDF::new_from_impl(function)))
        .collect(),
        aggregate: vec![
            Arc::new(AggregateUDF::new_from_impl(soft_label::SoftLabel::new())),
            Arc::new(AggregateUDF::new_from_impl(RecordAggregate::new(RecordKind::Games))),
            Arc::new(AggregateUDF::new_from_impl(RecordAggregate::new(RecordKind::Evaluations))),
        ],
    }
}

impl Functions {
    /// Makes the functions known to a context.
    pub fn register(self, context: &SessionContext) {
        for function in self.scalar {
            context.register_udf(function.as_ref().clone());
        }
        for function in self.aggregate {
            context.register_udaf(function.as_ref().clone());
        }
    }

    /// Makes the functions known to a registry, as a session state is one.
    ///
    /// # Errors
    /// When the registry refuses a function.
    pub fn register_in(self, registry: &mut dyn FunctionRegistry) -> datafusion::error::Result<()> {
        for function in self.scalar {
            registry.register_udf(function)?;
        }
        for function in self.aggregate {
            registry.register_udaf(function)?;
        }
        Ok(())
    }
}
