//! Debian packages: installed when this runs as root on a machine with apt, asked for otherwise.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process;

/// Installs `packages`, which `purpose` needs; an error that says what to install where it cannot.
///
/// Callers look first whether what they need is there: this always asks apt.
pub(crate) fn install(packages: &[&str], purpose: &str) -> Result<()> {
    let list = packages.join(" ");
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("{purpose} needs what Debian calls `{list}`: install it with this system's package manager");
    }
    if !process::output(Command::new("id").arg("-u")).is_ok_and(|user| user.trim() == "0") {
        bail!("{purpose} needs packages that only root may install: sudo apt-get install {list}");
    }
    let apt = || {
        let mut command = Command::new("apt-get");
        command.env("DEBIAN_FRONTEND", "noninteractive").arg("-qq");
        command
    };
    process::run(apt().arg("update"))?;
    process::run(apt().args(["install", "--yes", "--no-install-recommends"]).args(packages))
        .with_context(|| format!("{purpose} needs the packages {list}"))
}
