use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::web::Page;
use crate::workspace::Workspace;
use crate::{apt, process};

/// The crate outside the workspace.
pub(crate) const MANIFEST: [&str; 2] = ["--manifest-path", "apps/desktop/Cargo.toml"];

/// Packages of the system's web view on Linux.
const WEB_VIEW: &str = "libwebkit2gtk-4.1-dev";

/// Build and start the desktop app, which shows the page in a native window
///
/// Examples:
///   cargo xtask desktop
///   cargo xtask desktop maia-1500.pb.gz --delay 300
///   cargo xtask desktop --screenshot window.png
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Desktop {
    /// Take a screenshot on a virtual display, and exit
    #[arg(long, value_name = "FILE")]
    screenshot: Option<PathBuf>,
    /// Arguments of the app, such as a network to watch
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

impl Desktop {
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        Page::built(workspace)?.carried()?;
        let there = || process::succeeds(Command::new("pkg-config").args(["--exists", "webkit2gtk-4.1"]));
        if cfg!(target_os = "linux") && !there() {
            apt::install(&[WEB_VIEW, "pkg-config"], "the window")?;
        }
        let target = workspace.target.join("desktop");
        process::run(
            workspace.cargo("build").args(MANIFEST).arg("--release").arg("--target-dir").arg(&target),
        )?;
        let program = target.join("release").join(format!("tabia-desktop{}", std::env::consts::EXE_SUFFIX));
        match &self.screenshot {
            None => process::run(Command::new(program).args(&self.arguments)),
            Some(picture) => {
                let tools = ["xvfb-run", "import"];
                if !tools.iter().all(|tool| process::succeeds(Command::new("which").arg(tool))) {
                    apt::install(&["xvfb", "xauth", "imagemagick"], "a picture of the window")?;
                }
                // Enough for slow machines to render the page.
                let script = "\"$@\" & sleep ${TABIA_WAIT:-30}; import -window root \"$PICTURE\"; kill $!";
                process::run(
                    Command::new("xvfb-run")
                        .args(["--auto-servernum", "--server-args=-screen 0 1280x820x24"])
                        .args(["sh", "-c", script, "desktop"])
                        .arg(program)
                        .args(&self.arguments)
                        .env("PICTURE", std::path::absolute(picture)?),
                )
            }
        }
    }
}
