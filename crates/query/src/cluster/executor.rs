use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use ballista_core::extension::SessionConfigExt;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::health::ExecutorHealth;
use datafusion::prelude::SessionConfig;
use tokio::time::{sleep, timeout};

use super::address::in_url;
use super::codec::{LogicalCodec, PhysicalCodec};
use super::probe::probe_until;
use super::session::session_state;
use super::signal::told_to_stop;
use super::slice::Reader;
use super::{ClusterError, SchedulerAddress};
use crate::locked_folder::LockedFolder;
use crate::session::runtime;

/// How long a stopping executor waits for its tasks. Unfinished tasks run again elsewhere.
const LAST_TASKS: Duration = Duration::from_secs(5);

/// Options of an executor.
#[derive(Clone, Debug)]
pub struct ExecutorOptions {
    /// The scheduler to work for.
    pub scheduler: SchedulerAddress,
    /// How long to wait for the scheduler to start.
    pub patience: Duration,
    /// The address to listen at; by default the local address of the connection to the scheduler, so that an executor of a
    /// scheduler on the loopback address is on the loopback address, too.
    pub bind: Option<IpAddr>,
    /// The name of this machine for the others; needed only when listening on all addresses.
    pub advertise: Option<String>,
    /// The first of the two ports to listen on, the other being the next; 0 lets the system choose both.
    pub port: u16,
    /// Number of partitions processed at a time.
    pub slots: usize,
    /// Approximate memory limit in bytes; larger intermediate results are spilled to the work folder.
    pub memory: u64,
    /// Parent of the executor's folder for intermediate results.
    pub work_dir: PathBuf,
    /// Heartbeat interval.
    pub heartbeat: Duration,
    /// Pause after each batch of a scan, for tests of failing machines.
    pub pause: Duration,
}

/// An executor that has connected to its scheduler and reserved its folder and ports.
#[derive(Debug)]
pub struct Executor {
    scheduler: SchedulerAddress,
    bind: IpAddr,
    host: String,
    ports: [u16; 2],
    slots: usize,
    memory: u64,
    heartbeat: Duration,
    pause: Duration,
    work_dir: LockedFolder,
}

impl Executor {
    /// Connects to the scheduler and reserves a folder and two ports.
    ///
    /// # Errors
    /// If no scheduler of this version answers, a port is in use or the folder cannot be used.
    pub async fn join(options: ExecutorOptions) -> Result<Self, ClusterError> {
        let probe = probe_until(&options.scheduler, options.patience).await?;
        let bind = options.bind.unwrap_or(probe.local);
        let host = match options.advertise {
            Some(host) => host,
            None if bind.is_unspecified() => return Err(ClusterError::Advertise(bind)),
            None => in_url(bind),
        };
        let work_dir = LockedFolder::new(&options.work_dir, "tabia-executor-")
            .map_err(|error| ClusterError::WorkDir { path: options.work_dir, error })?;
        Ok(Self {
            scheduler: options.scheduler,
            bind,
            host,
            ports: free_ports(bind, options.port)?,
            slots: options.slots.max(1),
            memory: options.memory,
            heartbeat: options.heartbeat,
            pause: options.pause,
            work_dir,
        })
    }

    /// Where clients and other executors fetch results.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::new(self.bind, self.ports[0])
    }

    /// The executor's own folder.
    pub fn work_dir(&self) -> &Path {
        self.work_dir.path()
    }

    /// Runs until Ctrl-C or SIGTERM; `ready` is called once the executor is registered.
    ///
    /// # Errors
    /// If the scheduler rejects the executor or is lost.
    pub async fn work(self, ready: impl FnOnce()) -> Result<(), ClusterError> {
        let failed =
            |error| ClusterError::Service { doing: "working for the scheduler", error: Box::new(error) };
        let state = session_state(SessionConfig::new_with_ballista())?;
        let runtime = runtime(self.memory, self.slots, self.work_dir.path())?;
        let health = ExecutorHealth::new();
        let reader = Reader { name: format!("{}:{}", self.host, self.ports[0]), pause: self.pause };
        let config = ExecutorProcessConfig {
            bind_host: in_url(self.bind),
            external_host: Some(self.host),
            port: self.ports[0],
            grpc_port: self.ports[1],
            scheduler_host: self.scheduler.host().to_owned(),
            scheduler_port: self.scheduler.port(),
            vcores: self.slots,
            work_dir: Some(self.work_dir.path().to_string_lossy().into_owned()),
            executor_heartbeat_interval_seconds: self.heartbeat.as_secs().max(1),
            // Tasks share the memory pool; Ballista would split it.
            memory_pool_size: Some(0),
            override_runtime_producer: Some(Arc::new(move |_| Ok(Arc::clone(&runtime)))),
            override_function_registry: Some(Arc::new(BallistaFunctionRegistry::from(&state))),
            override_config_producer: Some(Arc::new(SessionConfig::new_with_ballista)),
            override_logical_codec: Some(Arc::new(LogicalCodec::default())),
            override_physical_codec: Some(Arc::new(PhysicalCodec::of_reader(reader))),
            health: health.clone(),
            ..ExecutorProcessConfig::default()
        };
        let announce = async {
            while !health.is_ready() {
                sleep(Duration::from_millis(20)).await;
            }
            ready();
            std::future::pending::<()>().await;
        };
        let mut process = pin!(start_executor_process(Arc::new(config)));
        tokio::select! {
            biased;
            () = told_to_stop() => {
                // Ballista handles the same signal: it tells the scheduler and waits for its tasks, which can take long.
                let _ = timeout(LAST_TASKS, process).await;
                Ok(())
            }
            outcome = &mut process => {
                outcome.map_err(failed)?;
                Err(ClusterError::Lost { address: self.scheduler.to_string() })
            }
            () = announce => Ok(()),
        }
    }
}

/// Two free ports: `first` and the next, or any two if `first` is 0.
///
/// Ballista takes port numbers, not sockets, so a port could be taken in between; the system does not reuse ephemeral
/// ports soon.
fn free_ports(bind: IpAddr, first: u16) -> Result<[u16; 2], ClusterError> {
    let listen = |port| {
        let address = SocketAddr::new(bind, port);
        TcpListener::bind(address).map_err(|error| ClusterError::Listen { address, error })
    };
    let held = [listen(first)?, listen(if first == 0 { 0 } else { first.saturating_add(1) })?];
    let mut ports = [0; 2];
    for (port, listener) in ports.iter_mut().zip(&held) {
        let address = SocketAddr::new(bind, first);
        *port = listener.local_addr().map_err(|error| ClusterError::Listen { address, error })?.port();
    }
    Ok(ports)
}
