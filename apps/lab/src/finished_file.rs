//! Files that are renamed when they are complete.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file written to a temporary name, removed if dropped before it is finished.
pub(crate) struct FinishedFile {
    path: PathBuf,
    part: PathBuf,
    /// `None` once finished.
    out: Option<BufWriter<File>>,
}

impl FinishedFile {
    /// Starts the file at `path`, which may exist.
    pub(crate) fn create(path: &Path) -> Result<FinishedFile> {
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).with_context(|| format!("cannot write {}", part.display()))?;
        Ok(FinishedFile { path: path.to_owned(), part, out: Some(BufWriter::with_capacity(1 << 18, file)) })
    }

    /// Renames the file.
    pub(crate) fn finish(mut self) -> Result<()> {
        let path = self.path.clone();
        let wrong = || format!("cannot write {}", path.display());
        self.flush().with_context(wrong)?;
        if let Some(out) = &self.out {
            out.get_ref().sync_all().with_context(wrong)?;
        }
        std::fs::rename(&self.part, &self.path).with_context(wrong)?;
        self.out = None;
        Ok(())
    }
}

impl Write for FinishedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.out.as_mut().map_or(Ok(0), |out| out.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for FinishedFile {
    fn drop(&mut self) {
        if self.out.take().is_some() {
            // A file that stays has the temporary name.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}

/// Writes a file atomically.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut file = FinishedFile::create(path)?;
    file.write_all(bytes).with_context(|| format!("cannot write {}", path.display()))?;
    file.finish()
}
