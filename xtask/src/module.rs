//! Builds the page's WASM module: `apps/wasm` with its bindings for TypeScript.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

use crate::process;
use crate::wasm::{Build, PLAIN, SHIPPED, THREADS, Toolchain, node_options};
use crate::workspace::Workspace;

/// Output folder.
const FOLDER: &str = "web/src/wasm";

/// The test script for Node.
const TEST: &str = "xtask/module_test.mjs";

/// The folder of modules with an embedded model: where the demo looks for one.
const EMBEDDED_FOLDER: &str = "examples/embed/wasm";

/// The model that tests embed.
const EMBEDDED_EXAMPLE: &str = "models/challenge-s.onnx";

/// The script that opens the embedded model in Node.
const EMBEDDED_TEST: &str = "xtask/embedded_test.mjs";

/// The variant whose script loads all.
const SCRIPT: &str = "tabia";

/// The cargo feature of the variant that runs any network.
const ANY_NETWORK: &str = "rten";

/// How much time a build of the page may take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quality {
    /// One variant for every browser and network under all names, compiled quickly.
    Quick,
    /// What is shipped.
    Shipping,
}

impl Quality {
    /// The cargo profile.
    fn profile(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Shipping => "page",
        }
    }

    /// The variants that are compiled.
    fn variants(self) -> &'static [Variant] {
        match self {
            Self::Quick => &VARIANTS[..1],
            Self::Shipping => &VARIANTS,
        }
    }
}

/// A variant of the module.
struct Variant {
    /// Name of its files.
    name: &'static str,
    /// Target features.
    features: &'static str,
    /// Whether several threads can run it.
    threads: bool,
    /// Cargo features.
    cargo: &'static [&'static str],
}

/// The page starts with a small variant for the bundled networks and gets the one for any network when a file needs it. The
/// script of the first one loads all.
const VARIANTS: [Variant; 3] = [
    Variant { name: SCRIPT, features: PLAIN, threads: false, cargo: &[ANY_NETWORK] },
    Variant { name: "tabia_small", features: PLAIN, threads: false, cargo: &[] },
    Variant { name: "tabia_small_threads", features: THREADS, threads: true, cargo: &[] },
];

/// The module that turns networks into WebGPU programs: a package, a script and a module of its own.
const GPU: (&str, &str) = ("tabia-wasm-gpu", "tabia_gpu");

/// Build the page's WASM module into web/src/wasm, or one with a model inside into examples/embed/wasm
///
/// Examples:
///   cargo xtask wasm
///   cargo xtask wasm --embed models/value.safetensors
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Wasm {
    /// Toolchain [default: the first that is available or can be installed]
    #[arg(long, value_name = "TOOLCHAIN")]
    toolchain: Option<Toolchain>,

    /// Put a model file of any known format into the module, which then needs no download for it
    #[arg(long, value_name = "FILE")]
    embed: Option<PathBuf>,

    /// Output folder [default: web/src/wasm, or examples/embed/wasm with --embed]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Wasm {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let embedded = self.embed.as_deref().map(Embedded::open).transpose()?;
        let folder = match (&self.out, &embedded) {
            (Some(folder), _) => std::path::absolute(folder)?,
            (None, Some(_)) => workspace.root.join(EMBEDDED_FOLDER),
            (None, None) => folder(workspace),
        };
        // Another page loads one file, whatever the browser.
        let variants = if embedded.is_some() { &VARIANTS[..1] } else { &VARIANTS };
        build_variants(variants, Quality::Shipping, workspace, self.toolchain, &folder, embedded.as_ref())?;
        match embedded {
            Some(embedded) => embedded.test(workspace, &folder),
            None => build_gpu(Quality::Shipping, workspace, self.toolchain, &folder),
        }
    }
}

/// A model file to put into the module.
#[derive(Debug)]
struct Embedded {
    file: PathBuf,
    /// Its name in specs.
    name: String,
}

impl Embedded {
    fn open(file: &Path) -> Result<Embedded> {
        let size = file.metadata().with_context(|| format!("cannot read {}", file.display()))?;
        if !size.is_file() || size.len() == 0 {
            bail!("{} is not a model file", file.display());
        }
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Ok(Embedded { file: std::path::absolute(file)?, name: model_name(&name) })
    }

    /// Opens the model in Node, as only the module knows whether it can.
    fn test(&self, workspace: &Workspace, folder: &Path) -> Result<()> {
        let mut node = Command::new("node");
        node.arg("--no-warnings")
            .arg(workspace.root.join(EMBEDDED_TEST))
            .arg(folder.join(format!("{SCRIPT}.js")))
            .arg(folder.join(format!("{SCRIPT}_bg.wasm")));
        process::run(&mut node).with_context(|| format!("the module cannot use {}", self.file.display()))
    }
}

/// The name of a model file in specs: without its ending, as those of the bundled networks.
fn model_name(file: &str) -> String {
    let file = file.strip_suffix(".gz").unwrap_or(file);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    // Specs give other characters a meaning.
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    stem.chars().map(plain).collect()
}

