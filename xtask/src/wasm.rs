//! Tests of the crates of the WASM module, compiled to wasm32 and run in Node.
//!
//! The tests are the crates' own `#[test]` functions under the standard test harness. They are built for
//! wasm32-wasip1, where the harness has arguments and a standard output, and the same crates are checked for
//! wasm32-unknown-unknown, which is what the browser gets. See docs/decisions/0001-xtask-and-wasm-tests.md.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::cross::debian_cargo;
use crate::workspace::Workspace;
use crate::{apt, process};

/// The crates of the WASM module.
const CRATES: [&str; 9] = [
    "tabia-encoding",
    "tabia-game",
    "tabia-model",
    "tabia-onnx",
    "tabia-players",
    "tabia-practice",
    "tabia-runtime",
    "tabia-search",
    "tabia-threads",
];

/// The target of tests.
const TESTED: &str = "wasm32-wasip1";
/// The target of the browser.
pub(crate) const SHIPPED: &str = "wasm32-unknown-unknown";

/// The crate with relaxed SIMD, the crate and test that run a network on it, and the target features of that variant.
const RELAXED_CRATE: &str = "tabia-runtime";
const RELAXED_TEST: (&str, &str) = ("tabia-model", "human");
pub(crate) const RELAXED: &str = "+simd128,+relaxed-simd";
/// The target features of the variant for every browser.
pub(crate) const PLAIN: &str = "+simd128";
/// The target features of the variant with threads, which every browser with relaxed SIMD has.
pub(crate) const THREADS: &str = "+simd128,+relaxed-simd,+atomics,+bulk-memory,+mutable-globals";
/// The most memory of that variant in bytes. Browsers reserve the addresses when a memory is made.
const SHARED_MEMORY: u64 = 1 << 30;
/// What the linker is asked for: a memory that the workers bring, and what the bindings need to start a thread in it.
const THREAD_LINK_FLAGS: [&str; 7] = [
    "--shared-memory",
    "--import-memory",
    "--export=__heap_base",
    "--export=__wasm_init_tls",
    "--export=__tls_size",
    "--export=__tls_align",
    "--export=__tls_base",
];

/// Script that succeeds if Node supports relaxed SIMD.
const HAS_RELAXED: &str = "process.exit(WebAssembly.validate(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, \
                           1, 123, 3, 2, 1, 0, 10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11])) ? 0 : 1)";
/// Options of older versions of Node; the baseline compiler of Node 20 has a bug in relaxed dot products.
const ALLOW_RELAXED: &[&str] = &["--experimental-wasm-relaxed-simd", "--no-liftoff"];

/// The script that runs a test binary in Node.
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

/// Thread functions called by the standard library.
const THREAD_FUNCTIONS: [&str; 6] = [
    "pthread_attr_destroy",
    "pthread_attr_init",
    "pthread_attr_setstacksize",
    "pthread_create",
    "pthread_detach",
    "pthread_join",
];

/// Builds and runs the tests; an error if one fails or a crate has none.
pub(crate) fn test(workspace: &Workspace, wanted: Option<Toolchain>) -> Result<()> {
    if !process::succeeds(Command::new("node").arg("--version")) {
        apt::install(&["nodejs"], "running wasm32 tests")?;
    }
    let toolchain = Toolchain::ready(workspace, wanted)?;

    let plain = Build { features: PLAIN, folder: "wasm", threads: false, node: &[] };
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
    /// Target features.
    pub(crate) features: &'static str,
    /// Name of the target folder.
    pub(crate) folder: &'static str,
    /// Whether several threads can run it, for which the standard library is built as well.
    pub(crate) threads: bool,
    /// Node's options.
    pub(crate) node: &'static [&'static str],
}

