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

/// About how many bytes of text a chunk has.
const CHUNK: usize = 1 << 20;

/// How much of a text is looked at to tell its kind.
const HEAD: u64 = 4096;

/// A run of whole games or lines of one source, not parsed yet: what one thread works on.
///
/// Reading a chunk ([`read`](Chunk::read)) depends on nothing else, so that chunks can be read by many threads and
/// their records be put in the order of the chunks.
#[derive(Debug)]
pub struct Chunk {
    pub(super) source: Arc<str>,
    pub(super) kind: SourceKind,
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    /// What went wrong between the pieces.
    pub(super) faults: Faults,
}

/// A game or a line: where it ends in the chunk's bytes, and where it was in the stream.
#[derive(Clone, Copy, Debug)]
struct Piece {
    end: usize,
    /// Where a game's moves begin, from the beginning of the piece.
    movetext: usize,
    place: Place,
}

impl Chunk {
    fn new(source: &Arc<str>, kind: SourceKind) -> Chunk {
        let bytes = Vec::with_capacity(CHUNK + CHUNK / 8);
        Chunk { source: source.clone(), kind, bytes, pieces: Vec::new(), faults: Faults::default() }
    }

    /// How many games or lines there are, blank lines not counted.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether there is neither a game nor a line; there may be faults.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The games or lines in order. Lines come without their ends.
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

/// Cuts a source into chunks, one after the other; memory holds one chunk and what its decoder needs.
///
/// Nothing ends the reading early but the end of what can be read: a stream that fails gives what came before, less the
/// game or line it broke off in, and a [`FaultKind::StreamFailed`] in the last chunk.
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
    /// When it cannot be opened, its kind cannot be told, or it is a table ([`SourceKind::Parquet`],
    /// [`SourceKind::Npy`]).
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

    /// Cuts a text that is already there, decompressed, of a known kind. Tables have no lines: of those nothing
    /// useful comes.
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
        // After a failure what was read before it is little, and one chunk tells where it ended.
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

/// A game or line that went from a stream into a chunk, or was passed over there.
#[derive(Clone, Copy)]
struct Moved {
    place: Place,
    /// Whether it is known to have its end even if the stream failed.
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

/// Why a stream failed, known to the one who reads what came before.
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

/// A stream that ends where it fails, so that its readers give out what they hold.
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
