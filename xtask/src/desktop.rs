use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::web::Page;
use crate::workspace::Workspace;
use crate::{apt, process};

/// The crate outside the workspace.
pub(crate) const MANIFEST: [&str; 2] = ["--manifest-path", "apps/desktop/Cargo.toml"];

/// What the system's web view is compiled against, on Linux.
const WEB_VIEW: &str = "libwebkit2gtk-4.1-dev";

/// Build the page and the program that shows it in a window of its own, and start it
///
/// Examples:
///   cargo xtask desktop
///   cargo xtask desktop maia-1500.pb.gz --delay 300
///   cargo xtask desktop --screenshot window.png
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Desktop {
    /// Take a picture of the window on a display that nobody sees, and end
    #[arg(long, value_name = "FILE")]
    screenshot: Option<PathBuf>,
    /// A network to watch, and options for the program
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
                // Half a minute is time enough for the slowest machine to draw the page.
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
