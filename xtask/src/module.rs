//! The module the page loads: `apps/wasm` compiled, its bindings for TypeScript generated, its size told.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

use crate::process;
use crate::wasm::{Build, PLAIN, RELAXED, SHIPPED, Toolchain, node_options};
use crate::workspace::Workspace;

/// Where the page's build looks for it.
const FOLDER: &str = "web/src/wasm";

/// What Node runs, with the module's files and the networks' folder.
const TEST: &str = "xtask/module_test.mjs";

/// The variant whose script serves all.
const SCRIPT: &str = "tabia";

/// The profile of Cargo.toml that it is built in.
const PROFILE: &str = "page";

/// One way to compile the module.
struct Variant {
    /// What its files are called.
    name: &'static str,
    /// What a processor must be able to do.
    features: &'static str,
}

/// The one for every browser first; those that need more of a processor follow. Each is compiled by itself, but for the
/// standard library where that comes compiled. The first one's script serves all.
const VARIANTS: [Variant; 2] =
    [Variant { name: SCRIPT, features: PLAIN }, Variant { name: "tabia_relaxed", features: RELAXED }];

/// Build the module of the page into web/src/wasm
///
/// Example:
///   cargo xtask wasm
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Wasm {
    /// The compiler [default: the first of these that is there or can be installed]
    #[arg(long, value_name = "TOOLCHAIN")]
    toolchain: Option<Toolchain>,
}

impl Wasm {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        build(workspace, self.toolchain)
    }
}

/// Builds all variants and says how large they are.
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
        // The script's name is in the module too: one script serves modules that were made for it.
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

/// Makes sure that the scripts and types in two folders are the same.
fn same_script(one: &Path, other: &Path) -> Result<()> {
    let read = |file: &Path| std::fs::read(file).with_context(|| format!("cannot read {}", file.display()));
    for ending in ["js", "d.ts"] {
        let [one, other] = [one, other].map(|folder| folder.join(format!("{SCRIPT}.{ending}")));
        if read(&one)? != read(&other)? {
            bail!("{} and {} differ: one script cannot serve both modules", one.display(), other.display());
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Builds the module and lets Node use it as the page does.
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

/// How many bytes travel when a server compresses as well as it can.
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
    fn brotli_finds_what_repeats() {
        assert!(brotli_bytes(&[7; 100_000]).expect("packs") < 100);
    }
}
