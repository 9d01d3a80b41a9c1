//! Chess functions for SQL, registered in every context, scheduler and executor.
//!
//! Scalar functions return NULL for invalid arguments (an invalid FEN, an illegal move), so that one bad row never fails a
//! query. Aggregates skip such rows.

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
use datafusion::logical_expr::{AggregateUDF, ScalarUDF};
use tabia_data::RecordKind;

use self::record_aggregate::RecordAggregate;
pub(crate) use self::record_aggregate::aggregate_name;

/// The functions of this crate.
#[derive(Clone, Debug)]
pub struct Functions {
    /// Functions of one row.
    pub scalar: Vec<Arc<ScalarUDF>>,
    /// Functions of a group of rows.
    pub aggregate: Vec<Arc<AggregateUDF>>,
}

/// All functions of this crate, for clients, schedulers and executors.
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
    /// Registers the functions in a context or session state.
    ///
    /// # Errors
    /// If the registry rejects a function.
    pub fn register(self, registry: &mut dyn FunctionRegistry) -> datafusion::error::Result<()> {
        for function in self.scalar {
            registry.register_udf(function)?;
        }
        for function in self.aggregate {
            registry.register_udaf(function)?;
        }
        Ok(())
    }
}
