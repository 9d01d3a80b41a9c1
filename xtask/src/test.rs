use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::python::Environment;
use crate::skipped::{self, SkipLog};
use crate::steps::{self, Step};
use crate::workspace::Workspace;
use crate::{checks, desktop, levels, module, process, python_package, wasm, web};

/// Reference packages of tests, and NVRTC, which compiles the GPU kernels without a GPU.
const REFERENCE: Environment = Environment {
    name: "tests",
    packages: &[
        "chess==1.11.2",
        "numpy==2.4.6",
        "onnx==1.23.2",
        "onnxruntime==1.31.1",
        "ai-edge-litert==2.3.0; sys_platform == 'linux'",
        "nvidia-cuda-nvrtc-cu12==12.9.86; sys_platform == 'linux'",
    ],
};

/// Library path on Linux.
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Features for tests only.
const FEATURES: [&str; 2] = ["--features", "tabia-model/fuzzing,tabia-train/fuzzing"];

/// The crate outside the workspace.
const FUZZ_TARGETS: [&str; 2] = ["--manifest-path", "fuzz/Cargo.toml"];

/// Install the requirements of the tests and run all of them
///
/// Examples:
///   cargo xtask test
///   cargo xtask test --only clippy --only tests
///   cargo xtask test --skip wasm
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Test {
    /// Run only this step; repeatable
    #[arg(long, value_name = "STEP")]
    only: Vec<Check>,
    /// Skip this step; repeatable
    #[arg(long, value_name = "STEP", conflicts_with = "only")]
    skip: Vec<Check>,
    /// Toolchain of the wasm steps [default: the first that is available or can be installed]
    #[arg(long, value_name = "TOOLCHAIN")]
    wasm: Option<wasm::Toolchain>,
}

/// The steps in order, quick ones first.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Check {
    /// The repository and its fixtures are within their sizes
    Size,
    /// Links between the documents and to files are valid
    Links,
    /// Crates depend on each other only in the directions of ARCHITECTURE.md
    Directions,
    /// Every dependency's licence is compatible with GPL-3.0-or-later
    Licences,
    /// The sources are formatted
    Fmt,
    /// Clippy has no warnings
    Clippy,
    /// The documentation builds without warnings
    Docs,
    /// The Python libraries that tests compare against are installed
    Python,
    /// Unit and integration tests
    Tests,
    /// The examples in the documentation
    Doctests,
    /// The Python package: its types, its tests, the examples of its documentation, the notebooks
    PythonPackage,
    /// The networks' tests and the program on processors with fewer instructions, and on aarch64, under qemu
    Levels,
    /// The tests of encoding, game, model and search, on wasm32 in Node
    Wasm,
    /// The page's WASM module, built for release and tested in Node
    WasmModule,
    /// The page: types, build, size, and tests in a real browser
    Web,
}

