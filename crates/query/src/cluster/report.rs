#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! What executors say of the files they read, on its way back to the client.
//!
//! Ballista carries the metrics of finished tasks to the client: numbers with names. A report is such a name. A partition
//! that is read again, because a machine was lost, gives the same report again, so that each counts once.

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

/// The same context, whose scans count what they read.
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

/// Notes what became of a partition.
pub(super) fn write(partition: usize, reading: &Reading, metrics: &ExecutionPlanMetricsSet) {
    for (source, SourceReport { records, positions, faults }) in reading.sources() {
        // A report that could not be written would be missing at the client; nothing depends on it.
        if let Ok(name) = serde_json::to_string(&Report { partition, source, records, positions, faults }) {
            MetricBuilder::new(metrics).counter(name, partition).add(1);
        }
    }
}

/// Adds every report of a job to what was read.
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
