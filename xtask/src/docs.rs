//! The documentation site: the pages of docs/ as an mdBook with search, and the API documentation beside it.

use std::fs;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::checks::links;
use crate::process;
use crate::workspace::Workspace;

/// The table of contents, which `checks::links` keeps complete.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";

/// The chapter below which the site lists the decisions.
const DECISIONS: &str = "docs/decisions";

/// The program that renders the site.
const MDBOOK: (&str, &str) = ("mdbook", "0.5.2");

/// Text files that pages link to are copied up to this size.
const MAX_COPIED: u64 = 200_000;

const CONFIGURATION: &str = r#"[book]
title = "Tabia"
language = "en"
src = "src"

[output.html]
default-theme = "light"
preferred-dark-theme = "navy"
no-section-label = true

[output.html.search]
limit-results = 20
use-boolean-and = true
boost-title = 2
"#;

/// Build the documentation site: the pages of docs/ with search, and the API documentation
///
/// Examples:
///   cargo xtask docs --open
///   cargo xtask docs --no-api
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Docs {
    /// Open the site in the browser
    #[arg(long)]
    open: bool,
    /// Leave out the API documentation, which takes minutes to build the first time
    #[arg(long)]
    no_api: bool,
}

impl Docs {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let folder = workspace.target.join("docs-site");
        let mdbook = mdbook(workspace)?;
        let source = folder.join("src");
        if source.exists() {
            fs::remove_dir_all(&source).with_context(|| format!("cannot empty {}", source.display()))?;
        }
        Site { workspace, source: &source }.write()?;
        write(&folder.join("book.toml"), CONFIGURATION)?;
        process::run(Command::new(mdbook).arg("build").arg(&folder))?;
        let site = folder.join("book");
        if !self.no_api {
            process::run(workspace.cargo("doc").args(["--workspace", "--no-deps"]))?;
            copy_folder(&workspace.target.join("doc"), &site.join("api"))?;
        }
        let start = site.join("index.html");
        println!("the site is in {}", site.display());
        if self.open {
            open(&start)?;
        }
        Ok(())
    }
}

/// Opens a file with the desktop's program for it.
fn open(file: &Path) -> Result<()> {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("cmd");
        command.args(["/C", "start", ""]);
        command
    } else {
        Command::new("xdg-open")
    };
    process::run(command.arg(file)).with_context(|| format!("open {} in a browser", file.display()))
}

/// The path of mdBook; installed into the target folder if needed.
fn mdbook(workspace: &Workspace) -> Result<PathBuf> {
    let (name, version) = MDBOOK;
    let root = workspace.target.join("tools").join(format!("{name}-{version}"));
    let program = root.join("bin").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if !program.exists() {
        let mut install = workspace.cargo("install");
        install.args(["--locked", "--version", version, "--root"]).arg(&root).arg(name);
        process::run(&mut install).with_context(|| format!("cannot install {name} {version}"))?;
    }
    Ok(program)
}

/// The sources of the site: the repository's pages at their own paths, with links that work there.
struct Site<'a> {
    workspace: &'a Workspace,
    source: &'a Path,
}

impl Site<'_> {
    fn write(&self) -> Result<()> {
        let files = self.workspace.kept_files()?;
        let pages = files.iter().filter(|file| is_page(file));
        for page in pages {
            let text = self.read(page)?;
            let text = if page == Path::new(SUMMARY) {
                self.summary(&text, &files)?
            } else {
                self.with_links(page, &text)?
            };
            let to = if page == Path::new(SUMMARY) { "SUMMARY.md".into() } else { page.clone() };
            write(&self.source.join(to), &text)?;
        }
        Ok(())
    }

    fn read(&self, page: &Path) -> Result<String> {
        let file = self.workspace.root.join(page);
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))
    }

    /// The table of contents from the root, and with the decisions below their chapter.
    fn summary(&self, text: &str, files: &[PathBuf]) -> Result<String> {
        let mut contents = replaced(text, |link| {
            links::resolve(Path::new(SUMMARY), link).map(|path| path.display().to_string())
        });
        if !contents.ends_with('\n') {
            contents.push('\n');
        }
        for page in files.iter().filter(|file| file.starts_with(DECISIONS) && is_decision(file)) {
            let text = self.read(page)?;
            let title = title(&text).with_context(|| format!("{} has no title", page.display()))?;
            contents.push_str(&format!("  - [{title}]({})\n", page.display()));
        }
        Ok(contents)
    }

    /// A page whose links to sources lead to the API documentation, and whose other files are copied.
    fn with_links(&self, page: &Path, text: &str) -> Result<String> {
        let mut failed = None;
        let text = replaced(text, |link| {
            let target = links::resolve(page, link)?;
            match self.target(&target) {
                Ok(Some(target)) => Some(relative(page, &target)),
                Ok(None) => None,
                Err(error) => {
                    failed.get_or_insert(error);
                    None
                }
            }
        });
        match failed {
            None => Ok(text),
            Some(error) => Err(error.context(format!("in {}", page.display()))),
        }
    }

    /// Where a link to `path` leads in the site; `None` if the same path is right.
    fn target(&self, path: &Path) -> Result<Option<PathBuf>> {
        let file = self.workspace.root.join(path);
        if is_page(path) {
            return Ok(chapter(path));
        }
        if let Some(documented) = api_page(path, file.is_dir()) {
            return Ok(Some(documented));
        }
        let size = file.metadata().with_context(|| format!("cannot read {}", file.display()))?.len();
        if file.is_dir() || size > MAX_COPIED {
            // Without a page of its own: the root's page is better than nothing.
            return Ok(Some("index.md".into()));
        }
        let copy = self.source.join(path);
        make_folder_of(&copy)?;
        fs::copy(&file, &copy).with_context(|| format!("cannot write {}", copy.display()))?;
        Ok(None)
    }
}

