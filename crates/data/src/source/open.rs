#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{BytesRead, decompress::Decompressed};

/// Size of the read buffer.
const BUFFER: usize = 256 << 10;

/// Limit on the depth of folders, for cycles of symbolic links.
const DEEPEST_FOLDER: usize = 64;

/// What a source holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// Games: `.pgn`.
    Pgn,
    /// Positions, puzzles: `.epd`, `.fen`.
    Epd,
    /// The Lichess puzzle table: `.csv`.
    PuzzleCsv,
    /// The Lichess evaluations, an object a line: `.jsonl`, `.ndjson`.
    EvaluationsJsonl,
    /// The Lichess evaluations as a table, which the query engine reads: `.parquet`.
    Parquet,
    /// A set of Learning a Chess Policy, named by its `*_planes.npy`: see [`NpySet`](super::NpySet).
    Npy,
}

impl SourceKind {
    /// The kind by file name; `.zst`, `.gz` and `.bz2` are ignored.
    pub fn of_name(name: &str) -> Option<SourceKind> {
        let lower = name.to_ascii_lowercase();
        let bare = [".zst", ".zstd", ".gz", ".bz2"].iter().find_map(|end| lower.strip_suffix(end));
        match (bare.unwrap_or(&lower).rsplit_once('.')?.1, bare) {
            ("pgn", _) => Some(SourceKind::Pgn),
            ("epd" | "fen", _) => Some(SourceKind::Epd),
            ("csv", _) => Some(SourceKind::PuzzleCsv),
            ("jsonl" | "ndjson", _) => Some(SourceKind::EvaluationsJsonl),
            ("parquet", None) => Some(SourceKind::Parquet),
            ("npy", None) if lower.ends_with("_planes.npy") => Some(SourceKind::Npy),
            _ => None,
        }
    }

    /// The kind by the beginning of a text, for unknown file names.
    pub fn of_text(head: &[u8]) -> Option<SourceKind> {
        let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
        let word = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        match text.first()? {
            b'[' | b'%' => Some(SourceKind::Pgn),
            b'{' => Some(SourceKind::EvaluationsJsonl),
            _ if word.starts_with(b"PuzzleId,") => Some(SourceKind::PuzzleCsv),
            _ if word.iter().filter(|byte| **byte == b'/').count() == 7 => {
                Some(if word.contains(&b',') { SourceKind::PuzzleCsv } else { SourceKind::Epd })
            }
            _ if text.starts_with(b"1.") => Some(SourceKind::Pgn),
            _ => None,
        }
    }
}

/// A source that was found but not opened yet: a file, or standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path, or `standard input`.
    pub name: Arc<str>,
    /// Its path; `None` is standard input.
    pub path: Option<PathBuf>,
    /// Its kind, if the file name tells.
    pub kind: Option<SourceKind>,
    /// Its size on disk, if known.
    pub bytes: Option<u64>,
}

/// Why a source cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// I/O failed.
    #[error("{name}: {error}")]
    Io {
        /// Which source.
        name: Arc<str>,
        /// Why.
        error: io::Error,
    },
    /// A folder without input files.
    #[error("{0}: no .pgn, .epd, .fen, .csv, .jsonl, .ndjson, .parquet or _planes.npy file in this folder")]
    EmptyFolder(Arc<str>),
    /// Neither the name nor the first bytes identify the format.
    #[error("{0}: unknown format (expected a name with .pgn, .epd, .csv or .jsonl, and .zst, .gz or .bz2)")]
    UnknownKind(Arc<str>),
    /// A binary source.
    #[error("{0}: is not a text file")]
    NotAText(Arc<str>),
}

impl SourceFile {
    /// Finds the sources of an argument: a file, all files of known kinds below a folder in the order of their paths, or
    /// standard input for `-`.
    ///
    /// # Errors
    /// If it does not exist, or a folder has no file of a known kind.
    pub fn find(argument: &Path) -> Result<Vec<SourceFile>, OpenError> {
        if argument.as_os_str() == "-" {
            return Ok(vec![SourceFile {
                name: "standard input".into(),
                path: None,
                kind: None,
                bytes: None,
            }]);
        }
        let fails = |error| OpenError::Io { name: name_of(argument), error };
        let about = fs::metadata(argument).map_err(fails)?;
        if !about.is_dir() {
            let bytes = about.is_file().then_some(about.len());
            return Ok(vec![SourceFile::of_path(argument.to_owned(), bytes)]);
        }
        let mut found = Vec::new();
        walk(argument, DEEPEST_FOLDER, &mut found)?;
        found.sort_by(|a, b| a.path.cmp(&b.path));
        if found.is_empty() { Err(OpenError::EmptyFolder(name_of(argument))) } else { Ok(found) }
    }

