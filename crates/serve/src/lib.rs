//! HTTP server for the page and for data sets, training runs and matches on this machine.
//!
//! | route | content |
//! |---|---|
//! | `/` | the page, embedded in the program or from a folder |
//! | `/models/NAME` | bundled networks and networks passed in the configuration |
//! | `/api/about` | which of the following are available |
//! | `/api/data` | data sets, position by position |
//! | `/api/runs`, `/runs` | training runs |
//! | `/api/arena` | matches and challenges |
//!
//! Request paths are looked up, never opened, so nothing outside the configured folders can be read. Requests with a
//! foreign `Host` are rejected.
#![forbid(unsafe_code)]

mod arena;
mod error;
mod etag;
mod explorer;
mod frame_origin;
mod host_check;
mod page;
mod runs;
mod server;

use std::io;
use std::path::PathBuf;

pub use frame_origin::{FrameOrigin, FrameOriginError};
pub use page::LocalModel;
pub use server::{ServeError, Server};

/// Content to serve besides the page.
#[derive(Clone, Debug, Default)]
pub struct ServeConfig {
    /// Data sets, or folders of data sets.
    pub data: Vec<PathBuf>,
    /// Training runs, or folders of runs.
    pub runs: Vec<PathBuf>,
    /// Folders with match ledgers and challenge scorecards.
    pub ledgers: Vec<PathBuf>,
    /// Networks made available to the page.
    pub models: Vec<LocalModel>,
    /// Folder of the page; `None` serves the embedded one.
    pub page: Option<PathBuf>,
    /// Origins whose pages may show this one in a frame, besides its own. With none, no page may.
    pub frame_origins: Vec<FrameOrigin>,
}

/// Configured content that cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A folder cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Unreadable {
        /// Folder.
        path: PathBuf,
        /// Cause.
        error: io::Error,
    },
    /// A folder without data sets.
    #[error(
        "no data set in {}: expected set.json (written by `tabia-lab data build`) or NAME_planes.npy", .0.display()
    )]
    NoSets(PathBuf),
    /// A folder without a page.
    #[error("no page in {}: expected index.html (`cargo xtask web` builds web/dist)", .0.display())]
    NoPage(PathBuf),
    /// A data set that cannot be opened.
    #[error(transparent)]
    Set(#[from] tabia_data::SetError),
    /// Arrays of Learning a Chess Policy that cannot be opened.
    #[error(transparent)]
    Npy(#[from] tabia_data::NpyError),
    /// A folder that cannot be searched for runs.
    #[error(transparent)]
    Runs(#[from] tabia_runs::FindError),
}

/// `base`, or the first of `base-2`, `base-3`, ... that is not taken.
fn unique_name(base: &str, is_taken: impl Fn(&str) -> bool) -> String {
    let mut name = base.to_owned();
    let mut number = 2;
    while is_taken(&name) {
        name = format!("{base}-{number}");
        number += 1;
    }
    name
}
