//! Syzygy endgame tables.
//!
//! ```no_run
//! use tabia_syzygy::{Tables, Verdict};
//!
//! let tables = Tables::open("/tables/3-4-5:/tables/6")?;
//! let position = "8/8/8/8/8/2k5/8/K2Q4 w - - 0 1".parse::<shakmaty::fen::Fen>()?;
//! let position: shakmaty::Chess = position.into_position(shakmaty::CastlingMode::Standard)?;
//! assert_eq!(tables.verdict(&position, true), Some(Verdict::Win));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod error;
mod rank;

use std::{
    collections::HashMap,
    fmt,
    fs::File,
    io::{ErrorKind, Read as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};

use shakmaty::{Chess, Position as _};
use shakmaty_syzygy::{Dtz, MaybeRounded, Syzygy, SyzygyError, Tablebase, Wdl};

pub use self::{
    error::TablesError,
    rank::{MoveRanks, RankedMove},
};

/// Tables of some folders. Table files are opened when a position needs them.
pub struct Tables {
    tablebase: Tablebase<Chess>,
    path: String,
    /// The file of each table, by its name.
    files: HashMap<String, PathBuf>,
    /// The first table that could not be read.
    failure: Mutex<Option<TablesError>>,
}

/// What a position is with best play, for the side to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Lost.
    Loss,
    /// Drawn, under the fifty-move rule also where it saves the loser.
    Draw,
    /// Won.
    Win,
}

/// Tables in use, by path: those of one path are opened once.
static OPEN: Mutex<Option<HashMap<String, Weak<Tables>>>> = Mutex::new(None);

impl Tables {
    /// The most pieces that Syzygy tables have.
    pub const MOST_PIECES: usize = Chess::MAX_PIECES;

