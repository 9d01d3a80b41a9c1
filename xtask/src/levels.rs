//! Tests of networks and of the program on other processors, emulated by qemu.
//!
//! Tests run each of our kernels that this processor supports. Kernel selection of libraries, and behaviour with fewer
//! instructions, can only be tested on such a processor.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{Artifact, Message};
use serde_json::Value;

use crate::workspace::Workspace;
use crate::{apt, cross, process};

/// A processor to emulate.
struct Processor {
    target: Target,
    /// qemu's name, without features that qemu does not support.
    cpu: &'static str,
    /// The expected kernel of 8-bit products in `tabia model info`.
    int8: &'static str,
    /// The expected kernel of transformers.
    transformer: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    X86_64,
    Aarch64,
}

const PROCESSORS: [Processor; 4] = [
    Processor {
        target: Target::X86_64,
        cpu: "Haswell,-hle,-rtm,-invpcid,-pcid,-tsc-deadline,-x2apic",
        int8: "x86_64-u8i8i32-avx2 with split weights",
        transformer: "AVX2",
    },
    Processor { target: Target::X86_64, cpu: "Nehalem", int8: "generic-u8i8i32", transformer: "scalar" },
    Processor {
        target: Target::Aarch64,
        cpu: "max",
        int8: "aarch64-u8i8i32-i8mm",
        transformer: "NEON dot product",
    },
    Processor {
        target: Target::Aarch64,
        cpu: "cortex-a57",
        int8: "aarch64-u8i8i32-mlal",
        transformer: "NEON",
    },
];

/// A test binary, and filters of its tests that evaluate networks; all without a filter.
struct Tests {
    package: &'static str,
    name: &'static str,
    only: &'static [&'static str],
    /// Whether it is built for other targets.
    travels: bool,
}

const TESTS: [Tests; 8] = [
    Tests {
        package: "tabia-runtime",
        name: "tabia_runtime",
        only: &["accumulator::", "transformer::"],
        travels: true,
    },
    Tests { package: "tabia-runtime", name: "int8", only: &[], travels: true },
    Tests { package: "tabia-runtime", name: "onnx_runtime", only: &[], travels: true },
    Tests { package: "tabia-runtime", name: "onnx_operators", only: &[], travels: true },
    Tests {
        package: "tabia-model",
        name: "positions",
        only: &["onnx_networks_match_onnxruntime"],
        travels: true,
    },
    Tests { package: "tabia-model", name: "perspective", only: &[], travels: true },
    Tests { package: "tabia-model", name: "maia", only: &["every_kernel_level"], travels: true },
    // Training does not run on other targets, and is slow to build.
    Tests {
        package: "tabia-train",
        name: "train",
        only: &["exports::convolutions_are_in_8_bits_too"],
        travels: false,
    },
];

/// A network to evaluate, and the tolerance of its outputs.
struct Network {
    file: &'static str,
    tolerance: f64,
}

const NETWORKS: [Network; 4] = [
    // Integers, and floats in a fixed order.
    Network { file: "fixtures/models/human.safetensors", tolerance: 0.0 },
    Network { file: "fixtures/models/challenge-mlp.onnx", tolerance: 0.0 },
    // Floats around integer products.
    Network { file: "fixtures/models/quantised-transformer.onnx", tolerance: 1e-5 },
    Network { file: "fixtures/models/conv-net.onnx", tolerance: 1e-5 },
];

/// The networks that show the kernels of integer products and of transformers.
const INT8_NETWORK: &str = "fixtures/models/quantised-transformer.onnx";
const TRANSFORMER: &str = "fixtures/models/human.safetensors";

/// Runs the tests and the program on every processor, and compares the outputs with this one.
pub(crate) fn test(workspace: &Workspace, features: &[&str]) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!("other processors are emulated on x86-64 Linux only; use --skip levels");
    }
    if PROCESSORS.iter().any(|processor| !process::succeeds(processor.emulator().arg("--version"))) {
        apt::install(&["qemu-user"], "emulating other processors")?;
    }
    workspace.claim_target()?;
    let here = Build::here(workspace, features)?;
    let there = Build::aarch64(workspace)?;
    let expected = here.answers(workspace, None)?;
    for processor in &PROCESSORS {
        let build = match processor.target {
            Target::X86_64 => &here,
            Target::Aarch64 => &there,
        };
        build.run_tests(workspace, processor)?;
        let found = build.answers(workspace, Some(processor))?;
        for (network, (expected, found)) in NETWORKS.iter().zip(expected.iter().zip(&found)) {
            let file = network.file;
            compare(&numbers(expected), &numbers(found), network.tolerance)
                .with_context(|| format!("{file} on {}", processor.name()))?;
        }
        processor.is_detected(&found)?;
        println!("{}: outputs match", processor.name());
    }
    Ok(())
}

