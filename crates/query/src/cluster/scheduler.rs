use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ballista_core::extension::SessionConfigExt;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpListener;

use super::ClusterError;
use super::address::in_url;
use super::codec::{LogicalCodec, PhysicalCodec};
use super::session::session_state;
use super::signal::told_to_stop;

/// How long the rows of a finished job are kept, unless the client deletes them.
const KEEP_RESULTS: Duration = Duration::from_secs(24 * 60 * 60);

/// Options of a scheduler.
#[derive(Clone, Debug)]
pub struct SchedulerOptions {
    /// The address to listen at; the loopback address keeps other machines out.
    pub bind: IpAddr,
    /// The port to listen on; 0 lets the system choose.
    pub port: u16,
    /// The name of this machine for executors; needed only when listening on all addresses.
    pub advertise: Option<String>,
    /// Timeout of an executor's heartbeat before its tasks are reassigned.
    pub executor_timeout: Duration,
}

/// A scheduler with its port: it takes plans from clients and assigns their tasks to executors.
pub struct Scheduler {
    listener: TcpListener,
    config: SchedulerConfig,
    address: SocketAddr,
}

impl Scheduler {
    /// Binds the port.
    ///
    /// # Errors
    /// If the port is in use, or listening on all addresses without `advertise`.
    pub async fn bind(options: SchedulerOptions) -> Result<Self, ClusterError> {
        let host = match options.advertise {
            Some(host) => host,
            None if options.bind.is_unspecified() => return Err(ClusterError::Advertise(options.bind)),
            None => in_url(options.bind),
        };
        let wanted = SocketAddr::new(options.bind, options.port);
        let refused = |error| ClusterError::Listen { address: wanted, error };
        let listener = TcpListener::bind(wanted).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let timeout = options.executor_timeout.as_secs().max(1);
        let config = SchedulerConfig {
            bind_host: in_url(options.bind),
            bind_port: address.port(),
            external_host: host,
            executor_timeout_seconds: timeout,
            expire_dead_executor_interval_seconds: (timeout / 4).max(1),
            no_executors_grace_period_seconds: timeout.saturating_mul(4),
            finished_job_data_clean_up_interval_seconds: KEEP_RESULTS.as_secs(),
            override_config_producer: Some(Arc::new(SessionConfig::new_with_ballista)),
            override_session_builder: Some(Arc::new(session_state)),
            override_logical_codec: Some(Arc::new(LogicalCodec::default())),
            override_physical_codec: Some(Arc::new(PhysicalCodec::default())),
            ..SchedulerConfig::default()
        };
        Ok(Self { listener, config, address })
    }

    /// Where the scheduler listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Runs until Ctrl-C or SIGTERM.
    ///
    /// # Errors
    /// When the service fails.
    pub async fn serve(self) -> Result<(), ClusterError> {
        let failed = |error| ClusterError::Service { doing: "serving the cluster", error: Box::new(error) };
        let cluster = BallistaCluster::new_from_config(&self.config).await.map_err(failed)?;
        let server = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(self.config))
            .await
            .map_err(failed)?;
        tokio::select! {
            outcome = start_grpc_service_with_listener(self.listener, server) => outcome.map_err(failed),
            () = told_to_stop() => Ok(()),
        }
    }
}
