//! Checks the size of the repository.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;

const MEBIBYTE: u64 = 1 << 20;

/// Size limits of folders in bytes.
const LIMITS: [(&str, u64); 2] = [("", 23_900_000), ("fixtures", 4 * MEBIBYTE)];

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut files = Vec::new();
    for file in workspace.kept_files()? {
        let path = workspace.root.join(&file);
        let size = path.metadata().with_context(|| format!("cannot read {}", path.display()))?.len();
        files.push((file, size));
    }
    for (folder, limit) in LIMITS {
        let total = within(&files, folder, limit)?;
        let shown = if folder.is_empty() { "the repository" } else { folder };
        println!("{shown}: {} of {} kB", total / 1000, limit / 1000);
    }
    Ok(())
}

/// The size of `folder`; the error names the largest files if it is over `limit`.
fn within(files: &[(PathBuf, u64)], folder: &str, limit: u64) -> Result<u64> {
    let mut inside: Vec<_> = files.iter().filter(|(file, _)| file.starts_with(folder)).collect();
    let total = inside.iter().map(|(_, size)| size).sum();
    if total > limit {
        inside.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        let largest: Vec<String> = inside
            .iter()
            .take(5)
            .map(|(file, size)| format!("{} ({} kB)", file.display(), size / 1000))
            .collect();
        bail!(
            "./{folder} holds {} kB of files, {} kB allowed; the largest: {}",
            total / 1000,
            limit / 1000,
            largest.join(", ")
        );
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_files_of_an_oversized_folder_are_listed() {
        let files = [("fixtures/a".into(), 3_000), ("fixtures/b".into(), 9_000), ("src/c".into(), 50_000)];
        assert_eq!(within(&files, "fixtures", 12_000).unwrap(), 12_000);
        let error = within(&files, "fixtures", 11_999).unwrap_err().to_string();
        assert!(error.contains("the largest: fixtures/b (9 kB)"), "{error}");
        assert!(within(&files, "", 20_000).is_err());
    }
}
