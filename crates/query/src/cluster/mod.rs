//! Query plans on many machines: a scheduler, executors and a client, all with the chess functions.
//!
//! # Tables on a cluster
//!
//! The client sends a *logical* plan; the scheduler turns it into a physical plan and tasks; executors run the tasks. A
//! table is serialised twice, as a provider and as a scan, each time by its description:
//!
//! - a table is described by a value ([`TableSpec`](crate::table::TableSpec)) that names its files, one a partition:
//!   the client that made it saw them, the scheduler need not;
//! - a scan is rebuilt, without `async`, from that description and a projection, and has one partition for each of the
//!   description's, in order.
//!
//! The scheduler assigns partitions to tasks by rewriting the leaves it knows (files of DataFusion's own formats, memory).
//! It would leave our own leaves as they are, and every task would read everything. So a scan is placed on top of a memory
//! leaf that holds the partition numbers.

mod address;
mod client;
mod codec;
mod error;
mod executor;
mod probe;
mod report;
mod scheduler;
mod session;
mod signal;
mod slice;

pub use address::SchedulerAddress;
pub use client::{Cluster, Job};
pub use error::ClusterError;
pub use executor::{Executor, ExecutorOptions};
pub use scheduler::{Scheduler, SchedulerOptions};
