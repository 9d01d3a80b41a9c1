//! The page's tests: types, the build, its size, and the built page in a real browser.

use anyhow::Result;

use super::{BROWSER_VARIABLE, Page, chromium};
use crate::process;
use crate::workspace::Workspace;

pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    let page = Page::built(workspace)?;
    process::run(&mut page.npm("check"))?;
    // Checks the initial download. Unchanged files are not compressed again.
    process::run(page.node("tools/dist.mjs").arg(workspace.target.join("web-dist")))?;
    // With the features of the other tests.
    process::run(workspace.cargo("build").args(["--package", "tabia"]))?;
    let program = workspace.target.join("debug").join(format!("tabia{}", std::env::consts::EXE_SUFFIX));
    process::run(page.npm("test").env(BROWSER_VARIABLE, chromium()?).env("TABIA_PROGRAM", program))
}
