//! The WASM module against onnxruntime-web on the same networks, in one browser.

use std::fs;
use std::path::Path;
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

/// Builds the page, converts the network for onnxruntime-web, and prints the tables.
pub(crate) fn run(workspace: &Workspace, python: &Path) -> Result<()> {
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

fn tabia(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo("run");
    command.args(["--quiet", "--package", "tabia", "--"]);
    command
}
