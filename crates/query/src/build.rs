//! From tables to a set: the query plan, and writing its rows.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Float64Type, Int64Type, UInt64Type};
use datafusion::dataframe::DataFrame;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::SessionContext;
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::{Expr, SortExpr, col, lit};
use datafusion::prelude::ident;
use futures::StreamExt;
use tabia_data::stats::{Pool, Tally};
use tabia_data::{GameBytes, RecordKey, RecordKind, SetError, SetWriter};

use crate::functions::aggregate_name;
use crate::table::{ChessTable, TableSpec};

/// Input of a build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The kind of records; all tables must have it.
    pub kind: RecordKind,
    /// Where they come from.
    pub tables: Vec<TableSpec>,
    /// Filter of rows: an SQL condition on the tables' columns.
    pub filter: Option<String>,
    /// Share of the records to take, sampled by key; `None` takes all.
    pub sample: Option<f64>,
    /// Ranges of keys to skip, as first and last key.
    pub done: Vec<(u64, u64)>,
}

/// The plan of a build: rows `key`, `record` and `copies` (the number of merged records), sorted by key, one row per key.
///
/// The result depends only on the records in the tables, not on the order of files, rows and threads, as merging duplicates
/// is commutative. Records are sorted first, which can spill, and then grouped while streaming, which takes no memory.
///
/// # Errors
/// If the filter is not a condition on the columns of a table.
pub async fn build_plan(context: &SessionContext, options: &BuildOptions) -> Result<DataFrame> {
    let all = rows(context, options, &[col("key"), col("record")])?;
    let by_key = || -> Vec<SortExpr> { vec![col("key").sort(true, false)] };
    let unite = context.udaf(aggregate_name(options.kind))?;
    let record: Expr = unite.call(vec![col("record")]).alias("record");
    all.sort(by_key())?
        .aggregate(vec![ident("key")], vec![record, count(lit(1_i64)).alias("copies")])?
        .sort(by_key())
}

/// These columns of the rows to build from.
fn rows(context: &SessionContext, options: &BuildOptions, columns: &[Expr]) -> Result<DataFrame> {
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
        let rows = rows.select(columns.to_owned())?;
        all = Some(match all {
            None => rows,
            Some(others) => others.union(rows)?,
        });
    }
    all.ok_or_else(|| DataFusionError::Plan("there is nothing to build from".to_owned()))
}

/// The share of the records that `count` of them are, as [`BuildOptions::sample`]; 1 if there are no more. Reads the input once, and
/// keeps a number for each of them.
///
/// # Errors
/// As [`build_plan`], or if the input cannot be read.
pub async fn share_of(context: &SessionContext, options: &BuildOptions, count: usize) -> Result<f64> {
    let draw = context.udf("draw")?.call(vec![col("key")]).alias("draw");
    let mut batches = rows(context, options, &[draw])?.execute_stream().await?;
    let mut least = LeastDraws { count, draws: Vec::new(), below: 1.0 };
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        let draws = batch.column(0).as_primitive_opt::<Float64Type>().into_iter().flatten().flatten();
        draws.for_each(|draw| least.add(draw));
    }
    least.tidy();
    Ok(least.below)
}

/// The least of some numbers. A record that occurs several times has one.
struct LeastDraws {
    count: usize,
    draws: Vec<f64>,
    /// More than every one of the least that are known.
    below: f64,
}

impl LeastDraws {
    fn add(&mut self, draw: f64) {
        if draw < self.below {
            self.draws.push(draw);
            if self.draws.len() >= self.count.saturating_mul(2).max(1 << 10) {
                self.tidy();
            }
        }
    }

    fn tidy(&mut self) {
        self.draws.sort_unstable_by(f64::total_cmp);
        self.draws.dedup();
        self.draws.truncate(self.count);
        if let Some(last) = self.draws.get(self.count.saturating_sub(1)) {
            self.below = last.next_up();
        }
    }
}

/// Counts of what [`write_batch`] has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Records.
    pub records: u64,
    /// Records before merging duplicates.
    pub copies: u64,
    /// Games by rating pool.
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
/// If the set cannot be written.
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
