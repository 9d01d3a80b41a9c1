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

/// How much of the machine a session may use.
#[derive(Clone, Debug)]
pub struct Resources {
    /// Bytes of memory, about, that the whole process may take.
    pub memory: u64,
    /// How many threads work.
    pub threads: usize,
    /// The folder for what does not fit in memory.
    pub temp: PathBuf,
}

/// SQL with chess in it, within bounds of memory: what does not fit is spilled to disk.
///
/// Its tables read with several threads, count in [`reading`](Session::reading) what they read, and a path in quotes is
/// a table too: `select * from 'x.parquet'`.
pub struct Session {
    context: SessionContext,
    reading: Arc<Reading>,
    /// Dropped last: it removes the folder.
    _spill: LockedFolder,
}

/// The part of the memory that the engine may plan with. The rest is for what it does not count: windows of
/// decompressors, text and records on their way, copies while a sorted run is written.
const POOL_SHARE: f64 = 0.5;

fn pool_bytes(memory: u64) -> usize {
    (memory as f64 * POOL_SHARE) as usize
}

/// What plans run in: memory for `threads` sorts at a time, and a folder for what does not fit.
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
    /// Begins a session. Folders that runs which are no more left in `temp` are removed.
    ///
    /// # Errors
    /// When the folder for spilling cannot be made.
    pub fn new(resources: &Resources) -> Result<Session> {
        let spill = LockedFolder::new(&resources.temp, "tabia-spill-").map_err(|error| {
            let temp = resources.temp.display();
            let what = format!("{temp}: no folder for temporary files can be made there: {error}");
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
        // What each sort keeps aside for merging must leave room for sorting where memory is small.
        let aside = &mut config.options_mut().execution.sort_spill_reservation_bytes;
        *aside = (*aside).min(pool / (8 * threads));
        let context = SessionContext::new_with_config_rt(config, runtime).enable_url_table();
        functions().register(&context);
        table::register(&context);
        Ok(Session { context, reading, _spill: spill })
    }

    /// The rows of a query.
    ///
    /// # Errors
    /// When the query makes no sense.
    pub async fn rows(&self, query: &str) -> Result<SendableRecordBatchStream> {
        self.context.sql(query).await?.execute_stream().await
    }

    /// Runs a plan.
    ///
    /// # Errors
    /// When it cannot be begun.
    pub async fn stream(plan: DataFrame) -> Result<SendableRecordBatchStream> {
        plan.execute_stream().await
    }

    /// The engine's own context.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }

    /// What was read so far.
    pub fn reading(&self) -> &Arc<Reading> {
        &self.reading
    }
}
