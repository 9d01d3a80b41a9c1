//! The tests of the crates that reach the browser, compiled to wasm32 and run in Node.
//!
//! The tests are the crates' own `#[test]` functions under the standard test harness. They are built for
//! wasm32-wasip1, where the harness has arguments and a standard output, and the same crates are checked for
//! wasm32-unknown-unknown, which is what the browser gets. See docs/decisions/0001-xtask-and-wasm-tests.md.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;
use crate::{apt, process};

/// The crates that reach the browser.
const CRATES: [&str; 5] = ["tabia-encoding", "tabia-game", "tabia-model", "tabia-players", "tabia-search"];

/// Where tests run.
const TESTED: &str = "wasm32-wasip1";
/// What the browser runs.
pub(crate) const SHIPPED: &str = "wasm32-unknown-unknown";

/// The crate with instructions that not every browser has, and the features of the module for those that have them.
const RELAXED_CRATE: &str = "tabia-model";
pub(crate) const RELAXED: &str = "+simd128,+relaxed-simd";
/// The features of the module for every browser.
pub(crate) const PLAIN: &str = "+simd128";

/// Ends well where Node takes a module with one relaxed instruction.
const HAS_RELAXED: &str = "process.exit(WebAssembly.validate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, \
                           1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11])) ? 0 : 1)";
/// What makes an older Node take it, with the compiler that gets it right: the quick one of Node 20 multiplies quads wrongly.
const ALLOW_RELAXED: &[&str] = &["--experimental-wasm-relaxed-simd", "--no-liftoff"];

/// The program Node starts for each test binary, beside this crate's manifest.
const HOST: &str = "xtask/wasm_host.mjs";

/// A compiler for wasm32 with its standard library.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Toolchain {
    /// The usual compiler with rustup's wasm32 targets
    Rustup,
    /// Debian's compiler, its standard library built from Debian's sources
    Debian,
}

/// Debian's packages: the compiler, cargo, the library sources, the linker, the C library for WASI.
const DEBIAN_PACKAGES: [&str; 5] = ["rustc-web", "cargo-web", "rust-web-src", "lld-19", "wasi-libc"];
pub(crate) const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
pub(crate) const DEBIAN_CARGO: &str = "/usr/bin/cargo";
pub(crate) const DEBIAN_SOURCES: &str = "/usr/lib/rustlib/src/rust/library/std";
const DEBIAN_LINKER: &str = "/usr/bin/wasm-ld-19";
const DEBIAN_LIBC: &str = "/usr/lib/wasm32-wasi";

/// What the standard library calls to make and end threads.
const THREAD_FUNCTIONS: [&str; 6] = [
    "pthread_attr_destroy",
    "pthread_attr_init",
    "pthread_attr_setstacksize",
    "pthread_create",
    "pthread_detach",
    "pthread_join",
];

/// Builds and runs the tests; an error when one fails or a crate has none.
pub(crate) fn test(workspace: &Workspace, wanted: Option<Toolchain>) -> Result<()> {
    if !process::succeeds(Command::new("node").arg("--version")) {
        apt::install(&["nodejs"], "running wasm32 tests")?;
    }
    let toolchain = Toolchain::ready(workspace, wanted)?;

    let plain = Build { features: PLAIN, folder: "wasm", node: &[] };
    let check = toolchain.cargo(workspace, "check", SHIPPED, &plain)?;
    process::run(for_crates(check).arg("--lib"))?;

    let counts = workspace.target.join("wasm").join("counts.txt");
    if counts.exists() {
        std::fs::remove_file(&counts).with_context(|| format!("cannot remove {}", counts.display()))?;
    }
    let tests = toolchain.cargo(workspace, "test", TESTED, &plain)?;
    process::run(
        for_crates(tests).args(["--lib", "--tests", "--no-fail-fast"]).env("TABIA_WASM_COUNTS", &counts),
    )?;
    every_crate_ran(&std::fs::read_to_string(&counts).unwrap_or_default())?;
    test_relaxed(workspace, toolchain)
}

/// How a module is built and run.
pub(crate) struct Build {
    /// Of the processor.
    pub(crate) features: &'static str,
    /// In the target folder.
    pub(crate) folder: &'static str,
    /// Node's options.
    pub(crate) node: &'static [&'static str],
}

/// The same for the module with relaxed instructions, where Node takes it.
fn test_relaxed(workspace: &Workspace, toolchain: Toolchain) -> Result<()> {
    let Some(node) = node_options(RELAXED) else {
        println!("this Node has no relaxed SIMD: the module for browsers that have it is not tested");
        return Ok(());
    };
    let relaxed = Build { features: RELAXED, folder: "wasm-relaxed", node };
    let mut tests = toolchain.cargo(workspace, "test", TESTED, &relaxed)?;
    process::run(tests.args(["--package", RELAXED_CRATE, "--lib", "--test", "human"]))
}

/// What Node must be told to take a module with these features; none where this Node takes it in no way.
pub(crate) fn node_options(features: &str) -> Option<&'static [&'static str]> {
    if features != RELAXED {
        return Some(&[]);
    }
    let options: [&'static [&'static str]; 2] = [&[], ALLOW_RELAXED];
    options
        .into_iter()
        .find(|node| process::succeeds(Command::new("node").args(*node).args(["-e", HAS_RELAXED])))
}

fn for_crates(mut command: Command) -> Command {
    for name in CRATES {
        command.args(["--package", name]);
    }
    command
}

