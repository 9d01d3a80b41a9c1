//! Checks the links of Markdown pages to other pages and files.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use pulldown_cmark::{Event, Options, Parser, Tag};

use crate::workspace::Workspace;

pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut broken = Vec::new();
    let mut checked = 0;
    for page in workspace.kept_files()? {
        if page.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        let text = std::fs::read_to_string(workspace.root.join(&page))
            .with_context(|| format!("cannot read {}", page.display()))?;
        for (line, link) in file_links(&text) {
            checked += 1;
            let place = format!("{}:{line}", page.display());
            match resolve(&page, &link) {
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
    println!("{checked} links to files");
    Ok(())
}

/// The links of a page to files, with their lines.
fn file_links(text: &str) -> Vec<(usize, String)> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
        .into_offset_iter()
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let path = dest_url.split('#').next().unwrap_or_default();
                let elsewhere = path.is_empty() || path.contains("://") || path.starts_with("mailto:");
                (!elsewhere).then(|| (text[..range.start].matches('\n').count() + 1, path.to_owned()))
            }
            _ => None,
        })
        .collect()
}

/// A link on `page` as a path from the root; `None` if it leads out of the repository.
fn resolve(page: &Path, link: &str) -> Option<PathBuf> {
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
        assert_eq!(
            file_links(page),
            [(1, "docs/a.md".to_owned()), (3, "i.png".to_owned()), (5, "ref.md".to_owned())]
        );
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
