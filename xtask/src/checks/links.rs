//! Checks the links of Markdown pages to other pages and files.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::docs;
use crate::workspace::Workspace;

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut broken = Vec::new();
    let mut checked = 0;
    let mut contents = BTreeSet::new();
    let files = workspace.kept_files()?;
    let pages = || files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md"));
    for page in pages() {
        let text = std::fs::read_to_string(workspace.root.join(page))
            .with_context(|| format!("cannot read {}", page.display()))?;
        let table_of_contents = page == Path::new(docs::SUMMARY);
        for (range, link) in file_links(&text) {
            checked += 1;
            let line = text[..range.start].matches('\n').count() + 1;
            let place = format!("{}:{line}", page.display());
            let target = resolve(page, &link);
            if table_of_contents {
                contents.extend(target.clone());
            }
            match target {
                None => broken.push(format!("{place}: {link} leads out of the repository")),
                Some(file) if !workspace.root.join(&file).exists() => {
                    broken.push(format!("{place}: {link} does not exist"));
                }
                Some(_) => {}
            }
        }
    }
    if !broken.is_empty() {
        bail!("{} broken links:\n  {}", broken.len(), broken.join("\n  "));
    }
    let missing: Vec<String> = pages()
        .filter(|page| docs::is_chapter(page) && !contents.contains(*page))
        .map(|page| page.display().to_string())
        .collect();
    if !missing.is_empty() {
        bail!("pages that are not in {}:\n  {}", docs::SUMMARY, missing.join("\n  "));
    }
    println!("{checked} links to files");
    Ok(())
}

/// The links of a page to files, with the places of the whole links.
pub(crate) fn file_links(text: &str) -> Vec<(Range<usize>, String)> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
        .into_offset_iter()
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let path = dest_url.split('#').next().unwrap_or_default();
                let elsewhere = path.is_empty() || path.contains("://") || path.starts_with("mailto:");
                (!elsewhere).then(|| (range, path.to_owned()))
            }
            _ => None,
        })
        .collect()
}

/// A link on `page` as a path from the root; `None` if it leads out of the repository.
pub(crate) fn resolve(page: &Path, link: &str) -> Option<PathBuf> {
    let mut resolved = page.parent()?.to_path_buf();
    for part in Path::new(link).components() {
        match part {
            Component::Normal(name) => resolved.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !resolved.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_to_files_are_found() {
        let page = "[a](docs/a.md#part)\n\n[web](https://a.b/c) ![i](i.png) `[code](x)` [here](#part)\n\n[r]\n\n[r]: ref.md";
        let links = file_links(page);
        let found: Vec<(&str, &str)> =
            links.iter().map(|(range, link)| (&page[range.clone()], &**link)).collect();
        let expected = [("[a](docs/a.md#part)", "docs/a.md"), ("![i](i.png)", "i.png"), ("[r]", "ref.md")];
        assert_eq!(found, expected);
    }

    #[test]
    fn links_resolve_from_their_page_and_stay_inside() {
        let page = Path::new("docs/decisions/README.md");
        assert_eq!(resolve(page, "../formats"), Some("docs/formats".into()));
        assert_eq!(resolve(page, "../../LICENSE"), Some("LICENSE".into()));
        assert_eq!(resolve(page, "../../../shared"), None);
        assert_eq!(resolve(page, "/etc/passwd"), None);
    }
}