    fn of_path(path: PathBuf, bytes: Option<u64>) -> SourceFile {
        let name = name_of(&path);
        let kind = path.file_name().and_then(|name| SourceKind::of_name(&name.to_string_lossy()));
        SourceFile { name, path: Some(path), kind, bytes }
    }

    /// The decompressed text; `progress` counts the bytes read from the source.
    ///
    /// # Errors
    /// If it cannot be opened or its first bytes cannot be read.
    pub fn text(&self, progress: &BytesRead) -> Result<Box<dyn Read + Send>, OpenError> {
        Ok(Box::new(self.open(progress)?))
    }

    /// Opens the source and begins to decompress it; `progress` counts the bytes read from it.
    ///
    /// # Errors
    /// If it cannot be opened or its first bytes cannot be read.
    pub(super) fn open(&self, progress: &BytesRead) -> Result<Decompressed, OpenError> {
        let fails = |error| OpenError::Io { name: self.name.clone(), error };
        let input: Box<dyn Read + Send> = match &self.path {
            None => Box::new(io::stdin()),
            Some(path) => Box::new(File::open(path).map_err(fails)?),
        };
        Decompressed::new(BufReader::with_capacity(BUFFER, input), progress).map_err(fails)
    }
}

fn name_of(path: &Path) -> Arc<str> {
    path.to_string_lossy().into()
}

fn walk(folder: &Path, deeper: usize, found: &mut Vec<SourceFile>) -> Result<(), OpenError> {
    let fails = |error| OpenError::Io { name: name_of(folder), error };
    for entry in fs::read_dir(folder).map_err(fails)? {
        let path = entry.map_err(fails)?.path();
        // The file may have been removed.
        let Ok(about) = fs::metadata(&path) else { continue };
        if about.is_dir() {
            if deeper > 0 {
                walk(&path, deeper - 1, found)?;
            }
            continue;
        }
        let file = SourceFile::of_path(path, Some(about.len()));
        if about.is_file() && file.kind.is_some() {
            found.push(file);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_by_file_name() {
        for (name, kind) in [
            ("games.pgn", Some(SourceKind::Pgn)),
            ("Games.PGN.bz2", Some(SourceKind::Pgn)),
            ("lichess_db_puzzle.csv.zst", Some(SourceKind::PuzzleCsv)),
            ("lichess_db_eval.jsonl.zst", Some(SourceKind::EvaluationsJsonl)),
            ("book.epd.gz", Some(SourceKind::Epd)),
            ("train_planes.npy", Some(SourceKind::Npy)),
            ("train_meta.npy", None),
            ("part-0.parquet", Some(SourceKind::Parquet)),
            ("set.json", None),
            ("pgn", None),
            ("a.zst", None),
        ] {
            assert_eq!(SourceKind::of_name(name), kind, "{name}");
        }
    }

    #[test]
    fn kinds_by_content() {
        for (text, kind) in [
            ("\u{feff}\r\n[Event \"?\"]", Some(SourceKind::Pgn)),
            ("1. e4 e5", Some(SourceKind::Pgn)),
            ("{\"fen\":\"", Some(SourceKind::EvaluationsJsonl)),
            ("PuzzleId,FEN,Moves\n", Some(SourceKind::PuzzleCsv)),
            ("00008,r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2R1/PqP2bPP/7K b - - 0 24,f2g3", Some(SourceKind::PuzzleCsv)),
            ("8/8/4k3/8/8/3QK3/8/8 b - -", Some(SourceKind::Epd)),
            ("hello", None),
            ("", None),
        ] {
            assert_eq!(SourceKind::of_text(text.as_bytes()), kind, "{text}");
        }
    }

    #[test]
    fn files_of_folders_are_found_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir_all(folder.join("b/empty")).unwrap();
        for (name, content) in
            [("z.pgn", "1. e4 *"), ("b/a.pgn.zst", ""), ("b/notes.txt", "x"), ("a.epd", "")]
        {
            fs::write(folder.join(name), content).unwrap();
        }
        let found = SourceFile::find(folder).unwrap();
        let names: Vec<_> =
            found.iter().map(|file| file.path.as_ref().unwrap().strip_prefix(folder).unwrap()).collect();
        assert_eq!(names, [Path::new("a.epd"), Path::new("b/a.pgn.zst"), Path::new("z.pgn")]);
        assert_eq!(found[2].bytes, Some(7));
        let nothing = SourceFile::find(&folder.join("b/empty")).unwrap_err();
        assert!(matches!(nothing, OpenError::EmptyFolder(_)));
        let absent = SourceFile::find(&folder.join("absent")).unwrap_err();
        assert!(matches!(absent, OpenError::Io { name, .. } if name.ends_with("absent")));
        assert_eq!(SourceFile::find(Path::new("-")).unwrap()[0].path, None);
    }
}
