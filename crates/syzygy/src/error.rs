use std::path::PathBuf;

/// Why tables cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TablesError {
    /// A folder or file cannot be read.
    #[error("Syzygy tables: {}: {problem}", path.display())]
    Unreadable {
        /// The folder or file.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// There is no table.
    #[error("Syzygy tables: none in {path:?} (expected folders with files such as KQvK.rtbw and KQvK.rtbz)")]
    NoTables {
        /// The folders.
        path: String,
    },
    /// A file is damaged.
    #[error("Syzygy tables: {} is damaged: {problem}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        problem: String,
    },
}