    /// The tables of one or more folders, separated as in `PATH`.
    ///
    /// # Errors
    /// If a folder cannot be read or a file in it is damaged, or if there are no tables.
    pub fn open(path: &str) -> Result<Tables, TablesError> {
        let mut tables = Tables {
            tablebase: Tablebase::new(),
            path: path.to_owned(),
            files: HashMap::new(),
            failure: Mutex::new(None),
        };
        for folder in std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty()) {
            tables.add_folder(&folder)?;
        }
        if tables.files.is_empty() {
            return Err(TablesError::NoTables { path: path.to_owned() });
        }
        Ok(tables)
    }

    /// The same; while they are in use, those of the same path are the same tables.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn shared(path: &str) -> Result<Arc<Tables>, TablesError> {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        if let Some(tables) = open.get(path).and_then(Weak::upgrade) {
            return Ok(tables);
        }
        let tables = Arc::new(Tables::open(path)?);
        open.insert(path.to_owned(), Arc::downgrade(&tables));
        Ok(tables)
    }

    fn add_folder(&mut self, folder: &Path) -> Result<(), TablesError> {
        let unreadable = |path: &Path, error: std::io::Error| TablesError::Unreadable {
            path: path.to_owned(),
            problem: error.to_string(),
        };
        let entries = folder.read_dir().map_err(|error| unreadable(folder, error))?;
        for entry in entries {
            let file = entry.map_err(|error| unreadable(folder, error))?.path();
            let magic = match file.extension().and_then(|extension| extension.to_str()) {
                Some("rtbw") => Chess::TBW.magic,
                Some("rtbz") => Chess::TBZ.magic,
                _ => continue,
            };
            match self.tablebase.add_file(&file) {
                Ok(()) => {}
                // Its name is not that of a table.
                Err(error) if error.kind() == ErrorKind::InvalidInput => continue,
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    let problem = "its size is not that of a table".to_owned();
                    return Err(TablesError::Damaged { file, problem });
                }
                Err(error) => return Err(unreadable(&file, error)),
            }
            let mut first = [0; 4];
            let read = File::open(&file).and_then(|mut file| file.read_exact(&mut first));
            read.map_err(|error| unreadable(&file, error))?;
            if first != magic {
                let problem = "its first bytes are not those of a table".to_owned();
                return Err(TablesError::Damaged { file, problem });
            }
            let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
            self.files.insert(name.unwrap_or_default(), file);
        }
        Ok(())
    }

    /// The folders they were opened from.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The number of table files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none, which [`open`](Self::open) refuses.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The most pieces of a position in these tables.
    pub fn most_pieces(&self) -> usize {
        self.tablebase.max_pieces()
    }

    /// Takes the first table that could not be read since the last call.
    pub fn take_failure(&self) -> Option<TablesError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether a position may be in the tables: few pieces, no castling rights.
    pub fn may_have(&self, position: &Chess) -> bool {
        position.board().occupied().count() <= self.most_pieces() && position.castles().is_empty()
    }

    /// What a position is right after a capture or pawn move. `None` if a table is missing or damaged.
    pub fn wdl_after_zeroing(&self, position: &Chess) -> Option<Wdl> {
        if !self.may_have(position) {
            return None;
        }
        self.known(self.tablebase.probe_wdl_after_zeroing(position))
    }

    /// What a position is. With `fifty_moves` its counter of quiet moves counts; `None` if the tables cannot tell.
    pub fn verdict(&self, position: &Chess, fifty_moves: bool) -> Option<Verdict> {
        let wdl = self.wdl_after_zeroing(position)?;
        if !fifty_moves {
            return Some(match wdl {
                Wdl::Loss | Wdl::BlessedLoss => Verdict::Loss,
                Wdl::Draw => Verdict::Draw,
                Wdl::CursedWin | Wdl::Win => Verdict::Win,
            });
        }
        let wdl = match wdl {
            Wdl::Win | Wdl::Loss if position.halfmoves() > 0 => {
                self.known(self.tablebase.probe_wdl(position))?.unambiguous()?
            }
            wdl => wdl,
        };
        Some(match wdl {
            Wdl::Loss => Verdict::Loss,
            Wdl::BlessedLoss | Wdl::Draw | Wdl::CursedWin => Verdict::Draw,
            Wdl::Win => Verdict::Win,
        })
    }

    /// Plies to the next capture or pawn move with best play: positive where the side to move wins.
    fn dtz(&self, position: &Chess) -> Option<i32> {
        let dtz = self.known(self.tablebase.probe_dtz(position))?;
        Some(match dtz {
            MaybeRounded::Rounded(Dtz(plies)) | MaybeRounded::Precise(Dtz(plies)) => plies,
        })
    }

    /// The result of a probe, if there is a table. A damaged one is remembered.
    fn known<T>(&self, probed: Result<T, SyzygyError>) -> Option<T> {
        match probed {
            Ok(found) => Some(found),
            Err(SyzygyError::ProbeFailed { metric, material, error }) => {
                let ending = match metric {
                    shakmaty_syzygy::Metric::Wdl => "rtbw",
                    shakmaty_syzygy::Metric::Dtz => "rtbz",
                };
                let name = format!("{material}.{ending}");
                let file = self.files.get(&name).cloned().unwrap_or_else(|| PathBuf::from(name));
                let problem = match *error {
                    // Without the trace of the program.
                    shakmaty_syzygy::ProbeError::CorruptedTable { .. } => {
                        "its contents are no table".to_owned()
                    }
                    other => other.to_string(),
                };
                let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert(TablesError::Damaged { file, problem });
                None
            }
            Err(_) => None,
        }
    }
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tables({})", self.path)
    }
}

/// Tables are the same if their folders are.
impl PartialEq for Tables {
    fn eq(&self, other: &Tables) -> bool {
        self.path == other.path
    }
}

/// `9 tables up to 3 pieces`.
impl fmt::Display for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tables up to {} pieces", self.len(), self.most_pieces())
    }
}
