//! Generates the list of embedded page files: those that `cargo xtask web` has built, or those of `TABIA_PAGE`, a folder or an
//! archive of the page. Empty without either.
#![expect(clippy::disallowed_macros, reason = "build scripts print to cargo")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=page");
    println!("cargo::rerun-if-env-changed=TABIA_PAGE");
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let folder = match env::var_os("TABIA_PAGE").filter(|path| !path.is_empty()) {
        // From the root of the workspace, not of this crate.
        Some(path) => built_page(&crate_folder.join("../..").join(path), &out)?,
        None => crate_folder.join("page"),
    };
    let mut files = Vec::new();
    collect(&folder, &mut files)?;
    files.sort();
    let mut files: Vec<_> = files.into_iter().map(|file| (name_in(&folder, &file), file)).collect();
    let names: BTreeSet<String> = files.iter().map(|(name, _)| name.clone()).collect();
    files.retain(|(name, _)| is_carried(name, &names));

    let mut code = String::from("static FILES: &[(&str, &[u8])] = &[\n");
    for (name, file) in &files {
        writeln!(code, "    ({name:?}, include_bytes!({:?})),", file.display().to_string())
            .map_err(io::Error::other)?;
    }
    code.push_str("];\n");
    fs::write(out.join("files.rs"), code)
}

/// The path of a file below `folder`, with forward slashes.
fn name_in(folder: &Path, file: &Path) -> String {
    let path = file.strip_prefix(folder).unwrap_or(file);
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// Whether the program carries a file: each in its smallest form, which the server unpacks where it must. The networks are
/// in the program anyway.
fn is_carried(name: &str, names: &BTreeSet<String>) -> bool {
    let has = |name: String| names.contains(&name);
    let base = name.strip_suffix(".gz").unwrap_or(name);
    !name.starts_with("models/") && !has(format!("{base}.br"))
}

/// The folder of a page that was built elsewhere. An archive is unpacked, by the `tar` that all systems have.
fn built_page(path: &Path, out: &Path) -> io::Result<PathBuf> {
    let fail = |problem: &str| io::Error::other(format!("TABIA_PAGE: {}: {problem}", path.display()));
    println!("cargo::rerun-if-changed={}", path.display());
    if !path.exists() {
        return Err(fail("no such file or folder"));
    }
    let folder = if path.is_dir() {
        path.to_owned()
    } else {
        let folder = out.join("page");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir(&folder)?;
        let unpacked = Command::new("tar").arg("-xf").arg(path).arg("-C").arg(&folder).status();
        if !unpacked.map_err(|error| fail(&format!("tar: {error}")))?.success() {
            return Err(fail("cannot be unpacked"));
        }
        folder
    };
    // The files may be in a folder of the archive.
    let within = fs::read_dir(&folder)?.filter_map(|entry| Some(entry.ok()?.path()));
    let found =
        std::iter::once(folder.clone()).chain(within).find(|folder| folder.join("index.html").is_file());
    found.ok_or_else(|| fail("has no index.html"))
}

/// All files below `folder` except hidden ones.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}
