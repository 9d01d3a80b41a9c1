use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::stream;
use tabia_data::RecordKind;

use super::evaluation_columns::EvaluationBatch;
use super::feed::{Feed, Piece, Unopened};
use super::{Reading, TableSpec};
use tabia_tables::GameBatch;

/// Scans some columns of a table.
#[derive(Debug)]
pub(super) struct ChessScan {
    spec: Arc<TableSpec>,
    schema: SchemaRef,
    dealing: Dealing,
    properties: Arc<PlanProperties>,
}

/// Assignment of input to partitions.
#[derive(Debug)]
pub(super) enum Dealing {
    /// One file per partition, so that a partition can be recomputed anywhere.
    FileByFile,
    /// Partitions of one process share the chunks of all files, so that all of them work on a single file, too.
    Shared {
        /// How many there are.
        partitions: usize,
        /// What is being read.
        round: Mutex<Round>,
    },
}

/// One pass of all partitions over a table.
#[derive(Debug, Default)]
pub(super) struct Round {
    feed: Option<Arc<Mutex<Feed>>>,
    begun: BTreeSet<usize>,
}

impl Dealing {
    pub(super) fn shared(partitions: usize) -> Dealing {
        Dealing::Shared { partitions: partitions.max(1), round: Mutex::default() }
    }
}

impl ChessScan {
    pub(super) fn new(
        spec: TableSpec,
        projection: Option<&Vec<usize>>,
        dealing: Dealing,
    ) -> Result<ChessScan> {
        let whole = spec.schema();
        let schema = match projection {
            Some(columns) => Arc::new(whole.project(columns)?),
            None => whole,
        };
        let partitions = match &dealing {
            Dealing::FileByFile => spec.partitions(),
            Dealing::Shared { partitions, .. } => *partitions,
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(ChessScan { spec: Arc::new(spec), schema, dealing, properties: Arc::new(properties) })
    }

    /// The source of a partition's chunks.
    fn feed(&self, partition: usize) -> Arc<Mutex<Feed>> {
        match &self.dealing {
            Dealing::FileByFile => {
                let files: VecDeque<_> = self.spec.files.get(partition).cloned().into_iter().collect();
                Arc::new(Mutex::new(Feed::new(&self.spec, files, Unopened::Fails)))
            }
            Dealing::Shared { round, .. } => {
                let mut round = round.lock().unwrap_or_else(PoisonError::into_inner);
                // A partition that starts again starts another pass: the plan runs again.
                if !round.begun.insert(partition) {
                    *round = Round { feed: None, begun: BTreeSet::from([partition]) };
                }
                let all = || {
                    Arc::new(Mutex::new(Feed::new(
                        &self.spec,
                        self.spec.files.clone().into(),
                        Unopened::Counts,
                    )))
                };
                Arc::clone(round.feed.get_or_insert_with(all))
            }
        }
    }
}

impl DisplayAs for ChessScan {
    fn fmt_as(&self, _form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let (kind, files) = (self.spec.kind, self.spec.files.len());
        write!(f, "ChessScan: {kind:?}, files={files}, columns=[{}]", columns.join(", "))
    }
}

impl ExecutionPlan for ChessScan {
    fn name(&self) -> &'static str {
        "ChessScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _none: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let reading = context.session_config().get_extension::<Reading>().unwrap_or_default();
        let feed = self.feed(partition);
        let (spec, schema) = (Arc::clone(&self.spec), Arc::clone(&self.schema));
        let batches = stream::iter(std::iter::from_fn(move || {
            loop {
                // Splitting the stream into chunks is serial but cheap; parsing them is parallel.
                let piece = feed.lock().unwrap_or_else(PoisonError::into_inner).next(reading.counter());
                match piece {
                    Ok(Some(piece)) => match batch_of(&piece, &spec, &schema, &reading) {
                        Ok(batch) if batch.num_rows() == 0 => {}
                        batch => return Some(batch),
                    },
                    Ok(None) => return None,
                    Err(error) => return Some(Err(DataFusionError::External(Box::new(error)))),
                }
            }
        }));
        let stream = RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches);
        Ok(Box::pin(cooperative(stream)))
    }
}

fn batch_of(piece: &Piece, spec: &TableSpec, schema: &SchemaRef, reading: &Reading) -> Result<RecordBatch> {
    match spec.kind.records() {
        RecordKind::Games => {
            let mut batch = GameBatch::new(schema);
            let (source, records, faults) = piece.games(spec, &mut batch);
            reading.add(source, records, batch.positions(), faults);
            Ok(batch.finish(schema, source)?)
        }
        RecordKind::Evaluations => {
            let mut batch = EvaluationBatch::new(schema);
            let (source, records, faults) = piece.evaluations(&mut batch);
            reading.add(source, records, records, faults);
            batch.finish(schema, source)
        }
    }
}
