//! Compiling for aarch64 on x86-64.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::wasm::{DEBIAN_CARGO, DEBIAN_RUSTC, DEBIAN_SOURCES};
use crate::workspace::Workspace;
use crate::{apt, process};

const TARGET: &str = "aarch64-unknown-linux-gnu";

/// The linker with its C library, and the library's path at run time.
const LINKER: &str = "aarch64-linux-gnu-gcc";
const LINKER_PACKAGES: [&str; 2] = ["gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"];
pub(crate) const SYSTEM_ROOT: &str = "/usr/aarch64-linux-gnu";

/// Debian's compiler, cargo and the sources of its standard library.
const DEBIAN_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// A compiler for aarch64 with its standard library.
#[derive(Clone, Copy)]
pub(crate) enum Toolchain {
    /// The usual compiler with rustup's target
    Rustup,
    /// Debian's compiler, its standard library built from Debian's sources
    Debian,
}

impl Toolchain {
    /// The first one that is available or can be installed.
    pub(crate) fn ready(workspace: &Workspace) -> Result<Toolchain> {
        let linker = process::succeeds(Command::new(LINKER).arg("--version"));
        if !linker || !Path::new(SYSTEM_ROOT).join("lib").exists() {
            apt::install(&LINKER_PACKAGES, "linking for aarch64")?;
        }
        let mut rustc = Command::new("rustc");
        rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(&workspace.root);
        if process::output(&mut rustc).is_ok_and(|folder| Path::new(folder.trim()).is_dir()) {
            return Ok(Toolchain::Rustup);
        }
        if [DEBIAN_RUSTC, DEBIAN_CARGO, DEBIAN_SOURCES].into_iter().all(|path| Path::new(path).exists()) {
            return Ok(Toolchain::Debian);
        }
        let mut rustup = Command::new("rustup");
        let rustup = process::run(rustup.args(["target", "add", TARGET]).current_dir(&workspace.root));
        let Err(rustup) = rustup else { return Ok(Toolchain::Rustup) };
        let Err(debian) = apt::install(&DEBIAN_PACKAGES, "compiling for aarch64") else {
            return Ok(Toolchain::Debian);
        };
        bail!(
            "no compiler for aarch64 ({rustup:#}; {debian:#}); either of these gives one:\n  rustup target add {TARGET}\n  \
             sudo apt-get install {}",
            DEBIAN_PACKAGES.join(" "),
        )
    }

    /// A cargo command for aarch64 with its own target folder.
    pub(crate) fn cargo(self, workspace: &Workspace, subcommand: &str) -> Command {
        let mut command = match self {
            Self::Rustup => workspace.cargo(subcommand),
            Self::Debian => debian_cargo(workspace, subcommand, "std,panic_unwind,test"),
        };
        command
            .args(["--target", TARGET])
            .args(["--config", &format!("target.{TARGET}.linker='{LINKER}'")])
            .arg("--target-dir")
            .arg(workspace.target.join("aarch64"));
        command
    }
}

/// A command of Debian's cargo that builds these parts of the standard library from source.
pub(crate) fn debian_cargo(workspace: &Workspace, subcommand: &str, std: &str) -> Command {
    let mut cargo = Command::new(DEBIAN_CARGO);
    cargo
        .arg(subcommand)
        .current_dir(&workspace.root)
        .env("RUSTC", DEBIAN_RUSTC)
        .env("RUSTC_BOOTSTRAP", "1") // for -Zbuild-std
        .env_remove("LD_LIBRARY_PATH") // leads to the other compiler's libraries
        .env_remove("RUSTUP_TOOLCHAIN")
        .arg(format!("-Zbuild-std={std}"));
    cargo
}
