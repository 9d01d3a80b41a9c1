#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    io::{self, Cursor, Read},
    sync::{Arc, Mutex, PoisonError},
};

use tabia_game::{Place, RawGame, RawGames};

use super::{
    BytesRead, FaultKind, Faults, OpenError, Part, SourceFile, SourceKind, Whereabouts,
    lines::{LONGEST_LINE, Lines},
};

/// Approximate size of a chunk in bytes.
const CHUNK: usize = 1 << 20;

/// Number of bytes that are inspected to detect the kind of a text.
const HEAD: u64 = 4096;

/// A run of whole games or lines of one source, not parsed yet: the unit of parallel work.
///
/// Chunks are independent: many threads can [`read`](Chunk::read) them, and the records of a source are those of its chunks
/// in order.
#[derive(Debug)]
pub struct Chunk {
    pub(super) source: Arc<str>,
    pub(super) kind: SourceKind,
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    /// Faults between the pieces.
    pub(super) faults: Faults,
}

/// A game or a line: its end in the chunk's bytes, and its place in the stream.
#[derive(Clone, Copy, Debug)]
struct Piece {
    end: usize,
    /// Offset of a game's moves in the piece.
    movetext: usize,
    place: Place,
}

impl Chunk {
    fn new(source: &Arc<str>, kind: SourceKind) -> Chunk {
        let bytes = Vec::with_capacity(CHUNK + CHUNK / 8);
        Chunk { source: source.clone(), kind, bytes, pieces: Vec::new(), faults: Faults::default() }
    }

    /// Number of games or non-blank lines.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there are no games or lines. There may still be faults.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The games or lines in order. Lines come without their endings.
    pub(super) fn pieces(&self) -> impl Iterator<Item = RawGame<'_>> {
        let mut begin = 0;
        self.pieces.iter().map(move |piece| {
            let bytes = self.bytes.get(begin..piece.end).unwrap_or_default();
            begin = piece.end;
            RawGame { bytes, movetext: piece.movetext, place: piece.place }
        })
    }

    pub(super) fn whereabouts(&self, place: Place) -> Whereabouts {
        let Place { game, offset, line } = place;
        let part = match self.kind {
            SourceKind::Pgn => Part::Game { number: game, line },
            _ => Part::Line(line),
        };
        Whereabouts { source: self.source.clone(), offset, part }
    }

    fn push(&mut self, bytes: &[u8], movetext: usize, place: Place) {
        self.bytes.extend_from_slice(bytes);
        self.pieces.push(Piece { end: self.bytes.len(), movetext, place });
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= CHUNK
    }
}

/// Iterates over the chunks of a source. Memory holds one chunk and the decoder's window.
///
/// A stream that fails yields everything before the failure, except the incomplete game or line, and a
/// [`FaultKind::StreamFailed`] in the last chunk.
pub struct Chunks {
    source: Arc<str>,
    kind: SourceKind,
    text: Text,
    failure: Failure,
    ended: bool,
}

type Input = Box<dyn Read + Send>;

enum Text {
    Games(RawGames<Input>),
    Lines(Lines<Input>),
}

impl Chunks {
    /// Opens a source that holds text. `progress` counts the bytes read from it, before decompression.
    ///
    /// # Errors
    /// If it cannot be opened, its kind is unknown, or it is a table ([`SourceKind::Parquet`], [`SourceKind::Npy`]).
    pub fn open(file: &SourceFile, progress: &BytesRead) -> Result<Chunks, OpenError> {
        let mut stream = file.open(progress)?;
        let mut head = Vec::new();
        let kind = match file.kind {
            Some(SourceKind::Parquet | SourceKind::Npy) => {
                return Err(OpenError::NotAText(file.name.clone()));
            }
            Some(kind) => kind,
            None => {
                let looked_at = (&mut stream).take(HEAD).read_to_end(&mut head);
                match (SourceKind::of_text(&head), looked_at) {
                    (Some(kind), _) => kind,
                    (None, Ok(_)) => return Err(OpenError::UnknownKind(file.name.clone())),
                    (None, Err(error)) => return Err(OpenError::Io { name: file.name.clone(), error }),
                }
            }
        };
        Ok(Chunks::new(&file.name, kind, Cursor::new(head).chain(stream)))
    }

    /// Cuts a decompressed text of a known kind. Tables are not text and yield nothing useful.
    pub fn new(name: &str, kind: SourceKind, text: impl Read + Send + 'static) -> Chunks {
        let failure = Failure::default();
        let input: Input = Box::new(Stopping { input: text, failure: failure.clone() });
        let text = match kind {
            SourceKind::Pgn => Text::Games(RawGames::new(input)),
            _ => Text::Lines(Lines::new(input)),
        };
        Chunks { source: name.into(), kind, text, failure, ended: false }
    }

    /// What the source holds.
    pub fn kind(&self) -> SourceKind {
        self.kind
    }
}

impl Iterator for Chunks {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let mut chunk = Chunk::new(&self.source, self.kind);
        let mut last = None;
        // After a failure, one chunk holds the rest and the fault.
        while !self.ended && (!chunk.is_full() || self.failure.has_happened()) {
            match self.text.move_next(&mut chunk) {
                Some(moved) => last = Some(moved),
                None => self.ended = true,
            }
        }
        if self.ended
            && let Some(error) = self.failure.take()
        {
            if let Some(Moved { whole: false, .. }) = last {
                chunk.pieces.pop();
            }
            let whole = Whereabouts::whole(self.source.clone());
            let at = last.map_or(whole, |moved| chunk.whereabouts(moved.place));
            chunk.faults.add(FaultKind::StreamFailed, &at, || error.to_string());
        }
        (!chunk.is_empty() || !chunk.faults.is_empty()).then_some(chunk)
    }
}

/// A game or line that was taken from a stream or skipped.
#[derive(Clone, Copy)]
struct Moved {
    place: Place,
    /// Whether it is complete even if the stream failed.
    whole: bool,
}

impl Text {
    fn move_next(&mut self, chunk: &mut Chunk) -> Option<Moved> {
        Some(match self {
            Text::Games(games) => match games.next()? {
                Ok(game) => {
                    chunk.push(game.bytes, game.movetext, game.place);
                    Moved { place: game.place, whole: false }
                }
                Err(broken) => {
                    let at = chunk.whereabouts(broken.place);
                    chunk.faults.add(FaultKind::TooLong, &at, || broken.problem.to_string());
                    Moved { place: broken.place, whole: true }
                }
            },
            Text::Lines(lines) => {
                let (place, line) = lines.next()?;
                match line {
                    Some(line) => {
                        chunk.push(line.bytes, 0, place);
                        Moved { place, whole: line.whole }
                    }
                    None => {
                        let at = chunk.whereabouts(place);
                        let what = || format!("the line is longer than {LONGEST_LINE} bytes");
                        chunk.faults.add(FaultKind::TooLong, &at, what);
                        Moved { place, whole: true }
                    }
                }
            }
        })
    }
}

/// The error of a failed stream, shared with its reader.
#[derive(Clone, Debug, Default)]
struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    fn has_happened(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn take(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, error: io::Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

/// A stream that ends where it fails, so that buffered readers return what they hold.
struct Stopping<R> {
    input: R,
    failure: Failure,
}

impl<R: Read> Read for Stopping<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.failure.has_happened() {
            return Ok(0);
        }
        loop {
            match self.input.read(buffer) {
                Ok(read) => return Ok(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure.set(error);
                    return Ok(0);
                }
            }
        }
    }
}
