use std::fmt;
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::array::{AsArray, RecordBatch, UInt32Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, UInt32Type};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{exec_err, internal_err, plan_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties,
};
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::report;
use crate::table::{Reading, TableSpec};

/// Description of a scan, sufficient to rebuild it on another machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ScanDescription {
    /// The table.
    pub(super) table: TableSpec,
    /// The selected columns; `None` selects all.
    pub(super) projection: Option<Vec<usize>>,
}

/// The machine that executes a scan.
#[derive(Clone, Debug, Default)]
pub(super) struct Reader {
    /// The machine's name in errors.
    pub(super) name: String,
    /// Pause after each batch.
    pub(super) pause: Duration,
}

/// A scan of the partitions whose numbers are the rows of its input.
///
/// The scheduler assigns partitions to tasks by rewriting the leaves it knows. It would leave our own scan as it is, and
/// every task would read everything; it does know the memory leaf below this node.
#[derive(Debug)]
pub(super) struct SlicedScan {
    description: Arc<ScanDescription>,
    scan: Arc<dyn ExecutionPlan>,
    numbers: Arc<dyn ExecutionPlan>,
    reader: Reader,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SlicedScan {
    pub(super) const NAME: &str = "SlicedScan";

    /// A scan of all partitions of a table.
    pub(super) fn whole(description: ScanDescription) -> Result<Self> {
        let schema = Arc::new(Schema::new(vec![Field::new("partition", DataType::UInt32, false)]));
        let mut numbers = Vec::new();
        for number in 0..description.table.partitions() {
            let Ok(number) = u32::try_from(number) else { return plan_err!("a scan of {number} partitions") };
            let column = Arc::new(UInt32Array::from(vec![number]));
            numbers.push(vec![RecordBatch::try_new(Arc::clone(&schema), vec![column])?]);
        }
        Self::new(description, MemorySourceConfig::try_new_exec(&numbers, schema, None)?, Reader::default())
    }

    /// A scan of the partitions in `numbers`.
    pub(super) fn new(
        description: impl Into<Arc<ScanDescription>>,
        numbers: Arc<dyn ExecutionPlan>,
        reader: Reader,
    ) -> Result<Self> {
        let description = description.into();
        let scan = description.table.scan(description.projection.as_ref())?;
        let partitions = numbers.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(scan.schema()),
            Partitioning::UnknownPartitioning(partitions),
            scan.pipeline_behavior(),
            scan.boundedness(),
        );
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Self { description, scan, numbers, reader, properties: Arc::new(properties), metrics })
    }

    /// The description.
    pub(super) fn description(&self) -> &ScanDescription {
        &self.description
    }
}

impl DisplayAs for SlicedScan {
    fn fmt_as(&self, form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", Self::NAME)?;
        self.scan.fmt_as(form, f)
    }
}

impl ExecutionPlan for SlicedScan {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.numbers]
    }

    /// There is already one number per partition.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([numbers]) = <[_; 1]>::try_from(children) else {
            return internal_err!("a sliced scan has one input");
        };
        Ok(Arc::new(Self::new(Arc::clone(&self.description), numbers, self.reader.clone())?))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let numbers = self.numbers.execute(partition, Arc::clone(&context))?;
        let (scan, description) = (Arc::clone(&self.scan), Arc::clone(&self.description));
        let Reader { name, pause } = self.reader.clone();
        let metrics = self.metrics.clone();
        let rows = numbers
            .map_ok(|batch| {
                let numbers = batch.column(0).as_primitive::<UInt32Type>().values().to_vec();
                stream::iter(numbers.into_iter().map(Ok::<u32, DataFusionError>))
            })
            .try_flatten()
            .and_then(move |number| {
                let number = number as usize;
                let reading = Arc::new(Reading::default());
                let partition = visible(&description.table, number, &name)
                    .and_then(|()| scan.execute(number, report::counting(&context, &reading)));
                let metrics = metrics.clone();
                let end = async move {
                    report::write(number, &reading, &metrics);
                    stream::empty()
                };
                async move { Ok(partition?.chain(stream::once(end).flatten())) }
            })
            .try_flatten()
            .then(move |batch| async move {
                if !pause.is_zero() {
                    sleep(pause).await;
                }
                batch
            });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows.boxed())))
    }
}

/// Checks that this machine can open the file of a partition. The job fails at once if not, as a retry on another machine
/// would hide the misconfigured one.
fn visible(table: &TableSpec, partition: usize, reader: &str) -> Result<()> {
    let Some(path) = table.files.get(partition).and_then(|file| file.path.as_deref()) else {
        return plan_err!("the table has no file {partition}");
    };
    match File::open(path) {
        Ok(_) => Ok(()),
        Err(fault) => exec_err!(
            "the executor at {reader} cannot read {}: {fault}; every executor needs the input files under the client's \
             paths, as in a shared folder",
            path.display()
        ),
    }
}
