//! A Debian package of the static program.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::{apt, process};

/// A package to write.
pub(super) struct Package<'a> {
    pub(super) version: &'a str,
    pub(super) program: &'a Path,
    /// The checkout.
    pub(super) root: &'a Path,
    pub(super) time: u64,
}

impl Package<'_> {
    /// Lays the files out in `staging` and packs them into `file`.
    pub(super) fn write(&self, staging: &Path, file: &Path) -> Result<()> {
        if !process::succeeds(Command::new("dpkg-deb").arg("--version")) {
            apt::install(&["dpkg"], "a Debian package")?;
        }
        if staging.exists() {
            fs::remove_dir_all(staging).with_context(|| format!("cannot empty {}", staging.display()))?;
        }
        let place = |name: &str| -> Result<_> {
            let path = staging.join(name);
            let folder = path.parent().context("a file has a folder")?;
            fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            Ok(path)
        };
        let program = place("usr/bin/tabia")?;
        fs::copy(self.program, &program).with_context(|| format!("cannot write {}", program.display()))?;
        // The licence and the changelog are where Debian's policy looks for them.
        fs::copy(self.root.join("LICENSE"), place("usr/share/doc/tabia/copyright")?)?;
        fs::copy(self.root.join("CHANGELOG.md"), place("usr/share/doc/tabia/CHANGELOG.md")?)?;
        let size = fs::metadata(&program)?.len() / 1024;
        fs::write(place("DEBIAN/control")?, control(self.version, size, &maintainer()))?;
        let mut pack = Command::new("dpkg-deb");
        pack.args(["--root-owner-group", "-Zxz", "--build"]).arg(staging).arg(file);
        // dpkg-deb gives every file this time.
        process::run(pack.env("SOURCE_DATE_EPOCH", self.time.to_string()))
    }
}

/// Who packs it, as Debian's tools are told.
fn maintainer() -> String {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    format!("{} <{}>", variable("DEBFULLNAME", "Tabia"), variable("DEBEMAIL", "root@localhost"))
}

/// The control file; `kibibytes` is the installed size.
fn control(version: &str, kibibytes: u64, maintainer: &str) -> String {
    format!(
        "Package: tabia\n\
         Version: {version}\n\
         Architecture: amd64\n\
         Maintainer: {maintainer}\n\
         Installed-Size: {kibibytes}\n\
         Section: games\n\
         Priority: optional\n\
         Recommends: xdg-utils\n\
         Description: play, inspect and measure chess networks\n \
         Any chess network, in any known encoding and file format, is a player:\n \
         on a page in the browser, in the terminal, as a UCI engine and in matches.\n \
         Contains a network that plays like a person of a chosen rating.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continuation_lines_of_the_control_file_are_indented() {
        let control = control("0.1.0", 20_000, "A <a@b.c>");
        let description = control.lines().skip_while(|line| !line.starts_with("Description:")).skip(1);
        assert!(description.clone().count() > 0);
        for line in description {
            assert!(line.starts_with(' ') && line.len() > 1, "{line:?}");
        }
        assert!(control.contains("\nVersion: 0.1.0\n") && control.ends_with('\n'));
    }
}
