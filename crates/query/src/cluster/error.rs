use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use datafusion::error::DataFusionError;
use thiserror::Error;

/// An error of a cluster.
#[derive(Debug, Error)]
pub enum ClusterError {
    /// The address given for the scheduler is not `HOST:PORT`.
    #[error("invalid address '{0}' (expected HOST:PORT, for example 127.0.0.1:50050)")]
    Address(String),
    /// A service could not bind its address.
    #[error("cannot listen at {address}: {error}{}", if error.kind() == io::ErrorKind::AddrInUse { " (choose another port with --port)" } else { "" })]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        error: io::Error,
    },
    /// A service that listens on all addresses needs a host name for the others.
    #[error("listening on {0} needs --advertise HOST, the name of this machine for the others")]
    Advertise(std::net::IpAddr),
    /// Nothing answers at the scheduler's address.
    #[error("no scheduler answers at {address}: {error} (start one with `tabia-lab cluster scheduler`)")]
    Unreachable {
        /// Where.
        address: String,
        /// Why not.
        error: io::Error,
    },
    /// Something answers at the scheduler's address, but it is not a scheduler.
    #[error("the service at {address} is not a cluster scheduler")]
    NotAScheduler {
        /// Where.
        address: String,
    },
    /// The scheduler was built with another version of Ballista.
    #[error(
        "the scheduler at {address} is Ballista {theirs}, this program {ours}: run the same tabia-lab everywhere"
    )]
    Version {
        /// Where.
        address: String,
        /// The scheduler's version.
        theirs: String,
        /// This program's version.
        ours: &'static str,
    },
    /// The scheduler has no executors.
    #[error(
        "the scheduler at {address} has no executors (start one with `tabia-lab cluster executor --scheduler {address}`)"
    )]
    NoExecutors {
        /// Where.
        address: String,
    },
    /// The plan reads standard input.
    #[error("a cluster cannot read standard input; use files")]
    StandardInput,
    /// The folder for intermediate results cannot be used.
    #[error("cannot use {} for intermediate results: {error}", path.display())]
    WorkDir {
        /// Which folder.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The executor stopped unexpectedly.
    #[error(
        "the executor stopped: the scheduler at {address} no longer answers, or has given this executor up"
    )]
    Lost {
        /// The scheduler's address.
        address: String,
    },
    /// A scheduler or executor could not start or failed while running.
    #[error("{doing}: {error}")]
    Service {
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        error: Box<ballista_core::error::BallistaError>,
    },
    /// The plan failed.
    #[error(transparent)]
    Plan(#[from] DataFusionError),
}
