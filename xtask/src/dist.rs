use std::path::PathBuf;

use anyhow::Result;

use crate::process;
use crate::web::Page;
use crate::workspace::Workspace;

/// Build the page as static files for any web server, and print their size
///
/// Example:
///   cargo xtask dist && python3 -m http.server --directory dist
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Dist {
    /// Output folder [default: dist in the checkout]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl Dist {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let folder = match &self.folder {
            Some(folder) => std::path::absolute(folder)?,
            None => workspace.root.join("dist"),
        };
        let page = Page::built(workspace)?;
        process::run(page.node("tools/dist.mjs").arg(&folder))?;
        println!("the page is in {}", folder.display());
        Ok(())
    }
}
