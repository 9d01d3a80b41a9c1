//! Archives with the same bytes for the same files: sorted, without owners, with one time.

use std::fs::{self, File};
use std::path::Path;

use anyhow::{Context as _, Result};
use flate2::{Compression, GzBuilder, write::GzEncoder};
use tar::{Builder, EntryType, Header};

/// An archive being written.
pub(super) struct Archive {
    tar: Builder<GzEncoder<File>>,
    time: u64,
}

impl Archive {
    /// An archive at `path`, whose files all have this time.
    pub(super) fn create(path: &Path, time: u64) -> Result<Archive> {
        let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
        // Without the name and time of this file.
        let gzip = GzBuilder::new().mtime(0).write(file, Compression::best());
        Ok(Archive { tar: Builder::new(gzip), time })
    }

    pub(super) fn file(&mut self, from: &Path, name: &str) -> Result<()> {
        self.add(from, name, 0o644)
    }

    /// An executable file.
    pub(super) fn program(&mut self, from: &Path, name: &str) -> Result<()> {
        self.add(from, name, 0o755)
    }

    /// All files below a folder, except hidden ones.
    pub(super) fn folder(&mut self, from: &Path, name: &str) -> Result<()> {
        let read = || fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()));
        let mut entries: Vec<_> = read()?.collect::<std::io::Result<_>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let file = entry.file_name().to_string_lossy().into_owned();
            if file.starts_with('.') {
                continue;
            }
            let inside = format!("{name}/{file}");
            if entry.file_type()?.is_dir() {
                self.folder(&entry.path(), &inside)?;
            } else {
                self.file(&entry.path(), &inside)?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Result<()> {
        self.tar.into_inner()?.finish()?;
        Ok(())
    }

    fn add(&mut self, from: &Path, name: &str, mode: u32) -> Result<()> {
        let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes.len() as u64);
        header.set_mode(mode);
        header.set_mtime(self.time);
        header.set_uid(0);
        header.set_gid(0);
        self.tar.append_data(&mut header, name, &*bytes).with_context(|| format!("cannot archive {name}"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    fn packed(folder: &Path, to: &Path) -> Vec<u8> {
        let mut archive = Archive::create(to, 1_700_000_000).unwrap();
        archive.folder(folder, "page").unwrap();
        archive.program(&folder.join("a.txt"), "page/run").unwrap();
        archive.finish().unwrap();
        fs::read(to).unwrap()
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let temporary = tempfile::tempdir().unwrap();
        let (first, second) = (temporary.path().join("first"), temporary.path().join("second"));
        for (folder, names) in
            [(&first, ["a.txt", "b/c.txt", ".hidden"]), (&second, [".hidden", "b/c.txt", "a.txt"])]
        {
            fs::create_dir_all(folder.join("b")).unwrap();
            for name in names {
                fs::write(folder.join(name), name).unwrap();
            }
        }
        let bytes = packed(&first, &temporary.path().join("first.tar.gz"));
        assert_eq!(bytes, packed(&second, &temporary.path().join("second.tar.gz")));

        let mut archive = tar::Archive::new(GzDecoder::new(&*bytes));
        let mut found = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.mtime().unwrap()), (0, 1_700_000_000));
            found.push((entry.path().unwrap().display().to_string(), header.mode().unwrap(), text));
        }
        let expected = [
            ("page/a.txt", 0o644, "a.txt"),
            ("page/b/c.txt", 0o644, "b/c.txt"),
            ("page/run", 0o755, "a.txt"),
        ];
        assert_eq!(found, expected.map(|(name, mode, text)| (name.to_owned(), mode, text.to_owned())));
    }
}
