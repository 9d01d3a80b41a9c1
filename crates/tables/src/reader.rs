//! The games of PGN files as tables, parsed by threads.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use tabia_data::{
    BytesRead, Chunk, Chunks, FaultKind, Faults, GameRules, OpenError, SourceFile, SourceKind, Whereabouts,
};

use crate::{GameBatch, game_fields};

/// Poll interval while waiting for a table.
const POLL: Duration = Duration::from_millis(100);

/// Columns that only other sources have.
const NOT_IN_PGN: &str = "rating";
/// Columns that must be asked for: the bytes of the record as in a shard, and their hash.
const INTERNAL: [&str; 2] = ["key", "record"];

/// How games are read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// The names of the columns; all but `key` and `record` without them.
    pub columns: Option<Vec<String>>,
    /// Pool of the ratings, and what becomes of broken games.
    pub rules: GameRules,
    /// Number of threads; 0 means one for each core.
    pub threads: usize,
}

/// Some games as columns, and the faults among them.
#[derive(Debug)]
pub struct GameTable {
    /// The games, in the order of their file.
    pub games: RecordBatch,
    /// Games that could not be read.
    pub faults: Faults,
}

/// Why games cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A file cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is no such column.
    #[error("unknown column {name:?} (expected {})", .known.join(", "))]
    Column {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// No thread could be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// A column could not be made.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// A thread panicked.
    #[error("a reader thread panicked")]
    Died,
    /// The caller stopped waiting.
    #[error("cancelled while reading games")]
    Cancelled,
}

/// A table, or why there is none, and its place in the order.
type Message = (u64, Result<GameTable, ArrowError>);

/// Tables of the games of PGN files, about a megabyte of PGN each, in the order of the files.
///
/// Memory holds a table or two for each thread, whatever the size of the files. Dropping the reader ends the threads.
pub struct GameReader {
    schema: SchemaRef,
    tables: Option<Receiver<Message>>,
    /// Tables that threads finished before an earlier one.
    early: BTreeMap<u64, Result<GameTable, ArrowError>>,
    next: u64,
    bytes: u64,
    read: BytesRead,
    cancelled: Arc<AtomicBool>,
    workers: Vec<JoinHandle<()>>,
}

/// The files that remain, one of them open.
struct Remaining {
    files: std::vec::IntoIter<SourceFile>,
    open: Option<Chunks>,
    read: BytesRead,
    number: u64,
}

/// What a thread takes from the files.
enum Taken {
    Chunk(Chunk),
    Unreadable(OpenError),
}

impl Remaining {
    fn take(&mut self) -> Option<(u64, Taken)> {
        loop {
            if let Some(chunk) = self.open.as_mut().and_then(Iterator::next) {
                return Some((self.numbered(), Taken::Chunk(chunk)));
            }
            let file = self.files.next()?;
            match Chunks::open(&file, &self.read) {
                Ok(chunks) => self.open = Some(chunks),
                Err(error) => return Some((self.numbered(), Taken::Unreadable(error))),
            }
        }
    }

    fn numbered(&mut self) -> u64 {
        self.number += 1;
        self.number - 1
    }
}

