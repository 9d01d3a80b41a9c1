#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Executors' reports of the files they read.
//!
//! Ballista sends the metrics of finished tasks to the client: named numbers. A report is encoded as such a name. A
//! partition that is read again after a failure gives the same report, so that each counts once.

use std::collections::BTreeSet;
use std::sync::Arc;

use ballista_core::serde::protobuf::GetJobMetricsResult;
use ballista_core::serde::protobuf::operator_metric::Metric;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
use serde::{Deserialize, Serialize};

use super::slice::SlicedScan;
use crate::table::{Reading, SourceReport};

#[derive(Serialize, Deserialize)]
struct Report {
    partition: usize,
    source: String,
    records: u64,
    positions: u64,
    faults: tabia_data::Faults,
}

/// The context with `reading`, which scans update.
pub(super) fn counting(context: &TaskContext, reading: &Arc<Reading>) -> Arc<TaskContext> {
    Arc::new(TaskContext::new(
        context.task_id(),
        context.session_id(),
        context.session_config().clone().with_extension(Arc::clone(reading)),
        context.scalar_functions().clone(),
        context.higher_order_functions().clone(),
        context.aggregate_functions().clone(),
        context.window_functions().clone(),
        context.runtime_env(),
    ))
}

/// Records the report of a partition.
pub(super) fn write(partition: usize, reading: &Reading, metrics: &ExecutionPlanMetricsSet) {
    for (source, SourceReport { records, positions, faults }) in reading.sources() {
        // A missing report affects only the statistics.
        if let Ok(name) = serde_json::to_string(&Report { partition, source, records, positions, faults }) {
            MetricBuilder::new(metrics).counter(name, partition).add(1);
        }
    }
}

/// Adds all reports of a job to `reading`.
pub(super) fn read(metrics: GetJobMetricsResult, reading: &Reading) {
    let operators = metrics.stages.into_iter().flat_map(|stage| stage.operators);
    let scans = operators.filter(|operator| operator.operator_type == SlicedScan::NAME);
    let names = scans.flat_map(|scan| scan.metrics).filter_map(|metric| match metric.metric {
        Some(Metric::Count(count)) => Some(count.name),
        _ => None,
    });
    for name in names.collect::<BTreeSet<String>>() {
        if let Ok(report) = serde_json::from_str::<Report>(&name) {
            reading.add(&report.source, report.records, report.positions, report.faults);
        }
    }
}