/// Builds the module of the page.
pub(crate) fn build(workspace: &Workspace, toolchain: Option<Toolchain>, quality: Quality) -> Result<()> {
    let folder = folder(workspace);
    build_variants(quality.variants(), quality, workspace, toolchain, &folder, None)?;
    build_gpu(quality, workspace, toolchain, &folder)?;
    // The page looks for every variant.
    for variant in VARIANTS.iter().skip(quality.variants().len()) {
        copy(&module_of(&folder, SCRIPT), &module_of(&folder, variant.name))?;
    }
    Ok(())
}

/// The file of a variant.
fn module_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}_bg.wasm"))
}

/// Builds variants of the module into `folder` and prints their size.
fn build_variants(
    variants: &[Variant],
    quality: Quality,
    workspace: &Workspace,
    toolchain: Option<Toolchain>,
    folder: &Path,
    embedded: Option<&Embedded>,
) -> Result<()> {
    let toolchain = Toolchain::ready(workspace, toolchain)?;
    let apart = workspace.target.join("wasm").join("bindings");
    let profile = quality.profile();
    for variant in variants {
        let (toolchain, target) = if variant.threads {
            (toolchain.with_sources(workspace)?, "wasm-threads")
        } else {
            (toolchain, "wasm")
        };
        let build = Build { features: variant.features, folder: target, threads: variant.threads, node: &[] };
        let mut cargo = toolchain.cargo(workspace, "build", SHIPPED, &build)?;
        cargo.args(["--package", "tabia-wasm", "--lib", "--profile", profile, "--no-default-features"]);
        for feature in variant.cargo {
            cargo.args(["--features", feature]);
        }
        if let Some(Embedded { file, name }) = embedded {
            cargo.args(["--features", "embed"]);
            cargo.env("TABIA_EMBED_FILE", file).env("TABIA_EMBED_NAME", name);
        }
        process::run(&mut cargo)?;
        let compiled = workspace.target.join(target).join(SHIPPED).join(profile).join("tabia_wasm.wasm");
        let made = if variant.name == SCRIPT { folder.to_owned() } else { apart.join(variant.name) };
        let mut bindgen = Bindgen::new();
        // The module contains the name of its script, so variants share one.
        bindgen.input_path(&compiled).out_name(SCRIPT).typescript(true);
        bindgen.remove_name_section(true).remove_producers_section(true);
        bindgen.web(true)?;
        bindgen.generate(&made).with_context(|| format!("bindings for {}", compiled.display()))?;
        let module = module_of(folder, variant.name);
        if variant.name == SCRIPT {
            tell_size(&folder.join(format!("{SCRIPT}.js")))?;
        } else {
            if variant.threads {
                use_threaded_script(&made, folder)?;
            } else {
                same_script(&made, folder)?;
            }
            copy(&made.join(format!("{SCRIPT}_bg.wasm")), &module)?;
        }
        if quality == Quality::Shipping {
            tell_size(&module)?;
        }
    }
    Ok(())
}