/// Whether a page has its own line in the table of contents; decisions are listed by their folder.
pub(crate) fn is_chapter(page: &Path) -> bool {
    page.starts_with("docs")
        && page != Path::new(SUMMARY)
        && !(page.starts_with(DECISIONS) && is_decision(page))
}

fn is_page(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "md")
}

fn is_decision(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with(|first: char| first.is_ascii_digit())
}

/// The text of the first heading.
fn title(page: &str) -> Option<&str> {
    page.lines().find_map(|line| line.strip_prefix("# "))
}

/// The page that mdBook makes of `page`, if it has another name.
fn chapter(page: &Path) -> Option<PathBuf> {
    if page == Path::new(SUMMARY) {
        return Some("index.md".into());
    }
    (page.file_name()? == "README.md").then(|| page.with_file_name("index.md"))
}

/// The page of rustdoc for a source file of the workspace, or for a crate's folder.
fn api_page(path: &Path, is_folder: bool) -> Option<PathBuf> {
    let parts: Vec<&str> = path.components().map(|part| part.as_os_str().to_str()).collect::<Option<_>>()?;
    let (name, inside) = match parts.as_slice() {
        [kind @ ("crates" | "apps"), name, inside @ ..] => (
            if *kind == "apps" && *name == "tabia" { "tabia".to_owned() } else { format!("tabia_{name}") },
            inside,
        ),
        ["xtask", inside @ ..] => ("xtask".to_owned(), inside),
        _ => return None,
    };
    match inside {
        ["src", file @ ..] if !is_folder && !file.is_empty() && is_rust(path) => {
            Some(format!("api/src/{name}/{}.html", file.join("/")).into())
        }
        ["src", ..] | [] if is_folder => Some(format!("api/{name}/index.html").into()),
        _ => None,
    }
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// The text with the destinations of its links to files replaced where `target` gives another.
fn replaced(text: &str, mut target: impl FnMut(&str) -> Option<String>) -> String {
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (range, link) in links::file_links(text) {
        let Some(new) = target(&link) else { continue };
        // The destination follows the link's text, so it is the last occurrence.
        if let Some(at) = text[range.clone()].rfind(&link) {
            let start = range.start + at;
            edits.push((start..start + link.len(), new));
        }
    }
    let mut text = text.to_owned();
    edits.sort_by_key(|(range, _)| range.start);
    for (range, new) in edits.into_iter().rev() {
        text.replace_range(range, &new);
    }
    text
}

/// The link from a page to a file, both relative to the same folder.
fn relative(page: &Path, target: &Path) -> String {
    let up = page.parent().map_or(0, |folder| folder.components().count());
    let mut link = "../".repeat(up);
    let parts: Vec<String> = target
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .map(|part| part.as_os_str().to_string_lossy().into_owned())
        .collect();
    link.push_str(&parts.join("/"));
    link
}

fn write(file: &Path, text: &str) -> Result<()> {
    make_folder_of(file)?;
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

fn make_folder_of(file: &Path) -> Result<()> {
    let Some(folder) = file.parent() else { bail!("{} has no folder", file.display()) };
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

/// Copies a folder over another one.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &copy)?;
        } else {
            fs::copy(entry.path(), &copy).with_context(|| format!("cannot write {}", copy.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_sources_lead_to_the_api_documentation() {
        let page = |path: &str, is_folder| {
            api_page(Path::new(path), is_folder).map(|page| page.display().to_string())
        };
        let engine = page("crates/search/src/engine/time.rs", false);
        assert_eq!(engine.as_deref(), Some("api/src/tabia_search/engine/time.rs.html"));
        assert_eq!(page("apps/tabia/src/main.rs", false).as_deref(), Some("api/src/tabia/main.rs.html"));
        assert_eq!(page("crates/onnx", true).as_deref(), Some("api/tabia_onnx/index.html"));
        assert_eq!(page("crates/onnx/Cargo.toml", false), None);
        assert_eq!(page("configs/human.toml", false), None);
    }

    #[test]
    fn only_destinations_of_links_are_replaced() {
        let text = "[a.rs](a.rs) `a.rs` ![i](i.png)\n\n| [b](b.md#part) |\n";
        let found = replaced(text, |link| (link == "a.rs").then(|| "../api/a.html".to_owned()));
        assert_eq!(found, "[a.rs](../api/a.html) `a.rs` ![i](i.png)\n\n| [b](b.md#part) |\n");
    }

    #[test]
    fn links_are_relative_to_their_page() {
        assert_eq!(relative(Path::new("docs/guides/a.md"), Path::new("api/x.html")), "../../api/x.html");
        assert_eq!(relative(Path::new("README.md"), Path::new("api/x.html")), "api/x.html");
    }

    #[test]
    fn readmes_are_the_index_of_their_folder() {
        assert_eq!(chapter(Path::new("docs/decisions/README.md")), Some("docs/decisions/index.md".into()));
        assert_eq!(chapter(Path::new(SUMMARY)), Some("index.md".into()));
        assert_eq!(chapter(Path::new("docs/seeds.md")), None);
    }

    #[test]
    fn a_title_is_the_first_heading() {
        assert_eq!(title("text\n\n# Matches\n## Elo"), Some("Matches"));
        assert_eq!(title("text"), None);
    }
}
