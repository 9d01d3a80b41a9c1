//! From tables to a set: the plan, and writing what it gives.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Int64Type, UInt64Type};
use datafusion::dataframe::DataFrame;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::SessionContext;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::{Expr, SortExpr, col, lit};
use datafusion::prelude::ident;
use tabia_data::stats::{Pool, Tally};
use tabia_data::{GameBytes, RecordKey, RecordKind, SetError, SetWriter};

use crate::functions::aggregate_name;
use crate::table::{ChessTable, TableSpec};

/// What a set is built from, and which records of it.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// What the records are: the tables' rows have to be such.
    pub kind: RecordKind,
    /// Where they come from.
    pub tables: Vec<TableSpec>,
    /// Which rows count: a condition in SQL on the tables' columns.
    pub filter: Option<String>,
    /// Which share of the records is taken, by their keys; all of them where there is none.
    pub sample: Option<f64>,
    /// Keys that need not be looked at: first and last of each range.
    pub done: Vec<(u64, u64)>,
}

/// The plan of a build: rows `key`, `record` and `copies` (how many records became one), in the order of their keys,
/// each key once.
///
/// The result is a function of the set of records that the tables hold, whatever the order of files, rows and threads:
/// duplicates are united by a rule that knows no order. Records are sorted, which spills, and then grouped as they
/// stream by, which takes no memory: the plan sorts below the grouping on purpose.
///
/// # Errors
/// When the filter is no condition on the columns of a table.
pub async fn build_plan(context: &SessionContext, options: &BuildOptions) -> Result<DataFrame> {
    let mut all: Option<DataFrame> = None;
    for spec in &options.tables {
        if spec.kind.records() != options.kind {
            let name = spec.files.first().map_or("", |file| file.name.as_str());
            return Err(DataFusionError::Plan(format!("{name}: holds no {}", options.kind)));
        }
        let mut rows = context.read_table(Arc::new(ChessTable::new(spec.clone())))?;
        if let Some(filter) = &options.filter {
            rows = rows.clone().filter(rows.parse_sql_expr(filter)?)?;
        }
        if let Some(share) = options.sample {
            let draw = context.udf("draw")?;
            rows = rows.filter(draw.call(vec![col("key")]).lt(lit(share)))?;
        }
        for &(first, last) in &options.done {
            rows = rows.filter(col("key").between(lit(first), lit(last)).is_not_true())?;
        }
        let rows = rows.select(vec![col("key"), col("record")])?;
        all = Some(match all {
            None => rows,
            Some(others) => others.union(rows)?,
        });
    }
    let Some(all) = all else {
        return Err(DataFusionError::Plan("there is nothing to build from".to_owned()));
    };
    let by_key = || -> Vec<SortExpr> { vec![col("key").sort(true, false)] };
    let unite = context.udaf(aggregate_name(options.kind))?;
    let record: Expr = unite.call(vec![col("record")]).alias("record");
    all.sort(by_key())?
        .aggregate(vec![ident("key")], vec![record, count(lit(1_i64)).alias("copies")])?
        .sort(by_key())
}

/// What [`write_batch`] has written so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Records.
    pub records: u64,
    /// Records before duplicates were united.
    pub copies: u64,
    /// Games by whose scale their ratings are on.
    pub pools: Tally<Pool>,
}

/// Why a build stopped while writing.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The set cannot be written.
    #[error(transparent)]
    Set(#[from] SetError),
    /// The rows are not those of a [`build_plan`].
    #[error("rows without {0}")]
    Columns(&'static str),
}

/// Adds some rows of a [`build_plan`] to a set.
///
/// # Errors
/// When the set refuses.
pub fn write_batch(
    batch: &RecordBatch,
    set: &mut SetWriter,
    written: &mut Written,
) -> Result<(), WriteError> {
    let column = |name: &'static str| batch.column_by_name(name).ok_or(WriteError::Columns(name));
    let keys = column("key")?.as_primitive_opt::<UInt64Type>().ok_or(WriteError::Columns("key"))?;
    let records = column("record")?.as_binary_opt::<i64>().ok_or(WriteError::Columns("record"))?;
    let copies = column("copies")?.as_primitive_opt::<Int64Type>().ok_or(WriteError::Columns("copies"))?;
    for row in 0..batch.num_rows() {
        if keys.is_null(row) || records.is_null(row) {
            continue;
        }
        let record = records.value(row);
        set.push(RecordKey(keys.value(row)), record)?;
        if set.plan().kind == RecordKind::Games
            && let Ok(game) = GameBytes::parse(record)
        {
            written.pools.add(Pool(game.head.pool));
        }
        written.records += 1;
        written.copies += copies.value(row).unsigned_abs();
    }
    Ok(())
}
