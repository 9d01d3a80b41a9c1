//! Installation of Debian packages, as root on a machine with apt.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::process;

/// Installs `packages` for `purpose`. The error names the packages.
///
/// Always calls apt: callers check first whether the packages are needed.
pub(crate) fn install(packages: &[&str], purpose: &str) -> Result<()> {
    let list = packages.join(" ");
    if !Path::new("/usr/bin/apt-get").exists() {
        bail!("{purpose} needs the Debian packages {list}: install their equivalents");
    }
    if !process::output(Command::new("id").arg("-u")).is_ok_and(|user| user.trim() == "0") {
        bail!("{purpose} needs packages: sudo apt-get install {list}");
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