impl Processor {
    /// qemu as this processor, without a program.
    fn emulator(&self) -> Command {
        let mut command = match self.target {
            Target::X86_64 => Command::new("qemu-x86_64"),
            Target::Aarch64 => {
                let mut command = Command::new("qemu-aarch64");
                command.args(["-L", cross::SYSTEM_ROOT]);
                command
            }
        };
        command.args(["-cpu", self.cpu]);
        command
    }

    fn name(&self) -> String {
        let arch = match self.target {
            Target::X86_64 => "x86-64",
            Target::Aarch64 => "aarch64",
        };
        format!("{arch} {}", self.cpu.split(',').next().unwrap_or_default())
    }

    /// Checks that the program selects the expected kernels.
    fn is_detected(&self, answers: &[Value]) -> Result<()> {
        for (file, kernel) in [(INT8_NETWORK, self.int8), (TRANSFORMER, self.transformer)] {
            let answer = NETWORKS.iter().zip(answers).find(|(network, _)| network.file == file);
            let runtime = answer.and_then(|(_, answer)| answer["runtime"].as_str()).unwrap_or_default();
            if !runtime.ends_with(kernel) {
                bail!("{file} ran on {runtime:?} on {}, not on {kernel}", self.name());
            }
        }
        Ok(())
    }
}

/// The program and test binaries for one target.
struct Build {
    program: PathBuf,
    /// By the package's folder and the name.
    tests: BTreeMap<(PathBuf, String), PathBuf>,
}

impl Build {
    /// For this machine, with the features and the target folder of the other tests.
    fn here(workspace: &Workspace, features: &[&str]) -> Result<Build> {
        let mut tests = workspace.cargo("test");
        tests.args(["--no-run", "--workspace", "--lib"]).args(features);
        for test in TESTS.iter().filter(|test| !test.is_unit()) {
            tests.args(["--test", test.name]);
        }
        let mut program = workspace.cargo("build");
        program.args(["--workspace", "--bin", "tabia"]).args(features);
        Build::from(tests, program)
    }

    fn aarch64(workspace: &Workspace) -> Result<Build> {
        let toolchain = cross::Toolchain::ready(workspace)?;
        let mut tests = toolchain.cargo(workspace, "test");
        tests.arg("--no-run");
        for test in TESTS.iter().filter(|test| test.travels) {
            tests.args(["--package", test.package]);
            if test.is_unit() {
                tests.arg("--lib");
            } else {
                tests.args(["--test", test.name]);
            }
        }
        let mut program = toolchain.cargo(workspace, "build");
        program.args(["--package", "tabia", "--bin", "tabia"]);
        Build::from(tests, program)
    }

    fn from(mut tests: Command, mut program: Command) -> Result<Build> {
        let key = |artifact: Artifact| {
            let folder = artifact.manifest_path.parent()?.to_owned().into_std_path_buf();
            Some(((folder, artifact.target.name), artifact.executable?.into_std_path_buf()))
        };
        let tests = artifacts(&mut tests)?.into_iter().filter_map(key).collect();
        let program = artifacts(&mut program)?.into_iter().find_map(|artifact| artifact.executable);
        let program = program.context("cargo built no program called tabia")?.into_std_path_buf();
        Ok(Build { program, tests })
    }

    fn run_tests(&self, workspace: &Workspace, processor: &Processor) -> Result<()> {
        for tests in TESTS.iter().filter(|tests| tests.travels || processor.target == Target::X86_64) {
            let folder = workspace.root.join("crates").join(tests.package.trim_start_matches("tabia-"));
            let key = (folder.clone(), tests.name.to_owned());
            let binary =
                self.tests.get(&key).with_context(|| format!("cargo built no test {}", tests.name))?;
            let mut command = processor.emulator();
            command.arg(binary).args(tests.only).current_dir(folder);
            let said = process::output(&mut command).with_context(|| {
                format!("tests {} of {} on {}", tests.name, tests.package, processor.name())
            })?;
            match passed(&said) {
                0 => bail!("no test of {} ran on {}: {said}", tests.name, processor.name()),
                count => println!("{}: {count} tests of {} passed", processor.name(), tests.name),
            }
        }
        Ok(())
    }

