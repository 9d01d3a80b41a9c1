use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::python::Environment;
use crate::steps::{self, Step};
use crate::workspace::Workspace;
use crate::{checks, desktop, levels, module, process, wasm, web};

/// What the tests compare against.
const REFERENCE: Environment = Environment {
    name: "tests",
    packages: &["chess==1.11.2", "numpy==2.4.6", "onnx==1.23.2", "onnxruntime==1.31.1"],
};

/// Features that exist for the tests' sake.
const FEATURES: [&str; 2] = ["--features", "tabia-model/fuzzing,tabia-train/fuzzing"];

/// The crate outside the workspace.
const FUZZ_TARGETS: [&str; 2] = ["--manifest-path", "fuzz/Cargo.toml"];

/// Install what the tests need and run all of them
///
/// Examples:
///   cargo xtask test
///   cargo xtask test --only clippy --only tests
///   cargo xtask test --skip wasm
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Test {
    /// Run only this step; may be given again
    #[arg(long, value_name = "STEP")]
    only: Vec<Check>,
    /// Leave out this step; may be given again
    #[arg(long, value_name = "STEP", conflicts_with = "only")]
    skip: Vec<Check>,
    /// The compiler for the wasm steps [default: the first of these that is there or can be installed]
    #[arg(long, value_name = "TOOLCHAIN")]
    wasm: Option<wasm::Toolchain>,
}

/// The steps in the order they run: the quick ones first.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Check {
    /// The repository and its fixtures are within their sizes
    Size,
    /// Links between the documents and to files lead somewhere
    Links,
    /// Crates depend on each other only in the directions of ARCHITECTURE.md
    Directions,
    /// Every dependency's licence is compatible with GPL-3.0-or-later
    Licences,
    /// The sources are formatted
    Fmt,
    /// No lint of the workspace's table fires
    Clippy,
    /// The documentation builds without warnings
    Docs,
    /// The Python libraries some tests compare against are there
    Python,
    /// Unit and integration tests
    Tests,
    /// The examples in the documentation
    Doctests,
    /// The networks' tests and the program on processors with fewer instructions, and on aarch64, under qemu
    Levels,
    /// The tests of encoding, game, model and search, on wasm32 in Node
    Wasm,
    /// The module of the page, built as it is shipped and used in Node
    WasmModule,
    /// The page: types, build, size, and tests in a real browser
    Web,
}

impl Test {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let chosen = Check::value_variants().iter().copied().filter(|check| self.wants(*check));
        let steps: Vec<Step<'_>> = chosen
            .map(|check| {
                let value = check.to_possible_value().expect("no step is hidden from the command line");
                let name = value.get_name().to_owned();
                Step {
                    what: value.get_help().map(ToString::to_string).unwrap_or_default(),
                    alone: format!("cargo xtask test --only {name}"),
                    name,
                    action: Box::new(move || self.check(check, workspace)),
                }
            })
            .collect();
        if steps.is_empty() {
            bail!("every step is skipped");
        }
        steps::run(steps)
    }

    fn wants(&self, check: Check) -> bool {
        if self.only.is_empty() { !self.skip.contains(&check) } else { self.only.contains(&check) }
    }

    fn check(&self, check: Check, workspace: &Workspace) -> Result<()> {
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
                        // Nothing is linked here, so libFuzzer's C++ need not be compiled.
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
            Check::Tests => self.tests(workspace),
            Check::Doctests => {
                process::run(workspace.cargo("test").args(["--workspace", "--doc"]).args(FEATURES))
            }
            Check::Levels => levels::test(workspace, &FEATURES),
            Check::Wasm => wasm::test(workspace, self.wasm),
            Check::WasmModule => module::test(workspace, self.wasm),
            Check::Web => web::test(workspace),
        }
    }

    /// With `--skip python` the tests that need it leave themselves out; otherwise they must run.
    fn tests(&self, workspace: &Workspace) -> Result<()> {
        workspace.claim_target()?;
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
            tests.env("TABIA_PYTHON", python).env("TABIA_REQUIRE_PYTHON", "1");
        }
        process::run(&mut tests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(only: &[Check], skip: &[Check]) -> usize {
        let test = Test { only: only.to_vec(), skip: skip.to_vec(), wasm: None };
        Check::value_variants().iter().filter(|check| test.wants(**check)).count()
    }

    #[test]
    fn only_and_skip_choose_steps() {
        let all = Check::value_variants().len();
        assert_eq!(chosen(&[], &[]), all);
        assert_eq!(chosen(&[Check::Fmt, Check::Wasm], &[]), 2);
        assert_eq!(chosen(&[], &[Check::Wasm]), all - 1);
    }

    #[test]
    fn every_step_says_what_it_shows() {
        for check in Check::value_variants() {
            let value = check.to_possible_value().expect("not hidden");
            assert!(value.get_help().is_some(), "{}", value.get_name());
        }
    }
}
