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
