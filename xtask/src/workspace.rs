//! Paths of the workspace: the root, the target folder, the tracked files.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use cargo_metadata::{CargoOpt, Metadata, MetadataCommand};

use crate::process;

/// A checkout of the repository.
pub(crate) struct Workspace {
    /// The folder of the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// The target folder, also for the outputs of commands.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// The checkout in which `cargo xtask` was started.
    pub(crate) fn open() -> Result<Self> {
        let metadata = MetadataCommand::new().no_deps().exec().context(
            "cannot read the workspace: run this as `cargo xtask`, inside a checkout of the repository",
        )?;
        Ok(Self {
            root: metadata.workspace_root.into_std_path_buf(),
            target: metadata.target_directory.into_std_path_buf(),
        })
    }

    /// A cargo command in the root folder.
    pub(crate) fn cargo(&self, subcommand: &str) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.arg(subcommand).current_dir(&self.root);
        command
    }

    /// Removes builds of our own crates by another checkout from the target folder.
    ///
    /// Cargo would reuse them, but tests contain the paths of their checkout.
    pub(crate) fn claim_target(&self) -> Result<()> {
        let note = self.target.join("checkout");
        if !self.is_foreign(std::fs::read_to_string(&note).ok().as_deref()) {
            return Ok(());
        }
        let metadata = MetadataCommand::new().current_dir(&self.root).no_deps().exec()?;
        let mut clean = self.cargo("clean");
        for package in metadata.workspace_packages() {
            // Not this running program.
            if package.name.as_str() != env!("CARGO_PKG_NAME") {
                clean.args(["--package", package.name.as_str()]);
            }
        }
        process::run(&mut clean)?;
        std::fs::create_dir_all(&self.target)?;
        std::fs::write(&note, self.root.display().to_string())
            .with_context(|| format!("cannot write {}", note.display()))
    }

    /// Whether a target folder with this note was last used by another or an unknown checkout.
    fn is_foreign(&self, note: Option<&str>) -> bool {
        note != Some(&*self.root.display().to_string())
    }

    /// All packages of the manifest at `manifest` (relative to the root), for all targets and features.
    pub(crate) fn dependency_graph(&self, manifest: &str) -> Result<Metadata> {
        MetadataCommand::new()
            .manifest_path(self.root.join(manifest))
            .features(CargoOpt::AllFeatures)
            .exec()
            .with_context(|| format!("cargo metadata failed for {manifest}"))
    }

    /// The files that git tracks or does not ignore, relative to the root.
    pub(crate) fn kept_files(&self) -> Result<Vec<PathBuf>> {
        let listing = process::output(
            Command::new("git")
                .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
                .current_dir(&self.root),
        )
        .context("cannot list the files of the checkout with git")?;
        let mut files: Vec<PathBuf> = listing
            .split('\0')
            .filter(|name| !name.is_empty())
            .map(PathBuf::from)
            .filter(|file| self.root.join(file).is_file()) // a deleted file stays listed until it is committed
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_of_another_checkout_are_detected() {
        let workspace = Workspace { root: "/here/tabia".into(), target: "/cache".into() };
        assert!(!workspace.is_foreign(Some("/here/tabia")));
        assert!(workspace.is_foreign(Some("/there/tabia")));
        assert!(workspace.is_foreign(None));
    }
}
