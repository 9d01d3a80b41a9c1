//! What a release consists of: the program, the page, the Python wheel, checksums and a bill of materials.

mod archive;
mod debian;
mod sbom;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use sha2::{Digest as _, Sha256};

use self::archive::Archive;
use crate::web::Page;
use crate::workspace::Workspace;
use crate::{apt, process};

/// A static target: runs on any Linux, whatever its C library.
const STATIC_TARGET: &str = "x86_64-unknown-linux-musl";

/// The C compiler for it; zstd is written in C.
const STATIC_COMPILER: &str = "musl-gcc";

/// Pages that go with the program.
const PAPERS: [&str; 3] = ["README.md", "LICENSE", "CHANGELOG.md"];

/// Build what a release publishes: the static program, the page, a Debian package, checksums and an SBOM
///
/// The same commit, compiler and packages give the same bytes.
///
/// Examples:
///   cargo xtask release
///   cargo xtask release --verify
///   cargo xtask release --wheel target/wheels/tabia-0.1.0-cp39-abi3-linux_x86_64.whl
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Release {
    /// Output folder [default: release in the target folder]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,

    /// Build for the host instead of a static program
    #[arg(long)]
    host: bool,

    /// A wheel to publish with it; repeatable
    #[arg(long, value_name = "FILE")]
    wheel: Vec<PathBuf>,

    /// Build the program a second time, elsewhere, and fail unless it has the same bytes
    #[arg(long)]
    verify: bool,
}

impl Release {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let folder = match &self.folder {
            Some(folder) => std::path::absolute(folder)?,
            None => workspace.target.join("release-files"),
        };
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;

        let page = Page::built(workspace)?;
        page.carried()?;
        let build = ProgramBuild::ready(workspace, self.host)?;
        let program = build.run(&workspace.target.join("release-program"))?;
        if self.verify {
            let again = build.run(&workspace.target.join("release-program-again"))?;
            if fs::read(&program)? != fs::read(&again)? {
                bail!("{} and {} differ: the build is not reproducible", program.display(), again.display());
            }
            println!("built twice with the same bytes");
        }

        let release =
            Files { workspace, folder, version: version(workspace)?, time: commit_time(workspace)? };
        release.program(&program, &build.target)?;
        release.page(&page.dist())?;
        if build.is_x86_64_linux() {
            release.package(&program)?;
        }
        for wheel in &self.wheel {
            release.copy(wheel)?;
        }
        sbom::write(workspace, &release.version, &release.folder.join(release.named("cdx.json")))?;
        release.checksums()
    }
}

/// How the program is built.
struct ProgramBuild<'a> {
    workspace: &'a Workspace,
    target: String,
    /// The C compiler, if it is not the usual one.
    compiler: Option<&'static str>,
}

impl<'a> ProgramBuild<'a> {
    /// Installs what the build needs.
    fn ready(workspace: &'a Workspace, host: bool) -> Result<ProgramBuild<'a>> {
        if host || !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
            return Ok(ProgramBuild { workspace, target: host_triple(workspace)?, compiler: None });
        }
        let mut folder = Command::new("rustc");
        folder.args(["--print", "target-libdir", "--target", STATIC_TARGET]).current_dir(&workspace.root);
        if !process::output(&mut folder).is_ok_and(|folder| Path::new(folder.trim()).is_dir()) {
            let mut add = Command::new("rustup");
            process::run(add.args(["target", "add", STATIC_TARGET]).current_dir(&workspace.root)).context(
                "no standard library for a static program: `cargo xtask release --host` builds one for this machine",
            )?;
        }
        if !process::succeeds(Command::new(STATIC_COMPILER).arg("--version")) {
            apt::install(&["musl-tools"], "compiling a static program")?;
        }
        Ok(ProgramBuild { workspace, target: STATIC_TARGET.to_owned(), compiler: Some(STATIC_COMPILER) })
    }

    fn is_x86_64_linux(&self) -> bool {
        self.target.starts_with("x86_64-") && self.target.contains("-linux-")
    }

