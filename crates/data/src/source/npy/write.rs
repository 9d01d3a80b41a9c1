use std::{
    fs::{self, File},
    io::{self, BufWriter, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use shakmaty::{CastlingMode, Position};
use tabia_encoding::{
    Batch, CANONICAL_1968_ROWS, Encoding, MoveVocabulary, Score, Situation, encoding, vocabulary,
};

use super::{Array, NpyError};
use crate::EvaluationRecord;

/// Writes a set of Learning a Chess Policy.
///
/// [`finish`](Self::finish) renames the files; a writer that is dropped before leaves nothing.
/// The vocabulary is the canonical one of 1968 moves, castling written as the king's two-square move.
pub struct NpyWriter {
    planes: Partial,
    meta: Partial,
    data: Partial,
    offsets: Partial,
    vocabulary: Partial,
    encoding: &'static dyn Encoding,
    moves: &'static dyn MoveVocabulary,
    /// Records so far.
    records: u64,
    /// Rows of analysis so far.
    rows: u32,
}

impl NpyWriter {
    /// Starts the set `PREFIX_planes.npy` and so on in a folder, which is created if needed.
    ///
    /// # Errors
    /// If a file cannot be created.
    pub fn create(folder: &Path, prefix: &str) -> Result<NpyWriter, NpyError> {
        fs::create_dir_all(folder)
            .map_err(|error| NpyError::Io { file: folder.to_string_lossy().into_owned(), error })?;
        let part = |array: Array| Partial::create(array, array.path(folder, prefix));
        let [planes, meta, data, offsets, vocabulary] = Array::ALL.map(part);
        let mut writer = NpyWriter {
            planes: planes?,
            meta: meta?,
            data: data?,
            offsets: offsets?,
            vocabulary: vocabulary?,
            encoding: encoding("policy-planes-13").expect("an encoding of this product"),
            moves: self::vocabulary("canonical-1968").expect("a vocabulary of this product"),
            records: 0,
            rows: 0,
        };
        writer.offsets.write(&0_u32.to_le_bytes(), 1)?;
        writer.vocabulary.write(CANONICAL_1968_ROWS.as_flattened(), CANONICAL_1968_ROWS.len() as u64)?;
        Ok(writer)
    }

    /// Adds a position with its analysis. Node counts saturate at the format's maximum.
    ///
    /// # Errors
    /// If a file cannot be written, or the format cannot represent the record; then nothing of it is written.
    pub fn push(&mut self, record: &EvaluationRecord) -> Result<(), NpyError> {
        let number = self.records + 1;
        if record.position.castles().mode() == CastlingMode::Chess960 {
            return Err(NpyError::Chess960(number));
        }
        let lines: usize = record.sessions.iter().map(|session| session.lines.len()).sum();
        let rows = u32::try_from(lines).ok().and_then(|lines| self.rows.checked_add(lines));
        let rows = rows.ok_or(NpyError::TooManyRows(number))?;

        let mut batch = Batch::new(self.encoding);
        batch.push(&Situation::of(&record.position));
        #[expect(clippy::cast_possible_truncation, reason = "the encoding's values are -1, 0 and 1")]
        let bytes = |input| -> Vec<u8> {
            batch.values(input).iter().map(|value| (*value as i8).cast_unsigned()).collect()
        };
        self.planes.write(&bytes(0), 1)?;
        self.meta.write(&bytes(1), 1)?;

        let turn = record.position.turn();
        for session in &record.sessions {
            for line in &session.lines {
                let (score, is_mate) = match line.score.0 {
                    Score::Centipawns(cp) => (cp, 0),
                    Score::Mate(moves) => (moves.get(), 1),
                };
                let index = i32::from(self.moves.slot(turn, line.first).index.0);
                let knodes = i32::try_from(session.knodes).unwrap_or(i32::MAX);
                let row = [index, i32::from(session.depth), knodes, score, is_mate].map(i32::to_le_bytes);
                self.data.write(row.as_flattened(), 1)?;
            }
        }
        self.offsets.write(&rows.to_le_bytes(), 1)?;
        (self.records, self.rows) = (number, rows);
        Ok(())
    }

    /// Completes and renames the files, the planes last; returns the number of positions.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn finish(self) -> Result<u64, NpyError> {
        let NpyWriter { planes, meta, data, offsets, vocabulary, records, .. } = self;
        let mut parts = [vocabulary, data, offsets, meta, planes];
        for part in &mut parts {
            part.complete()?;
        }
        for part in &mut parts {
            part.rename()?;
        }
        Ok(records)
    }
}

/// A file with a temporary name until it is complete.
struct Partial {
    array: Array,
    out: BufWriter<File>,
    path: PathBuf,
    partial: PathBuf,
    /// The length of the first axis so far.
    length: u64,
    renamed: bool,
}

impl Partial {
    fn create(array: Array, path: PathBuf) -> Result<Partial, NpyError> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let partial = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
        let file = File::create(&partial)
            .map_err(|error| NpyError::Io { file: partial.to_string_lossy().into_owned(), error })?;
        let out = BufWriter::with_capacity(1 << 16, file);
        let mut part = Partial { array, out, path, partial, length: 0, renamed: false };
        // The header is overwritten when the length is known.
        part.write(&array.header(0).to_bytes(), 0)?;
        Ok(part)
    }

    fn write(&mut self, bytes: &[u8], items: u64) -> Result<(), NpyError> {
        self.length += items;
        let written = self.out.write_all(bytes);
        self.check(written)
    }

    fn complete(&mut self) -> Result<(), NpyError> {
        let header = self.array.header(self.length).to_bytes();
        let completed = self
            .out
            .flush()
            .and_then(|()| self.out.get_mut().seek(SeekFrom::Start(0)))
            .and_then(|_| self.out.get_mut().write_all(&header))
            .and_then(|()| self.out.get_ref().sync_all());
        self.check(completed)
    }

    fn rename(&mut self) -> Result<(), NpyError> {
        let renamed = fs::rename(&self.partial, &self.path);
        self.renamed = renamed.is_ok();
        self.check(renamed)
    }

    fn check(&self, done: io::Result<()>) -> Result<(), NpyError> {
        done.map_err(|error| NpyError::Io { file: self.path.to_string_lossy().into_owned(), error })
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.renamed {
            // A file that stays has a temporary name.
            let _unremoved = fs::remove_file(&self.partial);
        }
    }
}
