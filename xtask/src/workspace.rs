//! Where things are: the root of the checkout, the folder builds go to, the files git would keep.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};
use cargo_metadata::{CargoOpt, Metadata, MetadataCommand};

use crate::process;

/// One checkout of the repository.
pub(crate) struct Workspace {
    /// The folder of the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// The folder cargo builds into; everything the commands make goes here too.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// The checkout this program was started from, through `cargo xtask`.
    pub(crate) fn open() -> Result<Self> {
        let metadata = MetadataCommand::new().no_deps().exec().context(
            "cannot read the workspace: run this as `cargo xtask`, inside a checkout of the repository",
        )?;
        Ok(Self {
            root: metadata.workspace_root.into_std_path_buf(),
            target: metadata.target_directory.into_std_path_buf(),
        })
    }

    /// A cargo command in the root folder, with the cargo that started this program.
    pub(crate) fn cargo(&self, subcommand: &str) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.arg(subcommand).current_dir(&self.root);
        command
    }

    /// Makes the target folder this checkout's: what another checkout built of our own crates is thrown away.
    ///
    /// Cargo takes such builds for its own, but tests have the paths of the checkout they were built in inside them.
    pub(crate) fn claim_target(&self) -> Result<()> {
        let note = self.target.join("checkout");
        if !self.is_foreign(std::fs::read_to_string(&note).ok().as_deref()) {
            return Ok(());
        }
        let metadata = MetadataCommand::new().current_dir(&self.root).no_deps().exec()?;
        let mut clean = self.cargo("clean");
        for package in metadata.workspace_packages() {
            // Not this program, which is running.
            if package.name.as_str() != env!("CARGO_PKG_NAME") {
                clean.args(["--package", package.name.as_str()]);
            }
        }
        process::run(&mut clean)?;
        std::fs::create_dir_all(&self.target)?;
        std::fs::write(&note, self.root.display().to_string())
            .with_context(|| format!("cannot write {}", note.display()))
    }

    /// Whether a target folder with this note was last used by another checkout, or by nobody knows whom.
    fn is_foreign(&self, note: Option<&str>) -> bool {
        note != Some(&*self.root.display().to_string())
    }

    /// Every package the manifest at `manifest` (relative to the root) leads to, all targets and features.
    pub(crate) fn dependency_graph(&self, manifest: &str) -> Result<Metadata> {
        MetadataCommand::new()
            .manifest_path(self.root.join(manifest))
            .features(CargoOpt::AllFeatures)
            .exec()
            .with_context(|| format!("cargo metadata failed for {manifest}"))
    }

    /// The files of the checkout that git keeps or would keep (not ignored), relative to the root.
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
    fn a_target_folder_belongs_to_the_checkout_that_used_it_last() {
        let workspace = Workspace { root: "/here/tabia".into(), target: "/cache".into() };
        assert!(!workspace.is_foreign(Some("/here/tabia")));
        assert!(workspace.is_foreign(Some("/there/tabia")));
        assert!(workspace.is_foreign(None));
    }
}
