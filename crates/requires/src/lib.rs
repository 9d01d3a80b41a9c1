//! Optional requirements of tests, which are skipped without them.
//!
//! A test returns early if a requirement is missing:
//!
//! ```
//! let Some(book) = tabia_requires::shared_data("books/8moves_v3.pgn.zip") else { return };
//! ```
//!
//! A skipped test passes, as Rust's test harness has no third outcome, but prints a line to standard error, past the
//! harness's capture, and adds a line to the file `TABIA_SKIP_LOG`, which `cargo xtask test` summarises. With
//! `TABIA_REQUIRE_ALL=1` it fails instead, unless the requirement is [of the machine](of_machine).
#![forbid(unsafe_code)]

use std::env;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Fails a test that would be skipped.
const REQUIRE_ALL: &str = "TABIA_REQUIRE_ALL";
/// The log of skipped tests.
const SKIP_LOG: &str = "TABIA_SKIP_LOG";
/// The Python interpreter of reference packages.
const PYTHON: &str = "TABIA_PYTHON";
/// The path in Debian.
const STOCKFISH: &str = "/usr/games/stockfish";

/// A file of the shared data beside the checkout, in `shared/data`.
#[track_caller]
pub fn shared_data(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
    installed(&format!("shared data ({name})"), path.exists().then_some(path))
}

/// The committed inputs of a fuzz target.
///
/// # Panics
/// If there are none.
pub fn fuzz_seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let entries = std::fs::read_dir(folder).expect("every target has a folder of seeds");
    let seeds: Vec<_> = entries
        .map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a readable seed"))
        .collect();
    assert!(!seeds.is_empty(), "no seeds for {target}");
    seeds
}

/// Stockfish.
#[track_caller]
pub fn stockfish() -> Option<&'static str> {
    installed("Stockfish", Path::new(STOCKFISH).exists().then_some(STOCKFISH))
}

/// A Python that can import `modules`: the one `TABIA_PYTHON` names, else `python3`.
#[track_caller]
pub fn python(modules: &[&str]) -> Option<PathBuf> {
    let python = env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
    let import = if modules.is_empty() { String::new() } else { format!("import {}", modules.join(", ")) };
    let found = succeeds(&python, &["-c", &import]);
    let what = match modules {
        [] => "Python".to_owned(),
        modules => format!("Python with {}", modules.join(" and ")),
    };
    installed(&what, found.then(|| PathBuf::from(python)))
}

/// A program that is in the path.
#[track_caller]
pub fn program(name: &'static str) -> Option<&'static str> {
    installed(name, succeeds(OsStr::new(name), &["--version"]).then_some(name))
}

/// Anything else that can be installed.
#[track_caller]
pub fn installed<T>(what: &str, found: Option<T>) -> Option<T> {
    if found.is_none() {
        assert!(!all_required(), "this test needs {what}, and {REQUIRE_ALL} is set");
        skip("missing", what);
    }
    found
}

/// A property of the machine, such as a GPU. Tests without it are skipped even with `TABIA_REQUIRE_ALL=1`.
pub fn of_machine<T>(what: &str, found: Option<T>) -> Option<T> {
    if found.is_none() {
        skip("machine", what);
    }
    found
}

fn all_required() -> bool {
    env::var_os(REQUIRE_ALL).is_some_and(|value| !value.is_empty() && value != "0")
}

fn succeeds(program: &OsStr, arguments: &[&str]) -> bool {
    let silent = || Stdio::null();
    let mut command = Command::new(program);
    command.args(arguments).stdin(silent()).stdout(silent()).stderr(silent());
    command.status().is_ok_and(|status| status.success())
}

/// Says which test was skipped, and why.
fn skip(kind: &str, what: &str) {
    let test = test();
    // Not `eprintln!`, which the harness captures.
    drop(writeln!(stderr(), "skipped: {test} needs {what}"));
    let Some(log) = env::var_os(SKIP_LOG) else { return };
    let file = OpenOptions::new().append(true).create(true).open(&log);
    // A single write, as tests run in parallel.
    let noted = file.and_then(|mut file| file.write_all(format!("{kind}\t{what}\t{test}\n").as_bytes()));
    assert!(noted.is_ok(), "{}: {noted:?}", log.display());
}

/// The name of the current test, with its binary if known.
fn test() -> String {
    let variable = |name| env::var_os(name)?.into_string().ok();
    if let (Some(binary), Some(test)) = (variable("NEXTEST_BINARY_ID"), variable("NEXTEST_TEST_NAME")) {
        return format!("{binary} {test}");
    }
    // The harness names its threads after their tests; it has none where it runs one test at a time.
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let binary = env::current_exe().ok().and_then(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    match binary {
        // Without the hash that cargo adds.
        Some(binary) => format!("{} {test}", binary.rsplit_once('-').map_or(&*binary, |(name, _)| name)),
        None => test,
    }
}
