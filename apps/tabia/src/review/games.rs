//! The games of PGN files, one after another.

use std::io;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use tabia_data::{BytesRead, SourceFile};
use tabia_game::{Game, PgnReader, Problem};

/// PGN files.
pub(crate) struct Games(Vec<SourceFile>);

/// A game, or why there is none.
pub(crate) enum Read {
    Game(Box<Game>),
    Broken(String),
}

impl Games {
    /// The files of paths, which may be folders.
    pub(crate) fn find(paths: &[PathBuf]) -> Result<Games> {
        let mut files = Vec::new();
        for path in paths {
            files.extend(SourceFile::find(path)?);
        }
        if files.iter().any(|file| file.path.is_none()) {
            bail!("standard input cannot be used: the games are read several times (expected files)");
        }
        Ok(Games(files))
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().filter_map(|file| file.bytes).sum()
    }

    /// Visits the games until `visit` returns false. Of a broken game, nothing is used.
    pub(crate) fn each(&self, on_read: &dyn Fn(u64), visit: &mut dyn FnMut(Read) -> bool) -> Result<()> {
        let progress = BytesRead::default();
        for file in &self.0 {
            for game in PgnReader::new(io::BufReader::new(file.text(&progress)?)) {
                let read = match game {
                    Ok(game) => Read::Game(Box::new(game)),
                    Err(broken) => {
                        if let Problem::Io(error) = broken.problem {
                            return Err(error).context(file.name.to_string());
                        }
                        Read::Broken(format!("{}: {broken}", file.name))
                    }
                };
                if !visit(read) {
                    return Ok(());
                }
                on_read(progress.get());
            }
        }
        Ok(())
    }
}
