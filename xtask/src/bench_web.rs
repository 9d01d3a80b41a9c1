//! The WASM module against onnxruntime-web on the same networks, or against WebGPU, in one browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::process;
use crate::web::{BROWSER_VARIABLE, Page, chromium, npm};
use crate::workspace::Workspace;

/// The reference, installed for the bench only.
const ONNXRUNTIME_WEB: &str = "onnxruntime-web@1.30.0";

const NETWORK: &str = "models/human.safetensors";

/// Quantises a network for onnxruntime.
const QUANTISE: &str = "tools/bench_web.py";

/// The page's WASM module against onnxruntime-web in one browser: the human network and an MLP
///
/// With --gpu, the human network on WebGPU beside the module: times, and the first choices in many positions.
///
/// Examples:
///   cargo xtask bench web
///   cargo xtask bench web --gpu
///   cargo xtask bench web --gpu --software --positions 100
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct WebBench {
    /// Compare WebGPU with the processor instead
    #[arg(long)]
    gpu: bool,

    /// Use Chromium's software adapter: first choices count, times say nothing
    #[arg(long, requires = "gpu")]
    software: bool,

    /// Positions in which first choices are compared
    #[arg(long, requires = "gpu", default_value_t = 1000, value_name = "N")]
    positions: u32,
}

impl WebBench {
    /// Runs the bench; `python` is one that can quantise networks.
    pub(crate) fn run(&self, workspace: &Workspace, python: impl FnOnce() -> Result<PathBuf>) -> Result<()> {
        if !self.gpu {
            return beside_onnxruntime(workspace, &python()?);
        }
        let page = Page::built(workspace)?;
        let mut node = page.node("tools/gpu.mjs");
        node.args(["--positions", &self.positions.to_string()]).env(BROWSER_VARIABLE, chromium()?);
        if self.software {
            node.arg("--software");
        }
        process::run(&mut node)
    }
}

/// Builds the page, converts the network for onnxruntime-web, and prints the tables.
fn beside_onnxruntime(workspace: &Workspace, python: &Path) -> Result<()> {
    let page = Page::built(workspace)?;
    let folder = workspace.target.join("bench-web");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    if !folder.join("node_modules/onnxruntime-web").exists() {
        let mut install = npm();
        install.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-save"]);
        process::run(install.arg(ONNXRUNTIME_WEB).arg("--prefix").arg(&folder))?;
    }
    let [floats, rounded] = ["human.onnx", "human-int8.onnx"].map(|name| folder.join(name));
    process::run(tabia(workspace).args(["model", "convert", NETWORK]).arg(&floats).arg("--force"))?;
    process::run(Command::new(python).arg(workspace.root.join(QUANTISE)).arg(&floats).arg(&rounded))?;
    let inputs = folder.join("inputs.json");
    fs::write(&inputs, process::output(tabia(workspace).args(["model", "tensors", NETWORK]))?)
        .with_context(|| format!("cannot write {}", inputs.display()))?;
    process::run(page.node("tools/bench.mjs").arg(&folder).env(BROWSER_VARIABLE, chromium()?))
}

/// Compares the search of the page's module with that of the native program.
pub(crate) fn search(workspace: &Workspace) -> Result<()> {
    let page = Page::built(workspace)?;
    process::run(workspace.cargo("build").args(["--release", "--package", "tabia"]))?;
    let program = workspace.target.join("release").join(format!("tabia{}", std::env::consts::EXE_SUFFIX));
    process::run(page.node("tools/search.mjs").arg(program).env(BROWSER_VARIABLE, chromium()?))
}

/// Times the page from its address to the first moves.
pub(crate) fn start(workspace: &Workspace) -> Result<()> {
    let page = Page::built(workspace)?;
    process::run(page.node("tools/start.mjs").env(BROWSER_VARIABLE, chromium()?))
}

fn tabia(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo("run");
    command.args(["--quiet", "--package", "tabia", "--"]);
    command
}
