//! The page, and what this machine has to show on it, over HTTP.
//!
//! | path | what is there |
//! |---|---|
//! | `/` | the page: from inside the program if it was built, or from a folder |
//! | `/models/NAME` | the networks that come along, and those that are given |
//! | `/api/about` | what this server has |
//! | `/api/data` | data sets, position by position |
//! | `/api/runs`, `/runs` | training runs |
//! | `/api/arena` | matches and challenges, how they stand |
//!
//! Paths of requests are looked up, never opened: nothing outside the given folders can be read. Only requests that name this
//! server by its own address are answered.
#![forbid(unsafe_code)]

mod about;
mod arena;
mod explorer;
mod guard;
mod news;
mod page;
mod refusal;
mod runs;
mod server;

use std::io;
use std::path::PathBuf;

pub use page::GivenModel;
pub use server::{ServeError, Server};

/// What is to be served besides the page.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// Data sets, or folders of them.
    pub data: Vec<PathBuf>,
    /// Training runs, or folders of them.
    pub runs: Vec<PathBuf>,
    /// Folders with the ledgers of matches and the scorecards of challenges.
    pub ledgers: Vec<PathBuf>,
    /// Networks for the page to play with.
    pub given: Vec<GivenModel>,
    /// The page itself, instead of the one in the program.
    pub page: Option<PathBuf>,
}

/// Why something cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OfferError {
    /// A folder cannot be read.
    #[error("cannot look into {}: {error}", .path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A folder without data sets.
    #[error("{} is no data set and holds none: there is no set.json; `tabia-lab data build` makes one", .0.display())]
    NoSets(PathBuf),
    /// A folder without a page.
    #[error("{} holds no page: there is no index.html; `cargo xtask web` makes web/dist", .0.display())]
    NoPage(PathBuf),
    /// A data set that cannot be opened.
    #[error(transparent)]
    Set(#[from] tabia_data::SetError),
    /// A folder of runs that cannot be read.
    #[error(transparent)]
    Runs(#[from] tabia_runs::FindError),
}
