use std::sync::Arc;

use ballista::prelude::{SessionConfigExt, SessionContextExt};
use ballista_core::config::BALLISTA_CLIENT_PULL;
use ballista_core::execution_plans::DistributedQueryExec;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{CancelJobParams, CleanJobDataParams, GetJobMetricsParams};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use datafusion_proto::protobuf::LogicalPlanNode;

use super::codec::{LogicalCodec, PhysicalCodec};
use super::probe::probe;
use super::session::session_state;
use super::{ClusterError, SchedulerAddress, report};
use crate::functions::functions;
use crate::table::{ChessTable, Reading};

/// Number of partitions of a grouping per executor.
const PARTITIONS_PER_EXECUTOR: usize = 8;
/// Memory that each sort reserves for merging spilled runs, in bytes.
const SORT_RESERVE: usize = 2 << 20;
/// Limit on the size of executors' reports, in bytes.
const LARGEST_REPORT: usize = 256 << 20;

/// A connection to a cluster with executors.
#[derive(Clone, Debug)]
pub struct Cluster {
    scheduler: SchedulerAddress,
    executors: usize,
}

impl Cluster {
    /// Finds the scheduler.
    ///
    /// # Errors
    /// If no scheduler of this version answers at the address, or it has no executors.
    pub async fn connect(scheduler: SchedulerAddress) -> Result<Self, ClusterError> {
        let executors = probe(&scheduler).await?.executors;
        if executors == 0 {
            return Err(ClusterError::NoExecutors { address: scheduler.to_string() });
        }
        Ok(Self { scheduler, executors })
    }

    /// Number of executors at the time of connecting.
    pub fn executors(&self) -> usize {
        self.executors
    }

    /// A context whose plans run on the cluster.
    ///
    /// # Errors
    /// When the session cannot be made.
    pub async fn context(&self) -> Result<SessionContext, ClusterError> {
        // Only the scheduler knows the number of slots. Extra partitions are cheap, as an executor takes several at a time.
        let partitions = self.executors.saturating_mul(PARTITIONS_PER_EXECUTOR);
        let mut config = SessionConfig::new_with_ballista()
            .with_target_partitions(partitions)
            // A client that polls knows the job's id from the start and can cancel it; one that is notified learns it with the first
            // notification.
            .set_bool(BALLISTA_CLIENT_PULL, true)
            .with_ballista_logical_extension_codec(Arc::new(LogicalCodec::default()))
            .with_ballista_physical_extension_codec(Arc::new(PhysicalCodec::default()));
        // The reservation for merging must leave room for sorting if an executor's memory is small.
        config.options_mut().execution.sort_spill_reservation_bytes = SORT_RESERVE;
        let mut context =
            SessionContext::remote_with_state(&format!("df://{}", self.scheduler), session_state(config)?)
                .await?;
        // Ballista replaces the state's functions by its own.
        functions().register(&mut context)?;
        Ok(context)
    }

    /// Starts a plan of one of this cluster's contexts.
    ///
    /// # Errors
    /// If the plan reads standard input, or cannot be serialised.
    pub async fn run(&self, context: &SessionContext, plan: DataFrame) -> Result<Job, ClusterError> {
        refuse_standard_input(plan.logical_plan())?;
        let plan = plan.create_physical_plan().await?;
        let rows = execute_stream(Arc::clone(&plan), context.task_ctx())?;
        Ok(Job { scheduler: self.scheduler.url(), plan, rows })
    }
}

fn refuse_standard_input(plan: &LogicalPlan) -> Result<(), ClusterError> {
    let mut here = false;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(provider) = source_as_provider(&scan.source)
            && let Some(table) = provider.downcast_ref::<ChessTable>()
        {
            here |= table.spec().files.iter().any(|file| file.path.is_none());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if here { Err(ClusterError::StandardInput) } else { Ok(()) }
}

/// A plan that runs on a cluster. Its rows arrive when all are computed; until read, they are stored on the executors.
pub struct Job {
    scheduler: String,
    plan: Arc<dyn ExecutionPlan>,
    /// The rows in the plan's order. Polling for the first one starts the job.
    pub rows: SendableRecordBatchStream,
}

impl Job {
    /// Adds the executors' reports to `reading`, and lets them delete the rows. Call it after reading the rows.
    ///
    /// Executors delete them after a day anyway, so failing to tell them is not an error.
    pub async fn finish(self, reading: &Reading) {
        if let Some(job_id) = self.id()
            && let Ok(scheduler) = SchedulerGrpcClient::connect(self.scheduler).await
        {
            let mut scheduler = scheduler.max_decoding_message_size(LARGEST_REPORT);
            if let Ok(metrics) =
                scheduler.get_job_metrics(GetJobMetricsParams { job_id: job_id.clone() }).await
            {
                report::read(metrics.into_inner(), reading);
            }
            let _ =
                scheduler.clean_job_data(CleanJobDataParams { job_id, remove_stage_ids: Vec::new() }).await;
        }
    }

    /// Cancels the job. A scheduler that cannot be reached has stopped it already.
    pub async fn cancel(self) {
        if let Some(job_id) = self.id()
            && let Ok(mut scheduler) = SchedulerGrpcClient::connect(self.scheduler).await
        {
            let _ = scheduler.cancel_job(CancelJobParams { job_id }).await;
        }
    }

    fn id(&self) -> Option<String> {
        let query = self.plan.downcast_ref::<DistributedQueryExec<LogicalPlanNode>>()?;
        query.job_id().map(Into::into)
    }
}
