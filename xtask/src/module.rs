//! Builds the page's WASM module: `apps/wasm` with its bindings for TypeScript.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

use crate::process;
use crate::wasm::{Build, PLAIN, RELAXED, SHIPPED, Toolchain, node_options};
use crate::workspace::Workspace;

/// Output folder.
const FOLDER: &str = "web/src/wasm";

/// The test script for Node.
const TEST: &str = "xtask/module_test.mjs";

/// The variant whose script loads all.
const SCRIPT: &str = "tabia";

/// The cargo profile.
const PROFILE: &str = "page";

/// A variant of the module.
struct Variant {
    /// Name of its files.
    name: &'static str,
    /// Target features.
    features: &'static str,
}

/// The variant for every browser first, then those with more target features. The script of the first one loads all.
const VARIANTS: [Variant; 2] =
    [Variant { name: SCRIPT, features: PLAIN }, Variant { name: "tabia_relaxed", features: RELAXED }];

/// Build the page's WASM module into web/src/wasm
///
/// Example:
///   cargo xtask wasm
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Wasm {
    /// Toolchain [default: the first that is available or can be installed]
    #[arg(long, value_name = "TOOLCHAIN")]
    toolchain: Option<Toolchain>,
}

impl Wasm {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        build(workspace, self.toolchain)
    }
}

/// Builds all variants and prints their size.
pub(crate) fn build(workspace: &Workspace, toolchain: Option<Toolchain>) -> Result<()> {
    let toolchain = Toolchain::ready(workspace, toolchain)?;
    let folder = folder(workspace);
    let apart = workspace.target.join("wasm").join("bindings");
    for variant in &VARIANTS {
        let build = Build { features: variant.features, folder: "wasm", node: &[] };
        let mut cargo = toolchain.cargo(workspace, "build", SHIPPED, &build)?;
        process::run(cargo.args(["--package", "tabia-wasm", "--lib", "--profile", PROFILE]))?;
        let compiled = workspace.target.join("wasm").join(SHIPPED).join(PROFILE).join("tabia_wasm.wasm");
        let made = if variant.name == SCRIPT { folder.clone() } else { apart.join(variant.name) };
        let mut bindgen = Bindgen::new();
        // The module contains the name of its script, so variants share one.
        bindgen.input_path(&compiled).out_name(SCRIPT).typescript(true);
        bindgen.remove_name_section(true).remove_producers_section(true);
        bindgen.web(true)?;
        bindgen.generate(&made).with_context(|| format!("bindings for {}", compiled.display()))?;
        let module = folder.join(format!("{}_bg.wasm", variant.name));
        if variant.name == SCRIPT {
            tell_size(&folder.join(format!("{SCRIPT}.js")))?;
        } else {
            same_script(&made, &folder)?;
            copy(&made.join(format!("{SCRIPT}_bg.wasm")), &module)?;
        }
        tell_size(&module)?;
    }
    Ok(())
}

/// Checks that the scripts and types in two folders are equal.
fn same_script(one: &Path, other: &Path) -> Result<()> {
    let read = |file: &Path| std::fs::read(file).with_context(|| format!("cannot read {}", file.display()));
    for ending in ["js", "d.ts"] {
        let [one, other] = [one, other].map(|folder| folder.join(format!("{SCRIPT}.{ending}")));
        if read(&one)? != read(&other)? {
            bail!("{} and {} differ: one script cannot load both modules", one.display(), other.display());
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Builds the module and tests it in Node.
pub(crate) fn test(workspace: &Workspace, toolchain: Option<Toolchain>) -> Result<()> {
    build(workspace, toolchain)?;
    let folder = folder(workspace);
    for Variant { name, features } in &VARIANTS {
        let Some(options) = node_options(features) else {
            println!("this Node has no relaxed SIMD: {name} is not tested");
            continue;
        };
        let mut node = Command::new("node");
        node.arg("--no-warnings")
            .args(options)
            .arg(workspace.root.join(TEST))
            .arg(folder.join(format!("{SCRIPT}.js")))
            .arg(folder.join(format!("{name}_bg.wasm")))
            .arg(workspace.root.join("models"));
        process::run(&mut node)?;
    }
    Ok(())
}

pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.root.join(FOLDER)
}

fn tell_size(file: &Path) -> Result<()> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let packed = brotli_bytes(&bytes)?;
    println!("{}: {} bytes, {packed} with brotli", file.display(), bytes.len());
    Ok(())
}

/// Size after brotli compression.
fn brotli_bytes(bytes: &[u8]) -> Result<usize> {
    const BUFFER: usize = 64 << 10;
    const QUALITY: u32 = 11;
    const WINDOW: u32 = 22;
    let mut packer = brotli::CompressorWriter::new(Vec::new(), BUFFER, QUALITY, WINDOW);
    packer.write_all(bytes)?;
    Ok(packer.into_inner().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_compress() {
        assert!(brotli_bytes(&[7; 100_000]).expect("packs") < 100);
    }
}
