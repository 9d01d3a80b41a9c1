use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::steps::{self, Step};
use crate::workspace::Workspace;
use crate::{apt, process};

/// Maximum input size in bytes: enough for a small model.
const LONGEST_INPUT: u32 = 64 * 1024;
/// Memory limit in MiB and time limit per input in seconds.
const MEMORY_LIMIT: u32 = 1024;
const TIME_LIMIT: u32 = 10;

/// Instrumentation for libFuzzer: edge counters and comparison operands.
const COVERAGE: [&str; 7] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
];

/// Fuzz the parsers of untrusted input
///
/// Starts from fuzz/seeds and the small fixtures; an input that panics, hangs or takes more than 1 GiB fails the run and is
/// kept.
///
/// Examples:
///   cargo xtask fuzz
///   cargo xtask fuzz onnx --seconds 600
///   cargo xtask fuzz onnx --input target/fuzz/found/onnx/crash-...
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Fuzz {
    /// One of fuzz/targets [default: all]
    target: Option<String>,
    /// Seconds per target
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Run the target on a single input
    #[arg(long, value_name = "FILE", requires = "target")]
    input: Option<PathBuf>,
}

impl Fuzz {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let mut targets = targets(workspace)?;
        if let Some(wanted) = &self.target {
            if !targets.contains(wanted) {
                bail!("unknown fuzz target {wanted} (expected {})", targets.join(", "));
            }
            targets = vec![wanted.clone()];
        }
        let programs = build(workspace, &targets)?;
        if let Some(input) = &self.input {
            return process::run(Command::new(programs.join(&targets[0])).arg(input));
        }
        let steps = targets
            .iter()
            .map(|target| Step {
                name: target.clone(),
                what: format!("{} s", self.seconds),
                alone: format!("cargo xtask fuzz {target} --seconds {}", self.seconds),
                action: Box::new(|| self.fuzz(workspace, &programs, target)),
            })
            .collect();
        steps::run(steps)
    }

    fn fuzz(&self, workspace: &Workspace, programs: &Path, target: &str) -> Result<()> {
        let corpus = workspace.target.join("fuzz/corpus").join(target);
        let found = workspace.target.join("fuzz/found").join(target);
        for folder in [&corpus, &found] {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        for seed in starting_points(workspace, target)? {
            let name = seed.file_name().context("a seed has a name")?;
            std::fs::copy(&seed, corpus.join(name))
                .with_context(|| format!("cannot copy {}", seed.display()))?;
        }
        let before = files(&found)?;
        process::run(
            Command::new(programs.join(target))
                .arg(&corpus)
                .arg(format!("-max_total_time={}", self.seconds))
                .arg(format!("-max_len={LONGEST_INPUT}"))
                .arg(format!("-rss_limit_mb={MEMORY_LIMIT}"))
                .arg(format!("-timeout={TIME_LIMIT}"))
                .arg(format!("-artifact_prefix={}/", found.display()))
                .arg("-print_final_stats=1")
                // AddressSanitizer's quarantine would count against the limit.
                .env("ASAN_OPTIONS", "quarantine_size_mb=16:detect_leaks=0"),
        )
        .with_context(|| {
            let new = files(&found).unwrap_or_default().into_iter().filter(|file| !before.contains(file));
            let inputs: Vec<String> =
                new.map(|file| format!("  cargo xtask fuzz {target} --input {}", file.display())).collect();
            format!("the input is kept; to run it again:\n{}\n", inputs.join("\n"))
        })
    }
}

/// The initial corpus of a target: its seeds, and small fixtures of its format.
fn starting_points(workspace: &Workspace, target: &str) -> Result<Vec<PathBuf>> {
    let mut inputs = files(&workspace.root.join("fuzz/seeds").join(target))?;
    let endings: &[&str] = match target {
        "lc0" => &[".pb", ".pb.gz"],
        "onnx" => &[".onnx"],
        "open" => &[".onnx", ".pb", ".pb.gz", ".pt", ".safetensors", ".tflite"],
        "epd" | "puzzles" => &[".epd"],
        "evaluations" => &[".jsonl"],
        "pgn" => &[".pgn"],
        "safetensors" => &[".safetensors"],
        "tflite" => &[".tflite"],
        "torch" => &[".pt"],
        _ => &[],
    };
    for file in workspace.kept_files()? {
        let name = file.to_string_lossy();
        let path = workspace.root.join(&file);
        if file.starts_with("fixtures")
            && endings.iter().any(|ending| name.ends_with(ending))
            && path.metadata().is_ok_and(|data| data.len() <= u64::from(LONGEST_INPUT))
        {
            inputs.push(path);
        }
    }
    Ok(inputs)
}

/// The names of the targets: the files of fuzz/targets.
fn targets(workspace: &Workspace) -> Result<Vec<String>> {
    let sources = files(&workspace.root.join("fuzz/targets"))?;
    Ok(sources.iter().filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect())
}

/// The files of a folder in order; none if it does not exist.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

/// Builds the targets with libFuzzer's instrumentation, and AddressSanitizer if available; returns the folder of the
/// programs.
fn build(workspace: &Workspace, targets: &[String]) -> Result<PathBuf> {
    // libFuzzer itself is C++.
    if !process::succeeds(Command::new("c++").arg("--version")) {
        apt::install(&["g++"], "fuzzing")?;
    }
    let rustc = |arguments: &[&str]| {
        process::output(Command::new("rustc").args(arguments).current_dir(&workspace.root))
    };
    let version = rustc(&["--version", "--verbose"])?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc --version --verbose does not say its host")?;
    let library = PathBuf::from(rustc(&["--print", "target-libdir"])?.trim());

    let mut flags: Vec<&str> = COVERAGE.to_vec();
    let sanitizer = files(&library)?.iter().any(|file| file.to_string_lossy().ends_with("_rt.asan.a"));
    if sanitizer {
        flags.push("-Zsanitizer=address");
    }
    let folder = workspace.target.join("fuzz");
    let mut cargo = workspace.cargo("build");
    cargo
        .args(["--release", "--manifest-path", "fuzz/Cargo.toml", "--target", host, "--target-dir"])
        .arg(&folder)
        .env("RUSTC_BOOTSTRAP", "1") // instrumentation is not stable yet
        .env("RUSTFLAGS", flags.join(" "));
    for target in targets {
        cargo.args(["--bin", target]);
    }
    process::run(&mut cargo)?;
    Ok(folder.join(host).join("release"))
}