/// Builds the module for WebGPU into `folder` and prints its size.
fn build_gpu(
    quality: Quality,
    workspace: &Workspace,
    toolchain: Option<Toolchain>,
    folder: &Path,
) -> Result<()> {
    let (package, name) = GPU;
    let toolchain = Toolchain::ready(workspace, toolchain)?;
    let build = Build { features: PLAIN, folder: "wasm", threads: false, node: &[] };
    let mut cargo = toolchain.cargo(workspace, "build", SHIPPED, &build)?;
    // Together with a variant of the other module that is there: with the features of that, nothing is compiled twice.
    cargo.args(["--package", "tabia-wasm", "--package", package, "--lib", "--no-default-features"]);
    let like = quality.variants().iter().rfind(|variant| variant.features == PLAIN);
    for feature in like.map_or(&[][..], |variant| variant.cargo) {
        cargo.args(["--features", &format!("tabia-wasm/{feature}")]);
    }
    process::run(cargo.args(["--profile", quality.profile()]))?;
    let compiled = workspace.target.join("wasm").join(SHIPPED).join(quality.profile());
    let compiled = compiled.join(package.replace('-', "_")).with_extension("wasm");
    let mut bindgen = Bindgen::new();
    bindgen.input_path(&compiled).out_name(name).typescript(true);
    bindgen.remove_name_section(true).remove_producers_section(true);
    bindgen.web(true)?;
    bindgen.generate(folder).with_context(|| format!("bindings for {}", compiled.display()))?;
    if quality == Quality::Shipping { tell_size(&module_of(folder, name)) } else { Ok(()) }
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

/// The import of a memory in the script of a variant with threads.
const MEMORY_IMPORT: &str = "        memory: memory || new WebAssembly.Memory(";

/// Replaces the script and the types in `folder` by those in `made`, of a variant with threads, which then load all variants.
fn use_threaded_script(made: &Path, folder: &Path) -> Result<()> {
    let read = |folder: &Path| {
        let file = folder.join(format!("{SCRIPT}.js"));
        std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
    };
    let (threaded, plain) = (read(made)?, read(folder)?);
    if interface(&threaded) != interface(&plain) {
        bail!("{} and {} differ: one script cannot load both modules", made.display(), folder.display());
    }
    // Only where a module asks for it: a browser without threads has no such memory.
    let script = threaded.lines().map(|line| match line.strip_prefix(MEMORY_IMPORT) {
        Some(rest) => {
            format!(
                "        get memory() {{ return memory ||= new WebAssembly.Memory({} }},\n",
                rest.replace("),", ");")
            )
        }
        None => format!("{line}\n"),
    });
    let script: String = script.collect();
    if !script.contains("get memory()") {
        bail!("the script of the module with threads does not make its memory where it is expected");
    }
    let file = folder.join(format!("{SCRIPT}.js"));
    std::fs::write(&file, script).with_context(|| format!("cannot write {}", file.display()))?;
    let [from, to] = [made, folder].map(|folder| folder.join(format!("{SCRIPT}.d.ts")));
    copy(&from, &to)
}

/// What a script exports to the page and to the module, without how it starts and where its memory is.
fn interface(script: &str) -> Vec<&str> {
    const IMPORTS: &str = "function __wbg_get_imports(";
    let mut lines = Vec::new();
    let mut among_imports = false;
    for line in script.lines() {
        if line.starts_with(IMPORTS) {
            among_imports = true;
        } else if among_imports && line == "}" {
            break;
        } else if !line.starts_with(MEMORY_IMPORT) {
            lines.push(line);
        }
    }
    lines
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// Builds the module, and one with a model inside, and tests them in Node.
pub(crate) fn test(workspace: &Workspace, toolchain: Option<Toolchain>) -> Result<()> {
    build(workspace, toolchain, Quality::Shipping)?;
    let folder = folder(workspace);
    for Variant { name, features, cargo, .. } in &VARIANTS {
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
            .arg(workspace.root.join("models"))
            .args(*cargo);
        process::run(&mut node)?;
    }
    let embedded = Embedded::open(&workspace.root.join(EMBEDDED_EXAMPLE))?;
    let folder = workspace.target.join("wasm").join("embedded");
    build_variants(&VARIANTS[..1], Quality::Shipping, workspace, toolchain, &folder, Some(&embedded))?;
    embedded.test(workspace, &folder)
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
    fn models_are_named_after_their_files() {
        for (file, name) in [
            ("value.safetensors", "value"),
            ("maia-1500.pb.gz", "maia-1500"),
            ("net-1.5.onnx", "net-1.5"),
            ("my net, 2.pt", "my-net--2"),
            ("quantised", "quantised"),
        ] {
            assert_eq!(model_name(file), name);
        }
    }

    #[test]
    fn only_files_with_content_are_embedded() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("net.onnx");
        assert!(Embedded::open(&file).is_err() && Embedded::open(folder.path()).is_err());
        std::fs::write(&file, "").unwrap();
        assert!(Embedded::open(&file).is_err());
        std::fs::write(&file, "a model").unwrap();
        assert_eq!(Embedded::open(&file).unwrap().name, "net");
    }

    #[test]
    fn one_script_loads_modules_with_and_without_threads() {
        let script = |memory: &str, name: &str| {
            format!(
                "class A {{}}\nfunction __wbg_get_imports({memory}) {{\n    a{name}: 1,\n{}    b: 2,\n}}\n{memory}\n",
                {
                    let import = format!("{MEMORY_IMPORT}{{initial:2,shared:true}}),\n");
                    if memory.is_empty() { String::new() } else { import }
                }
            )
        };
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [made, folder] = folders.each_ref().map(tempfile::TempDir::path);
        let write = |at: &Path, text: &str| {
            std::fs::write(at.join("tabia.js"), text).unwrap();
            std::fs::write(at.join("tabia.d.ts"), "types").unwrap();
        };
        write(folder, &script("", "x"));
        write(made, &script("memory", "x"));
        use_threaded_script(made, folder).unwrap();
        let text = std::fs::read_to_string(folder.join("tabia.js")).unwrap();
        let lazy = "get memory() { return memory ||= new WebAssembly.Memory({initial:2,shared:true}); },";
        assert!(text.contains(lazy), "{text}");
        write(folder, &script("", "y"));
        assert!(use_threaded_script(made, folder).unwrap_err().to_string().contains("differ"));
        write(folder, &script("", "x"));
        write(made, &script("", "x"));
        assert!(use_threaded_script(made, folder).unwrap_err().to_string().contains("memory"));
    }

    #[test]
    fn repetitions_compress() {
        assert!(brotli_bytes(&[7; 100_000]).expect("packs") < 100);
    }
}
