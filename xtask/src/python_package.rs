//! The Python package: its wheel, and its tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process;
use crate::python::Environment;
use crate::skipped::SkipLog;
use crate::workspace::Workspace;

/// What builds wheels.
const MATURIN: Environment = Environment { name: "maturin", packages: &["maturin==1.16.0"] };

/// What the tests need. PyTorch is not among it, because it is gigabytes large; `TABIA_TORCH` names the site-packages of one.
const PACKAGE: Environment = Environment {
    name: "package",
    packages: &[
        "chess==1.11.2",
        "mypy==2.4.1",
        "numpy==2.4.6",
        "pandas==3.1.1",
        "polars==2.1.0",
        "pyarrow==26.0.1",
        "pytest==9.2.0",
    ],
};

/// Where the package is.
const FOLDER: &str = "apps/python";

/// The library, with the features that its dependencies have in the tests of the whole workspace, so that nothing is built twice:
/// the other packages decide them, and are not built.
const BUILD: [&str; 13] = [
    "--lib",
    "--package",
    "tabia-python",
    "--package",
    "tabia",
    "--package",
    "tabia-lab",
    "--package",
    "xtask",
    "--package",
    "tabia-model",
    "--features",
    "tabia-model/fuzzing",
];

/// Build the wheel of the Python package
///
/// Examples:
///   cargo xtask python
///   cargo xtask python --quick
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Wheel {
    /// Build faster: nearly as fast a wheel
    #[arg(long)]
    quick: bool,
    /// Folder of the wheel [default: wheels in the target folder]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

impl Wheel {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let out = self.out.clone().unwrap_or_else(|| workspace.target.join("wheels"));
        let wheel = wheel(workspace, &out, if self.quick { "quick" } else { "release" })?;
        let size = wheel.metadata().with_context(|| format!("cannot read {}", wheel.display()))?.len();
        println!("{}: {} kB\ninstall it with: pip install {0}", wheel.display(), size / 1000);
        Ok(())
    }
}

/// Builds the wheel.
fn wheel(workspace: &Workspace, out: &Path, profile: &str) -> Result<PathBuf> {
    let python = MATURIN.ready(workspace)?;
    // Of its own, so that what is found there afterwards is the new one.
    let fresh = out.join("new");
    if fresh.exists() {
        std::fs::remove_dir_all(&fresh).with_context(|| format!("cannot remove {}", fresh.display()))?;
    }
    process::run(
        Command::new(python)
            .args(["-m", "maturin", "build", "--locked", "--profile", profile, "--manifest-path"])
            .arg(workspace.root.join(FOLDER).join("Cargo.toml"))
            .arg("--out")
            .arg(&fresh)
            .arg("--target-dir")
            .arg(&workspace.target),
    )?;
    let entries = std::fs::read_dir(&fresh).with_context(|| format!("cannot read {}", fresh.display()))?;
    for entry in entries {
        let built = entry?.path();
        if let (Some("whl"), Some(name)) = (built.extension().and_then(|e| e.to_str()), built.file_name()) {
            let wheel = out.join(name);
            std::fs::rename(&built, &wheel).with_context(|| format!("cannot write {}", wheel.display()))?;
            std::fs::remove_dir_all(&fresh).with_context(|| format!("cannot remove {}", fresh.display()))?;
            return Ok(wheel);
        }
    }
    bail!("maturin wrote no wheel into {}", fresh.display())
}

/// Builds the package in the dev profile, installs it in its environment and tests it there.
pub(crate) fn test(workspace: &Workspace, log: &SkipLog) -> Result<()> {
    process::run(workspace.cargo("build").args(BUILD))?;
    let python = PACKAGE.ready(workspace)?;
    install(workspace, &python, "debug")?;
    let config = workspace.root.join(FOLDER).join("pyproject.toml");
    let module = |name: &str| {
        let mut command = Command::new(&python);
        command.args(["-m", name]).current_dir(&workspace.root);
        command
    };
    let cache = workspace.target.join("mypy");
    let types = |subject: &[&str]| {
        let mut mypy = module("mypy");
        mypy.arg("--config-file").arg(&config).arg("--cache-dir").arg(&cache).args(subject);
        mypy
    };
    process::run(&mut types(&["-p", "tabia"]))?;
    // The stub says what is there.
    process::run(
        module("mypy.stubtest")
            .args(["--concise", "--ignore-disjoint-bases", "tabia._native"])
            .env("MYPY_CACHE_DIR", &cache),
    )?;
    let mut tests = module("pytest");
    tests
        .args(["-q", "-p", "no:cacheprovider", "--durations=5"])
        .arg(workspace.root.join(FOLDER).join("tests"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    process::run(log.of(&mut tests))
}

/// Copies the package and the library built in a profile's folder to where the environment finds them.
pub(crate) fn install(workspace: &Workspace, python: &Path, profile: &str) -> Result<()> {
    let folder = workspace.target.join("python-package").join(profile);
    let package = folder.join("tabia");
    if package.exists() {
        std::fs::remove_dir_all(&package).with_context(|| format!("cannot remove {}", package.display()))?;
    }
    std::fs::create_dir_all(&package).with_context(|| format!("cannot make {}", package.display()))?;
    let sources = workspace.root.join(FOLDER).join("python/tabia");
    let entries =
        std::fs::read_dir(&sources).with_context(|| format!("cannot read {}", sources.display()))?;
    for entry in entries {
        let path = entry?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            copy(&path, &package.join(name))?;
        }
    }
    let (built, module) = match std::env::consts::OS {
        "windows" => ("_native.dll", "_native.pyd"),
        "macos" => ("lib_native.dylib", "_native.abi3.so"),
        _ => ("lib_native.so", "_native.abi3.so"),
    };
    copy(&workspace.target.join(profile).join(built), &package.join(module))?;
    let where_to = "import sysconfig; print(sysconfig.get_path('purelib'))";
    let site = process::output(Command::new(python).args(["-c", where_to]))?;
    let link = Path::new(site.trim()).join("tabia.pth");
    std::fs::write(&link, folder.display().to_string())
        .with_context(|| format!("cannot write {}", link.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to)
        .map(drop)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}