impl GameReader {
    /// Starts to read a PGN file, plain or compressed, or all PGN files of a folder.
    ///
    /// # Errors
    /// If there is no such file, it does not hold PGN, or a column is unknown.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<GameReader, ReadError> {
        let schema = schema(options.columns.as_deref())?;
        let mut files = SourceFile::find(path)?;
        if path.is_dir() {
            files.retain(|file| file.kind == Some(SourceKind::Pgn));
        }
        // So that a missing or foreign file is an error here.
        let mut first = None;
        let read = BytesRead::default();
        if let [file] = files.as_slice() {
            let chunks = Chunks::open(file, &read)?;
            if chunks.kind() != SourceKind::Pgn {
                return Err(OpenError::UnknownKind(file.name.clone()).into());
            }
            first = Some(chunks);
        }
        let bytes = files.iter().filter_map(|file| file.bytes).sum();
        if first.is_some() {
            files.clear();
        }
        let remaining = Remaining { files: files.into_iter(), open: first, read: read.clone(), number: 0 };
        GameReader::start(schema, remaining, bytes, options)
    }

    fn start(
        schema: SchemaRef,
        remaining: Remaining,
        bytes: u64,
        options: &ReadOptions,
    ) -> Result<GameReader, ReadError> {
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let read = remaining.read.clone();
        let remaining = Arc::new(Mutex::new(remaining));
        let cancelled = Arc::new(AtomicBool::new(false));
        let (sender, tables) = sync_channel(threads);
        let mut workers = Vec::new();
        for _ in 0..threads {
            let (remaining, cancelled, sender) =
                (Arc::clone(&remaining), Arc::clone(&cancelled), sender.clone());
            let (schema, rules) = (Arc::clone(&schema), options.rules);
            let worker = std::thread::Builder::new().name("tabia-pgn".into());
            let worker = worker
                .spawn(move || work(&remaining, &cancelled, &schema, &rules, &sender))
                .map_err(ReadError::Thread)?;
            workers.push(worker);
        }
        Ok(GameReader {
            schema,
            tables: Some(tables),
            early: BTreeMap::new(),
            next: 0,
            bytes,
            read,
            cancelled,
            workers,
        })
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Size of the files on disk, as far as known.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes read from them so far.
    pub fn bytes_read(&self) -> u64 {
        self.read.get()
    }

    /// The next table, or `None` at the end. While waiting, `poll` is called several times a second and can cancel.
    ///
    /// # Errors
    /// If a column cannot be made, or `poll` cancels.
    pub fn next_polling(
        &mut self,
        poll: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<Option<GameTable>, ReadError> {
        loop {
            if let Some(table) = self.early.remove(&self.next) {
                self.next += 1;
                return Ok(Some(table?));
            }
            let Some(tables) = &self.tables else { return Ok(None) };
            match tables.recv_timeout(POLL) {
                Ok((number, table)) => drop(self.early.insert(number, table)),
                Err(RecvTimeoutError::Disconnected) if self.early.is_empty() => {
                    self.tables = None;
                    let died = self.workers.drain(..).any(|worker| worker.join().is_err());
                    return if died { Err(ReadError::Died) } else { Ok(None) };
                }
                // A table is missing before those that came early.
                Err(RecvTimeoutError::Disconnected) => return Err(ReadError::Died),
                Err(RecvTimeoutError::Timeout) if poll().is_break() => return Err(ReadError::Cancelled),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

impl Drop for GameReader {
    fn drop(&mut self) {
        // Threads see the flag, or fail to send their table.
        self.cancelled.store(true, Ordering::Relaxed);
        self.tables = None;
        for worker in self.workers.drain(..) {
            // A panic has been reported by the thread itself.
            let _ = worker.join();
        }
    }
}

fn work(
    remaining: &Mutex<Remaining>,
    cancelled: &AtomicBool,
    schema: &SchemaRef,
    rules: &GameRules,
    tables: &SyncSender<Message>,
) {
    while !cancelled.load(Ordering::Relaxed) {
        let Some((number, taken)) = remaining.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        if tables.send((number, table(&taken, schema, rules))).is_err() {
            return;
        }
    }
}

fn table(taken: &Taken, schema: &SchemaRef, rules: &GameRules) -> Result<GameTable, ArrowError> {
    let mut faults = Faults::default();
    let mut games = GameBatch::new(schema);
    let source = match taken {
        Taken::Chunk(chunk) => {
            chunk.read_tagged(rules, &mut faults, |game| {
                games.push(game.number, Some(game.headers), game.record);
            });
            chunk.source().to_string()
        }
        Taken::Unreadable(error) => {
            let name = String::new();
            faults
                .add(FaultKind::Unreadable, &Whereabouts::whole(name.as_str().into()), || error.to_string());
            name
        }
    };
    games.drop_unkeepable(&source, &mut faults);
    Ok(GameTable { games: games.finish(schema, &source)?, faults })
}

fn schema(columns: Option<&[String]>) -> Result<SchemaRef, ReadError> {
    let known: Vec<Field> = game_fields().into_iter().filter(|field| field.name() != NOT_IN_PGN).collect();
    let chosen: Vec<Field> = match columns {
        None => known.into_iter().filter(|field| !INTERNAL.contains(&field.name().as_str())).collect(),
        Some(names) => {
            let names_known = || known.iter().map(|field| field.name().clone()).collect();
            let find = |name: &String| {
                let found = known.iter().find(|field| field.name() == name).cloned();
                found.ok_or_else(|| ReadError::Column { name: name.clone(), known: names_known() })
            };
            names.iter().map(find).collect::<Result<_, ReadError>>()?
        }
    };
    Ok(Arc::new(Schema::new(chosen)))
}
