#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
//! Serialisation of tables and scans, with the version that wrote them.

use std::sync::Arc;

use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{TableReference, plan_err};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Extension, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::slice::{Reader, ScanDescription, SlicedScan};
use crate::table::ChessTable;

/// A message with the version of its sender.
#[derive(Serialize, Deserialize)]
struct Stamped<T> {
    version: String,
    content: T,
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn write<T: Serialize>(content: &T, buffer: &mut Vec<u8>) -> Result<()> {
    let stamped = Stamped { version: VERSION.to_owned(), content };
    serde_json::to_writer(buffer, &stamped).map_err(|fault| DataFusionError::External(Box::new(fault)))
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let unreadable = |fault| DataFusionError::Plan(format!("a part of the plan cannot be read: {fault}"));
    // Check the version before parsing the content.
    let Stamped { version, content } =
        serde_json::from_slice::<Stamped<serde_json::Value>>(bytes).map_err(unreadable)?;
    if version != VERSION {
        return plan_err!(
            "the plan comes from tabia-lab {version}, this machine has {VERSION}: run the same tabia-lab everywhere"
        );
    }
    serde_json::from_value(content).map_err(unreadable)
}

/// Ballista's codec for logical plans, and our tables.
#[derive(Debug, Default)]
pub(super) struct LogicalCodec(BallistaLogicalExtensionCodec);

impl LogicalExtensionCodec for LogicalCodec {
    fn try_decode(&self, buf: &[u8], inputs: &[LogicalPlan], ctx: &TaskContext) -> Result<Extension> {
        self.0.try_decode(buf, inputs, ctx)
    }

    fn try_encode(&self, node: &Extension, buf: &mut Vec<u8>) -> Result<()> {
        self.0.try_encode(node, buf)
    }

    fn try_decode_table_provider(
        &self,
        buf: &[u8],
        _table: &TableReference,
        _schema: SchemaRef,
        _ctx: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        // The scans of a cluster's table can be split into tasks.
        Ok(Arc::new(ChessTable::planned(read(buf)?, |spec, _, projection| {
            let description = ScanDescription { table: spec.clone(), projection: projection.cloned() };
            Ok(Arc::new(SlicedScan::whole(description)?))
        })))
    }

    fn try_encode_table_provider(
        &self,
        table: &TableReference,
        node: Arc<dyn TableProvider>,
        buf: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(chess) = node.downcast_ref::<ChessTable>() else {
            return plan_err!("a cluster cannot read the table '{table}' of this process");
        };
        write(chess.spec(), buf)
    }

    fn try_decode_file_format(&self, buf: &[u8], ctx: &TaskContext) -> Result<Arc<dyn FileFormatFactory>> {
        self.0.try_decode_file_format(buf, ctx)
    }

    fn try_encode_file_format(&self, buf: &mut Vec<u8>, node: Arc<dyn FileFormatFactory>) -> Result<()> {
        self.0.try_encode_file_format(buf, node)
    }
}

/// Ballista's codec for physical plans, extended by our scans. The first byte tells them apart.
#[derive(Debug, Default)]
pub(super) struct PhysicalCodec {
    ballistas: BallistaPhysicalExtensionCodec,
    reader: Reader,
}

impl PhysicalCodec {
    /// The codec of a machine that runs scans.
    pub(super) fn of_reader(reader: Reader) -> Self {
        Self { reader, ..Self::default() }
    }
}

const BALLISTAS: u8 = 0;
const OURS: u8 = 1;

impl PhysicalExtensionCodec for PhysicalCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match (buf.split_first(), inputs) {
            (Some((&BALLISTAS, node)), _) => self.ballistas.try_decode(node, inputs, ctx, converter),
            (Some((&OURS, node)), [numbers]) => Ok(Arc::new(SlicedScan::new(
                read::<ScanDescription>(node)?,
                Arc::clone(numbers),
                self.reader.clone(),
            )?)),
            _ => plan_err!("unknown node in the plan: run the same version of tabia-lab on all machines"),
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(sliced) = node.downcast_ref::<SlicedScan>() else {
            buf.push(BALLISTAS);
            return self.ballistas.try_encode(node, buf, converter);
        };
        buf.push(OURS);
        write(sliced.description(), buf)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use ballista_scheduler::state::task_builder::restrict_plan_to_partitions;
    use datafusion::arrow::array::RecordBatch;
    use datafusion::physical_plan::{ExecutionPlanProperties, collect};
    use datafusion::prelude::SessionContext;
    use datafusion_proto::physical_plan::AsExecutionPlan;
    use datafusion_proto::protobuf::PhysicalPlanNode;