impl Test {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let log = SkipLog::begin(workspace)?;
        let chosen = Check::value_variants().iter().copied().filter(|check| self.wants(*check));
        let steps: Vec<Step<'_>> = chosen
            .map(|check| {
                let value = check.to_possible_value().expect("no step is hidden from the command line");
                let name = value.get_name().to_owned();
                let log = &log;
                Step {
                    what: value.get_help().map(ToString::to_string).unwrap_or_default(),
                    alone: format!("cargo xtask test --only {name}"),
                    name,
                    action: Box::new(move || self.check(check, workspace, log)),
                }
            })
            .collect();
        if steps.is_empty() {
            bail!("every step is skipped");
        }
        let outcome = steps::run(steps);
        log.report();
        outcome
    }

    fn wants(&self, check: Check) -> bool {
        if self.only.is_empty() { !self.skip.contains(&check) } else { self.only.contains(&check) }
    }

    fn check(&self, check: Check, workspace: &Workspace, log: &SkipLog) -> Result<()> {
        match check {
            Check::Size => checks::size::check(workspace),
            Check::Links => checks::links::check(workspace),
            Check::Directions => checks::directions::check(workspace),
            Check::Licences => checks::licences::check(workspace),
            Check::Fmt => {
                process::run(workspace.cargo("fmt").args(["--all", "--check"]))?;
                process::run(workspace.cargo("fmt").args(FUZZ_TARGETS).arg("--check"))?;
                process::run(workspace.cargo("fmt").args(desktop::MANIFEST).arg("--check"))
            }
            Check::Clippy => {
                process::run(
                    workspace
                        .cargo("clippy")
                        .args(["--workspace", "--all-targets"])
                        .args(FEATURES)
                        .args(["--", "-D", "warnings"]),
                )?;
                process::run(
                    workspace
                        .cargo("clippy")
                        .args(FUZZ_TARGETS)
                        .arg("--target-dir")
                        .arg(&workspace.target)
                        .args(["--", "-D", "warnings"])
                        // Nothing is linked, so libFuzzer is not compiled.
                        .env("CUSTOM_LIBFUZZER_PATH", "/not-linked/libfuzzer.a"),
                )
            }
            Check::Docs => process::run(
                workspace
                    .cargo("doc")
                    .args(["--workspace", "--no-deps"])
                    .args(FEATURES)
                    .env("RUSTDOCFLAGS", "-Dwarnings"),
            ),
            Check::Python => {
                let python = REFERENCE.ready(workspace)?;
                println!("{} in {}", REFERENCE.packages.join(", "), python.display());
                Ok(())
            }
            Check::Tests => self.tests(workspace, log),
            Check::Doctests => {
                process::run(workspace.cargo("test").args(["--workspace", "--doc"]).args(FEATURES))
            }
            Check::PythonPackage => python_package::test(workspace, log),
            Check::Levels => levels::test(workspace, &FEATURES),
            Check::Wasm => wasm::test(workspace, self.wasm),
            Check::WasmModule => module::test(workspace, self.wasm),
            Check::Web => web::test(workspace),
        }
    }

    /// With `--skip python`, tests that need it are skipped.
    fn tests(&self, workspace: &Workspace, log: &SkipLog) -> Result<()> {
        workspace.claim_target()?;
        skipped::install_programs();
        let python: Option<PathBuf> =
            if self.skip.contains(&Check::Python) { None } else { Some(REFERENCE.ready(workspace)?) };
        let nextest = process::succeeds(workspace.cargo("nextest").arg("--version"));
        let mut tests = workspace.cargo(if nextest { "nextest" } else { "test" });
        if nextest {
            tests.args(["run", "--no-fail-fast"]);
        } else {
            tests.arg("--no-fail-fast");
        }
        tests.args(["--workspace", "--lib", "--bins", "--tests", "--examples"]).args(FEATURES);
        if let Some(python) = python {
            if let Some(folders) = with_nvrtc(&python)? {
                tests.env(LIBRARY_PATH, folders);
            }
            tests.env("TABIA_PYTHON", python);
        }
        process::run(log.of(&mut tests))
    }
}

/// The library path with NVRTC's folder in the environment of `python`, if present.
fn with_nvrtc(python: &Path) -> Result<Option<OsString>> {
    let script = "import importlib.util as u; s = u.find_spec('nvidia'); print(s and s.submodule_search_locations[0] or '')";
    let packages = process::output(Command::new(python).args(["-c", script]))?;
    let folder = Path::new(packages.trim()).join("cuda_nvrtc/lib");
    if !folder.is_absolute() || !folder.is_dir() {
        return Ok(None);
    }
    let known = std::env::var_os(LIBRARY_PATH).unwrap_or_default();
    let known = std::env::split_paths(&known).filter(|folder| !folder.as_os_str().is_empty());
    Ok(Some(std::env::join_paths(std::iter::once(folder).chain(known))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(only: &[Check], skip: &[Check]) -> usize {
        let test = Test { only: only.to_vec(), skip: skip.to_vec(), wasm: None };
        Check::value_variants().iter().filter(|check| test.wants(**check)).count()
    }

    #[test]
    fn only_and_skip_select_steps() {
        let all = Check::value_variants().len();
        assert_eq!(chosen(&[], &[]), all);
        assert_eq!(chosen(&[Check::Fmt, Check::Wasm], &[]), 2);
        assert_eq!(chosen(&[], &[Check::Wasm]), all - 1);
    }

    #[test]
    fn every_step_has_a_description() {
        for check in Check::value_variants() {
            let value = check.to_possible_value().expect("not hidden");
            assert!(value.get_help().is_some(), "{}", value.get_name());
        }
    }
}
