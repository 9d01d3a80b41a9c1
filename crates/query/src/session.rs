use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::dataframe::DataFrame;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::context::SessionContext;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionConfig;

use crate::functions::functions;
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
    _spill: SpillFolder,
}

/// The part of the memory that the engine may plan with. The rest is for what it does not count: windows of
/// decompressors, text and records on their way, copies while a sorted run is written.
const POOL_SHARE: f64 = 0.5;

impl Session {
    /// Begins a session. Folders that runs which are no more left in `temp` are removed.
    ///
    /// # Errors
    /// When the folder for spilling cannot be made.
    pub fn new(resources: &Resources) -> Result<Session> {
        let spill = SpillFolder::new(&resources.temp)?;
        let threads = resources.threads.max(1);
        let pool = (resources.memory as f64 * POOL_SHARE) as usize;
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(SortingPool::new(pool)))
            .with_disk_manager_builder(
                DiskManagerBuilder::default()
                    .with_mode(DiskManagerMode::Directories(vec![spill.path.clone()]))
                    .with_max_spill_merge_fan_in(merge_fan_in(pool, threads))
                    .with_max_temp_directory_size(u64::MAX),
            )
            .build_arc()?;
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

const SPILL_PREFIX: &str = "tabia-spill-";

/// A folder of this process, which others know to be in use by its locked file.
struct SpillFolder {
    path: PathBuf,
    _lock: File,
}

impl SpillFolder {
    fn new(temp: &Path) -> Result<SpillFolder> {
        let fails = |error: io::Error| {
            let what =
                format!("{}: no folder for temporary files can be made there: {error}", temp.display());
            DataFusionError::IoError(io::Error::new(error.kind(), what))
        };
        fs::create_dir_all(temp).map_err(fails)?;
        remove_abandoned(temp);
        // A process may have several sessions.
        for number in 0_u32.. {
            let path = temp.join(format!("{SPILL_PREFIX}{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => {
                    let lock = File::create(path.join("lock")).map_err(fails)?;
                    lock.lock().map_err(fails)?;
                    return Ok(SpillFolder { path, _lock: lock });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(fails(error)),
            }
        }
        Err(fails(io::ErrorKind::AlreadyExists.into()))
    }
}

impl Drop for SpillFolder {
    fn drop(&mut self) {
        // What cannot be removed now, the next run removes.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders of processes that ended without doing so.
fn remove_abandoned(temp: &Path) {
    let Ok(entries) = fs::read_dir(temp) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(SPILL_PREFIX) {
            continue;
        }
        // A folder without a lock is being made by another process at this moment, or has nothing in it.
        let Ok(lock) = File::open(entry.path().join("lock")) else { continue };
        if lock.try_lock().is_ok() {
            // Another process may remove it at the same time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_the_dead_are_removed_and_those_of_the_living_stay() {
        let temp = std::env::temp_dir().join(format!("tabia-session-{}", std::process::id()));
        let dead = temp.join("tabia-spill-1-0");
        fs::create_dir_all(&dead).unwrap();
        fs::write(dead.join("lock"), "").unwrap();
        let resources = Resources { memory: 64 << 20, threads: 1, temp: temp.clone() };
        let first = Session::new(&resources).unwrap();
        let second = Session::new(&resources).unwrap();
        assert!(!dead.exists());
        assert_eq!(fs::read_dir(&temp).unwrap().count(), 2);
        drop((first, second));
        assert_eq!(fs::read_dir(&temp).unwrap().count(), 0);
        fs::remove_dir_all(&temp).unwrap();
    }
}