/// Reads the lines `package passed` the host wrote, one a test binary.
fn every_crate_ran(counts: &str) -> Result<()> {
    for name in CRATES {
        let passed: u32 = counts
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter(|(package, _)| *package == name)
            .filter_map(|(_, passed)| passed.parse::<u32>().ok())
            .sum();
        println!("{name}: {passed} tests passed on wasm32");
        if passed == 0 {
            bail!("no test of {name} ran on wasm32");
        }
    }
    Ok(())
}

/// What is there comes before what would have to be fetched.
fn first_available(workspace: &Workspace) -> Result<Toolchain> {
    let toolchains = [Toolchain::Rustup, Toolchain::Debian];
    if let Some(found) = toolchains.into_iter().find(|toolchain| toolchain.is_there(workspace)) {
        return Ok(found);
    }
    let mut reasons = Vec::new();
    for toolchain in toolchains {
        match toolchain.install(workspace) {
            Ok(()) => return Ok(toolchain),
            Err(reason) => reasons.push(format!("{reason:#}")),
        }
    }
    bail!(
        "no compiler for wasm32 ({}); either of these gives one:\n  rustup target add {TESTED} {SHIPPED}\n  \
         sudo apt-get install {}",
        reasons.join("; "),
        DEBIAN_PACKAGES.join(" "),
    )
}

impl Toolchain {
    /// The toolchain asked for, or the first that is there; installed if need be.
    pub(crate) fn ready(workspace: &Workspace, wanted: Option<Toolchain>) -> Result<Toolchain> {
        match wanted {
            Some(toolchain) if toolchain.is_there(workspace) => Ok(toolchain),
            Some(toolchain) => {
                toolchain.install(workspace)?;
                Ok(toolchain)
            }
            None => first_available(workspace),
        }
    }

    fn is_there(self, workspace: &Workspace) -> bool {
        match self {
            Self::Rustup => [TESTED, SHIPPED].into_iter().all(|target| {
                let mut rustc = Command::new("rustc");
                rustc.args(["--print", "target-libdir", "--target", target]).current_dir(&workspace.root);
                process::output(&mut rustc).is_ok_and(|folder| Path::new(folder.trim()).is_dir())
            }),
            Self::Debian => [DEBIAN_RUSTC, DEBIAN_CARGO, DEBIAN_SOURCES, DEBIAN_LINKER, DEBIAN_LIBC]
                .into_iter()
                .all(|path| Path::new(path).exists()),
        }
    }

    fn install(self, workspace: &Workspace) -> Result<()> {
        match self {
            Self::Rustup => process::run(
                Command::new("rustup").args(["target", "add", TESTED, SHIPPED]).current_dir(&workspace.root),
            ),
            Self::Debian => apt::install(&DEBIAN_PACKAGES, "compiling for wasm32"),
        }
    }

    /// A cargo command for `target` with its own build folder: the compilers differ from the usual ones.
    pub(crate) fn cargo(
        self,
        workspace: &Workspace,
        subcommand: &str,
        target: &str,
        build: &Build,
    ) -> Result<Command> {
        let host = workspace.root.join(HOST);
        let options: String = build.node.iter().map(|option| format!("'{option}', ")).collect();
        let runner =
            format!("target.{target}.runner=['node', '--no-warnings', {options}'{}']", host.display());
        let mut flags = vec![format!("-Ctarget-feature={}", build.features)];
        let mut command = match self {
            Self::Rustup => workspace.cargo(subcommand),
            Self::Debian => {
                let mut cargo = Command::new(DEBIAN_CARGO);
                cargo
                    .arg(subcommand)
                    .current_dir(&workspace.root)
                    .env("RUSTC", DEBIAN_RUSTC)
                    .env("RUSTC_BOOTSTRAP", "1") // for -Zbuild-std
                    .env_remove("LD_LIBRARY_PATH") // leads to the other compiler's libraries
                    .env_remove("RUSTUP_TOOLCHAIN")
                    .arg("-Zbuild-std=std,panic_abort,test")
                    .args(["--config", &format!("target.{target}.linker='{DEBIAN_LINKER}'")]);
                if target == TESTED {
                    flags.extend(debian_link_flags(workspace)?);
                }
                cargo
            }
        };
        let flags: Vec<String> = flags.iter().map(|flag| format!("'{flag}'")).collect();
        command
            .args(["--target", target])
            .args(["--config", &runner])
            .args(["--config", &format!("target.{target}.rustflags=[{}]", flags.join(", "))])
            .arg("--target-dir")
            .arg(workspace.target.join(build.folder));
        Ok(command)
    }
}

/// Links against Debian's WASI C library in place of the one rustup's target carries.
fn debian_link_flags(workspace: &Workspace) -> Result<Vec<String>> {
    // That library has no thread functions; the host gives them, and making a thread fails there as it does in
    // the browser.
    let folder: PathBuf = workspace.target.join("wasm");
    let names = folder.join("thread-functions.txt");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    std::fs::write(&names, THREAD_FUNCTIONS.join("\n"))
        .with_context(|| format!("cannot write {}", names.display()))?;
    Ok(vec![
        // The compiler looks here for the start-up objects too, and takes the right one for a program or a library.
        format!("-Lnative={DEBIAN_LIBC}"),
        format!("-Clink-arg=--allow-undefined-file={}", names.display()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_tests_is_an_error() {
        let all = "tabia-encoding 3\ntabia-encoding 0\ntabia-game 1\ntabia-model 2\ntabia-players 5\ntabia-search 4\n";
        assert!(every_crate_ran(all).is_ok());
        let error = every_crate_ran("tabia-encoding 3\ntabia-game 0\n").unwrap_err().to_string();
        assert_eq!(error, "no test of tabia-game ran on wasm32");
        assert!(every_crate_ran("").is_err());
    }
}
