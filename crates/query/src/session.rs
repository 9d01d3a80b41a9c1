use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::dataframe::DataFrame;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::SessionContext;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::SessionConfig;

use crate::functions::functions;
use crate::locked_folder::LockedFolder;
use crate::memory::{SortingPool, merge_fan_in};
use crate::table::{self, Reading};

/// Resource limits of a session.
#[derive(Clone, Debug)]
pub struct Resources {
    /// Approximate memory limit of the process in bytes.
    pub memory: u64,
    /// Number of threads.
    pub threads: usize,
    /// Folder for spilled data.
    pub temp: PathBuf,
}

/// SQL with chess functions and tables, in bounded memory: larger intermediate results are spilled to disk.
///
/// Tables are read by several threads and counted in [`reading`](Session::reading). A quoted path is a table, too:
/// `select * from 'x.parquet'`.
pub struct Session {
    context: SessionContext,
    reading: Arc<Reading>,
    /// Dropped last: it removes the folder.
    _spill: LockedFolder,
}

/// The part of the memory that the query engine manages. The rest is for decompression windows, text and records in flight,
/// and copies while sorted runs are written.
const POOL_SHARE: f64 = 0.5;

fn pool_bytes(memory: u64) -> usize {
    (memory as f64 * POOL_SHARE) as usize
}

/// The runtime of plans: memory for `threads` concurrent sorts, and a folder for spilling.
pub(crate) fn runtime(memory: u64, threads: usize, spill: &Path) -> Result<Arc<RuntimeEnv>> {
    let pool = pool_bytes(memory);
    RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(SortingPool::new(pool)))
        .with_disk_manager_builder(
            DiskManagerBuilder::default()
                .with_mode(DiskManagerMode::Directories(vec![spill.to_owned()]))
                .with_max_spill_merge_fan_in(merge_fan_in(pool, threads))
                .with_max_temp_directory_size(u64::MAX),
        )
        .build_arc()
}

impl Session {
    /// Starts a session. Folders of dead processes in `temp` are removed.
    ///
    /// # Errors
    /// When the folder for spilling cannot be made.
    pub fn new(resources: &Resources) -> Result<Session> {
        let spill = LockedFolder::new(&resources.temp, "tabia-spill-").map_err(|error| {
            let temp = resources.temp.display();
            let what = format!("{temp}: cannot create a folder for temporary files: {error}");
            DataFusionError::IoError(io::Error::new(error.kind(), what))
        })?;
        let threads = resources.threads.max(1);
        let pool = pool_bytes(resources.memory);
        let runtime = runtime(resources.memory, threads, spill.path())?;
        let reading = Arc::new(Reading::default());
        let mut config = SessionConfig::new()
            .with_target_partitions(threads)
            .with_information_schema(true)
            .with_extension(Arc::clone(&reading));
        // The reservation for merging must leave room for sorting if memory is small.
        let aside = &mut config.options_mut().execution.sort_spill_reservation_bytes;
        *aside = (*aside).min(pool / (8 * threads));
        let mut context = SessionContext::new_with_config_rt(config, runtime).enable_url_table();
        functions().register(&mut context)?;
        table::register(&context);
        Ok(Session { context, reading, _spill: spill })
    }

    /// The rows of a query.
    ///
    /// # Errors
    /// If the query is invalid.
    pub async fn rows(&self, query: &str) -> Result<SendableRecordBatchStream> {
        self.context.sql(query).await?.execute_stream().await
    }

    /// Runs a plan.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn stream(plan: DataFrame) -> Result<SendableRecordBatchStream> {
        plan.execute_stream().await
    }

    /// DataFusion's context.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// Counts of what was read.
    pub fn reading(&self) -> &Arc<Reading> {
        &self.reading
    }
}