/// The same for the variant with relaxed SIMD, if Node supports it.
fn test_relaxed(workspace: &Workspace, toolchain: Toolchain) -> Result<()> {
    let Some(node) = node_options(RELAXED) else {
        println!("this Node has no relaxed SIMD: the module for browsers that have it is not tested");
        return Ok(());
    };
    let relaxed = Build { features: RELAXED, folder: "wasm-relaxed", threads: false, node };
    let mut kernels = toolchain.cargo(workspace, "test", TESTED, &relaxed)?;
    process::run(kernels.args(["--package", RELAXED_CRATE, "--lib"]))?;
    let mut network = toolchain.cargo(workspace, "test", TESTED, &relaxed)?;
    let (package, test) = RELAXED_TEST;
    process::run(network.args(["--package", package, "--test", test]))
}

/// Node's options for these target features; `None` if unsupported.
pub(crate) fn node_options(features: &str) -> Option<&'static [&'static str]> {
    if features == PLAIN {
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

/// Reads the lines `package passed`, one per test binary.
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

/// Installed toolchains first.
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
    /// The requested toolchain, or the first that is available; installed if needed.
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

    /// The same with the sources of its standard library, of which builds with threads need another one.
    pub(crate) fn with_sources(self, workspace: &Workspace) -> Result<Toolchain> {
        let sources = || {
            let mut rustc = Command::new("rustc");
            rustc.args(["--print", "sysroot"]).current_dir(&workspace.root);
            let root = process::output(&mut rustc).unwrap_or_default();
            Path::new(root.trim()).join("lib/rustlib/src/rust/library/std").is_dir()
        };
        if self == Self::Debian || sources() {
            return Ok(self);
        }
        let mut rustup = Command::new("rustup");
        rustup.args(["component", "add", "rust-src"]).current_dir(&workspace.root);
        let Err(refused) = process::run(&mut rustup) else { return Ok(self) };
        match Toolchain::ready(workspace, Some(Self::Debian)) {
            Ok(debian) => Ok(debian),
            Err(debian) => bail!(
                "no sources of the standard library for a module with threads ({refused:#}; {debian:#}); either of these gives \
                 them:\n  rustup component add rust-src\n  sudo apt-get install {}",
                DEBIAN_PACKAGES.join(" "),
            ),
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

    /// A cargo command for `target` with its own target folder, as compilers may differ.
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
        if build.threads {
            flags.extend(THREAD_LINK_FLAGS.iter().map(|flag| format!("-Clink-arg={flag}")));
            flags.push(format!("-Clink-arg=--max-memory={SHARED_MEMORY}"));
        }
        let mut command = match self {
            Self::Rustup if build.threads => {
                let mut cargo = workspace.cargo(subcommand);
                cargo.env("RUSTC_BOOTSTRAP", "1").arg("-Zbuild-std=std,panic_abort");
                cargo
            }
            Self::Rustup => workspace.cargo(subcommand),
            Self::Debian => {
                let mut cargo = debian_cargo(workspace, subcommand, "std,panic_abort,test");
                cargo.args(["--config", &format!("target.{target}.linker='{DEBIAN_LINKER}'")]);
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

/// Flags to link with Debian's WASI C library.
fn debian_link_flags(workspace: &Workspace) -> Result<Vec<String>> {
    // That library has no thread functions; the host provides them, and creating a thread fails as in the browser.
    let folder: PathBuf = workspace.target.join("wasm");
    let names = folder.join("thread-functions.txt");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    std::fs::write(&names, THREAD_FUNCTIONS.join("\n"))
        .with_context(|| format!("cannot write {}", names.display()))?;
    Ok(vec![
        // The start-up objects are found here, too.
        format!("-Lnative={DEBIAN_LIBC}"),
        format!("-Clink-arg=--allow-undefined-file={}", names.display()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_tests_is_an_error() {
        let all: String = CRATES.iter().map(|name| format!("{name} 3\n{name} 0\n")).collect();
        assert!(every_crate_ran(&all).is_ok());
        let error = every_crate_ran("tabia-encoding 3\ntabia-game 0\n").unwrap_err().to_string();
        assert_eq!(error, "no test of tabia-game ran on wasm32");
        assert!(every_crate_ran("").is_err());
    }
}