    /// Builds the program with paths that do not depend on the machine; returns its path.
    fn run(&self, target_folder: &Path) -> Result<PathBuf> {
        let mut flags = vec!["-Cstrip=symbols".to_owned()];
        for (from, to) in [
            (self.workspace.root.clone(), "/tabia"),
            (target_folder.to_owned(), "/target"),
            (cargo_home()?, "/cargo"),
        ] {
            flags.push(format!("--remap-path-prefix={}={to}", from.display()));
        }
        let mut build = self.workspace.cargo("build");
        build
            .args(["--release", "--locked", "--package", "tabia", "--target", &self.target, "--target-dir"])
            .arg(target_folder)
            // Flags may contain spaces, as paths do.
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
            .env("SOURCE_DATE_EPOCH", commit_time(self.workspace)?.to_string());
        if let Some(compiler) = self.compiler {
            build.env(format!("CC_{}", self.target.replace('-', "_")), compiler);
        }
        process::run(&mut build)?;
        let name = format!("tabia{}", std::env::consts::EXE_SUFFIX);
        Ok(target_folder.join(&self.target).join("release").join(name))
    }
}

fn host_triple(workspace: &Workspace) -> Result<String> {
    let said = process::output(Command::new("rustc").arg("-vV").current_dir(&workspace.root))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

fn cargo_home() -> Result<PathBuf> {
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        return Ok(home.into());
    }
    let home = std::env::home_dir().context("there is no home folder")?;
    Ok(home.join(".cargo"))
}

/// The version of the program.
fn version(workspace: &Workspace) -> Result<String> {
    let metadata = workspace.dependency_graph("Cargo.toml")?;
    let program = metadata.workspace_packages().into_iter().find(|package| package.name.as_str() == "tabia");
    Ok(program.context("the workspace has no package tabia")?.version.to_string())
}

/// When the current commit was made, in seconds: the time of every archived file.
fn commit_time(workspace: &Workspace) -> Result<u64> {
    let said = process::output(
        Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(&workspace.root),
    )?;
    said.trim().parse().with_context(|| format!("git printed {said:?} as the time of the commit"))
}

/// The files of a release.
struct Files<'a> {
    workspace: &'a Workspace,
    folder: PathBuf,
    version: String,
    time: u64,
}

impl Files<'_> {
    fn named(&self, rest: &str) -> String {
        format!("tabia-{}.{rest}", self.version)
    }

    /// An archive of the program and its papers.
    fn program(&self, program: &Path, target: &str) -> Result<()> {
        let name = format!("tabia-{}-{target}", self.version);
        let mut archive = Archive::create(&self.folder.join(format!("{name}.tar.gz")), self.time)?;
        for paper in PAPERS {
            archive.file(&self.workspace.root.join(paper), &format!("{name}/{paper}"))?;
        }
        let file = program.file_name().and_then(|file| file.to_str()).unwrap_or("tabia");
        archive.program(program, &format!("{name}/{file}"))?;
        let bytes = program.metadata().with_context(|| format!("cannot read {}", program.display()))?.len();
        println!("{:>12} kB  {name}/{file}, unpacked", bytes / 1000);
        archive.finish()
    }

    /// An archive of the page's static files.
    fn page(&self, dist: &Path) -> Result<()> {
        let name = format!("tabia-{}-page", self.version);
        let mut archive = Archive::create(&self.folder.join(format!("{name}.tar.gz")), self.time)?;
        archive.folder(dist, &name)?;
        archive.file(&self.workspace.root.join("LICENSE"), &format!("{name}/LICENSE"))?;
        archive.finish()
    }

    fn package(&self, program: &Path) -> Result<()> {
        let file = self.folder.join(format!("tabia_{}_amd64.deb", self.version));
        debian::Package { version: &self.version, program, root: &self.workspace.root, time: self.time }
            .write(&self.workspace.target.join("release-package"), &file)
    }

    fn copy(&self, file: &Path) -> Result<()> {
        let name = file.file_name().with_context(|| format!("{} is not a file", file.display()))?;
        fs::copy(file, self.folder.join(name)).with_context(|| format!("cannot copy {}", file.display()))?;
        Ok(())
    }

    /// Writes the checksums as `sha256sum` does, and prints the sizes.
    fn checksums(&self) -> Result<()> {
        let mut names: Vec<String> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        let mut sums = String::new();
        for name in &names {
            let file = self.folder.join(name);
            let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            println!("{:>12} kB  {name}", bytes.len() / 1000);
            for byte in Sha256::digest(&bytes) {
                write!(sums, "{byte:02x}")?;
            }
            writeln!(sums, "  {name}")?;
        }
        let file = self.folder.join("SHA256SUMS");
        fs::write(&file, sums).with_context(|| format!("cannot write {}", file.display()))?;
        println!("the release is in {}", self.folder.display());
        Ok(())
    }
}