    use super::*;
    use crate::table::{TableFile, TableKind, TableSpec};

    fn spec(paths: &[&Path]) -> TableSpec {
        let file = |path: &&Path| TableFile {
            name: "games.pgn".into(),
            path: Some(path.to_path_buf()),
            bytes: None,
        };
        TableSpec { kind: TableKind::Pgn, files: paths.iter().map(file).collect(), pool: None }
    }

    fn there_and_back(plan: Arc<dyn ExecutionPlan>, context: &SessionContext) -> Arc<dyn ExecutionPlan> {
        let sender = PhysicalCodec::default();
        let receiver = PhysicalCodec::of_reader(Reader { name: "beta:1".into(), ..Reader::default() });
        let node = PhysicalPlanNode::try_from_physical_plan(plan, &sender).unwrap();
        node.try_into_physical_plan(&context.task_ctx(), &receiver).unwrap()
    }

    #[tokio::test]
    async fn a_task_reads_its_own_files_only() {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<_> = ["a", "b", "c"].map(|name| folder.path().join(name).with_extension("pgn")).into();
        for (games, path) in paths.iter().enumerate() {
            std::fs::write(path, "[Result \"*\"]\n\n1. e4 e5 *\n\n".repeat(games + 1)).unwrap();
        }
        let table = spec(&paths.iter().map(PathBuf::as_path).collect::<Vec<_>>());
        let scan = ScanDescription { table, projection: Some(vec![0]) };
        let whole: Arc<dyn ExecutionPlan> = Arc::new(SlicedScan::whole(scan).unwrap());
        let context = SessionContext::new();
        for (partitions, games) in [(vec![0, 1, 2], 6), (vec![2], 3), (vec![0, 1], 3), (vec![], 0)] {
            let task = restrict_plan_to_partitions(Arc::clone(&whole), &partitions).unwrap();
            let task = there_and_back(task, &context);
            assert_eq!(task.output_partitioning().partition_count(), partitions.len());
            let rows = collect(task, context.task_ctx()).await.unwrap();
            assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), games, "{partitions:?}");
        }
    }

    #[tokio::test]
    async fn a_missing_file_is_reported_with_the_executor() {
        let context = SessionContext::new();
        let scan = ScanDescription { table: spec(&[Path::new("/no/such/games.pgn")]), projection: None };
        let task = there_and_back(Arc::new(SlicedScan::whole(scan).unwrap()), &context);
        let fault = collect(task, context.task_ctx()).await.unwrap_err().to_string();
        assert!(
            ["beta:1", "/no/such/games.pgn", "shared folder"].iter().all(|part| fault.contains(part)),
            "{fault}"
        );
    }

    #[test]
    fn tables_of_this_process_are_errors() {
        let provider = Arc::new(datafusion::datasource::empty::EmptyTable::new(spec(&[]).schema()));
        let outcome =
            LogicalCodec::default().try_encode_table_provider(&"t".into(), provider, &mut Vec::new());
        let fault = outcome.unwrap_err().to_string();
        assert!(fault.contains("'t'"), "{fault}");
    }

    #[test]
    fn another_version_is_an_error() {
        let mut bytes = Vec::new();
        write(&5, &mut bytes).unwrap();
        assert_eq!(read::<u32>(&bytes).unwrap(), 5);
        let fault = read::<u32>(br#"{"version":"9.9.9","content":{"new":[]}}"#).unwrap_err().to_string();
        assert!(fault.contains("9.9.9") && fault.contains(VERSION), "{fault}");
        for broken in [&b""[..], b"{", b"[1]", br#"{"version":1}"#] {
            assert!(read::<u32>(broken).is_err());
        }
    }
}
