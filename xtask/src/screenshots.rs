use anyhow::Result;

use crate::process;
use crate::web::{self, Page};
use crate::workspace::Workspace;

/// Folder of the README's screenshots.
const FOLDER: &str = "docs/images";

/// Take the README's screenshots
///
/// Example:
///   cargo xtask screenshots
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Screenshots {}

impl Screenshots {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let page = Page::built(workspace)?;
        let mut script = page.node("tools/screenshots.mjs");
        process::run(script.arg(workspace.root.join(FOLDER)).env(web::BROWSER_VARIABLE, web::chromium()?))
    }
}
