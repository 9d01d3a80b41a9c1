//! The same plans on many machines: a scheduler, executors and a client, all carrying the chess functions.
//!
//! # What a table owes the cluster
//!
//! The client sends a *logical* plan; the scheduler makes it physical and cuts it into tasks; executors run the tasks.
//! So a table of ours travels twice, as a provider and as a scan, and each time only as its description:
//!
//! - a table is described by a value ([`TableSpec`](crate::table::TableSpec)) that names its files, one a partition:
//!   the client that made it saw them, the scheduler need not;
//! - a scan is rebuilt, without `async`, from that description and a projection, and has one partition for each of the
//!   description's, in order.
//!
//! The scheduler gives a task some of the partitions of a stage by rewriting the leaves it knows (files of DataFusion's
//! own formats, memory). A leaf of our own it would leave whole, and every task would read everything; so on the
//! scheduler a scan is put on top of a memory leaf that holds one partition's number per partition.

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
mod table;

pub use address::SchedulerAddress;
pub use client::{Cluster, Job};
pub use error::ClusterError;
pub use executor::{Executor, ExecutorOptions};
pub use scheduler::{Scheduler, SchedulerOptions};