    /// The program's outputs for each network, here or on another processor.
    fn answers(&self, workspace: &Workspace, processor: Option<&Processor>) -> Result<Vec<Value>> {
        let answer = |network: &Network| {
            let mut command = match processor {
                Some(processor) => {
                    let mut emulator = processor.emulator();
                    emulator.arg(&self.program);
                    emulator
                }
                None => Command::new(&self.program),
            };
            command.args(["model", "info", "--json", network.file]).current_dir(&workspace.root);
            let said = process::output(&mut command)?;
            serde_json::from_str(&said).with_context(|| format!("what tabia says of {}", network.file))
        };
        NETWORKS.iter().map(answer).collect()
    }
}

impl Tests {
    fn is_unit(&self) -> bool {
        self.name == self.package.replace('-', "_")
    }
}

/// Runs a cargo command and returns its artifacts.
fn artifacts(cargo: &mut Command) -> Result<Vec<Artifact>> {
    cargo.args(["--message-format", "json-render-diagnostics"]).stderr(Stdio::inherit());
    let said = process::output(cargo)?;
    let messages = Message::parse_stream(said.as_bytes());
    let built = |message| match message {
        Ok(Message::CompilerArtifact(artifact)) => Some(artifact),
        _ => None,
    };
    Ok(messages.filter_map(built).filter(|artifact| artifact.executable.is_some()).collect())
}

/// The number of passed tests in the harness's output.
fn passed(said: &str) -> u32 {
    let count = |line: &str| line.strip_prefix("test result: ok. ")?.split(' ').next()?.parse::<u32>().ok();
    said.lines().filter_map(count).sum()
}

/// The numbers in the program's output, each with its path.
fn numbers(answer: &Value) -> Vec<(String, f64)> {
    fn collect(path: &str, value: &Value, into: &mut Vec<(String, f64)>) {
        match value {
            Value::Number(number) => into.extend(number.as_f64().map(|number| (path.to_owned(), number))),
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    collect(&format!("{path}/{index}"), item, into);
                }
            }
            // Moves are identified by name, as equally likely ones may swap.
            Value::Object(fields) => {
                let name = fields.get("san").and_then(Value::as_str).unwrap_or_default();
                for (key, item) in fields {
                    collect(&format!("{path}/{name}{key}"), item, into);
                }
            }
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }
    let mut found = Vec::new();
    collect("positions", &answer["positions"], &mut found);
    found
}

fn compare(expected: &[(String, f64)], found: &[(String, f64)], tolerance: f64) -> Result<()> {
    if expected.is_empty() || expected.len() != found.len() {
        bail!("{} numbers, {} here", found.len(), expected.len());
    }
    for ((path, expected), (other_path, found)) in expected.iter().zip(found) {
        let far = (expected - found).abs() > tolerance * expected.abs().max(1.0);
        if path != other_path || far {
            bail!("{other_path} is {found}; here {path} is {expected}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passed_tests_are_counted() {
        let said = "running 2 tests\ntest result: ok. 2 passed; 0 failed\nrunning 0 tests\ntest result: ok. 0 passed\n";
        assert_eq!(passed(said), 2);
        assert_eq!(passed("test result: FAILED. 3 passed; 1 failed"), 0);
    }

    #[test]
    fn outputs_are_compared_number_by_number() {
        let answer = |cp: f64, probability: f64| {
            serde_json::json!({"runtime": "any", "positions": [
                {"label": "start", "score": cp, "moves": [{"san": "e4", "probability": probability}]}
            ]})
        };
        let expected = numbers(&answer(10.0, 0.5));
        assert_eq!(expected.len(), 2);
        assert!(compare(&expected, &numbers(&answer(10.0, 0.5)), 0.0).is_ok());
        assert!(compare(&expected, &numbers(&answer(10.00001, 0.5)), 1e-5).is_ok());
        let error = compare(&expected, &numbers(&answer(10.0, 0.6)), 1e-5).unwrap_err().to_string();
        assert_eq!(
            error,
            "positions/0/moves/0/e4probability is 0.6; here positions/0/moves/0/e4probability is 0.5"
        );
        assert!(compare(&[], &[], 0.0).is_err());
    }
}
