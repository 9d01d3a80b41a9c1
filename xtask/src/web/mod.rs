//! The page: packages, WASM module, build, and the compressed form in the program.

mod browser;
mod node;
mod stamp;
mod test;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

pub(crate) use self::browser::{VARIABLE as BROWSER_VARIABLE, chromium};
pub(crate) use self::node::npm;
use self::stamp::Stamp;
pub(crate) use self::test::test;
use crate::module::Quality;
use crate::workspace::Workspace;
use crate::{module, process};

/// Folder of the compressed page that is compiled into the program.
const CARRIED: &str = "crates/serve/page";

/// Sources of the module.
const MODULE_SOURCES: [&str; 18] = [
    "Cargo.lock",
    "Cargo.toml",
    "apps/wasm",
    "apps/wasm-gpu",
    "crates/arena",
    "crates/encoding",
    "crates/game",
    "crates/model",
    "crates/nets",
    "crates/onnx",
    "crates/players",
    "crates/practice",
    "crates/runtime",
    "crates/search",
    "crates/threads",
    "crates/webgpu",
    "xtask/src/module.rs",
    "xtask/src/wasm.rs",
];
/// Sources of the page, besides the module and packages.
const PAGE_SOURCES: [&str; 11] = [
    "crates/runs/page",
    "models",
    "web/index.html",
    "web/package-lock.json",
    "web/policy.txt",
    "web/public",
    "web/src",
    "web/svelte.config.js",
    "web/tools",
    "web/tsconfig.json",
    "web/vite.config.ts",
];

/// Build the page into web/dist and for embedding into the program, if not up to date
///
/// Examples:
///   cargo xtask web
///   cargo xtask web --quick
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Web {
    /// Compile quickly, for trying a change: one module, less optimised, and nothing embedded
    #[arg(long)]
    quick: bool,
}

impl Web {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        if self.quick {
            let page = Page::quick(workspace)?;
            println!("the page is in {}", page.dist().display());
            return Ok(());
        }
        let page = Page::built(workspace)?;
        page.carried()?;
        println!("the page is in {}; `cargo build` embeds it", page.dist().display());
        Ok(())
    }
}

/// A built page.
pub(crate) struct Page<'a> {
    workspace: &'a Workspace,
    folder: PathBuf,
}

impl Page<'_> {
    /// Builds whatever is not up to date, for shipping.
    pub(crate) fn built(workspace: &Workspace) -> Result<Page<'_>> {
        Page::build(workspace, Quality::Shipping)
    }

    /// The same, compiled quickly.
    pub(crate) fn quick(workspace: &Workspace) -> Result<Page<'_>> {
        Page::build(workspace, Quality::Quick)
    }

    fn build(workspace: &Workspace, quality: Quality) -> Result<Page<'_>> {
        let page = Page { workspace, folder: workspace.root.join("web") };
        node::ready()?;
        page.packages()?;
        page.module(quality)?;
        page.bundle()?;
        Ok(page)
    }

    /// Folder of the static files.
    pub(crate) fn dist(&self) -> PathBuf {
        self.folder.join("dist")
    }

    /// A script of the page's folder.
    pub(crate) fn node(&self, script: &str) -> Command {
        let mut command = Command::new("node");
        command.arg(self.folder.join(script)).current_dir(&self.folder);
        command
    }

    /// A script of the page's package.json.
    pub(crate) fn npm(&self, script: &str) -> Command {
        let mut command = npm();
        command.args(["run", "--silent", script]).current_dir(&self.folder);
        command
    }

    /// Compresses the page for embedding.
    pub(crate) fn carried(&self) -> Result<()> {
        let folder = self.workspace.root.join(CARRIED);
        let stamp = Stamp::of_folder(folder.join(".built"), &self.dist())?;
        stamp.unless_current("the page in the program", || {
            process::run(self.node("tools/pack.mjs").arg(&folder))
        })
    }

    fn packages(&self) -> Result<()> {
        let lock = Path::new("web/package-lock.json").to_owned();
        let stamp = Stamp::of(self.workspace, self.folder.join("node_modules/.installed"), &[lock])?;
        stamp.unless_current("packages", || {
            process::run(npm().args(["ci", "--no-audit", "--no-fund"]).current_dir(&self.folder)).context(
                "is the package registry (registry.npmjs.org, or npm's `registry` setting) reachable?",
            )
        })
    }

    fn module(&self, quality: Quality) -> Result<()> {
        let stamp = Stamp::of(
            self.workspace,
            module::folder(self.workspace).join(".built"),
            &self.sources(&MODULE_SOURCES)?,
        )?
        .made_as(match quality {
            Quality::Quick => "quick",
            Quality::Shipping => "",
        });
        stamp.unless_current("the wasm module", || module::build(self.workspace, None, quality))
    }

    fn bundle(&self) -> Result<()> {
        let mut sources = self.sources(&PAGE_SOURCES)?;
        for entry in module::folder(self.workspace).read_dir()? {
            sources.push(entry?.path());
        }
        let stamp = Stamp::of(self.workspace, self.dist().join(".built"), &sources)?;
        stamp.unless_current("web/dist", || process::run(&mut self.npm("build")))
    }

    fn sources(&self, folders: &[&str]) -> Result<Vec<PathBuf>> {
        let files = self.workspace.kept_files()?;
        Ok(files.into_iter().filter(|file| folders.iter().any(|folder| file.starts_with(folder))).collect())
    }
}
