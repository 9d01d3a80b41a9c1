//! `tabia desktop`: hands over to the program that shows the page in a window, which is another one because it needs the
//! system's web view.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  tabia desktop\n  tabia desktop maia-1500.pb.gz --delay 300\n  tabia desktop net.onnx --against level:3\n\n\
    The window is a program of its own, tabia-desktop, looked for beside this one and in PATH; `cargo xtask desktop` builds\n\
    and starts it. `tabia desktop -- --help` shows its options."
)]
pub(crate) struct Args {
    /// A network to watch, and options for the window.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENT")]
    arguments: Vec<OsString>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let name = format!("tabia-desktop{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().ok().and_then(|program| program.parent().map(PathBuf::from));
    let in_path = env::var_os("PATH").map(|path| env::split_paths(&path).collect::<Vec<_>>());
    let folders = beside.into_iter().chain(in_path.into_iter().flatten());
    let Some(program) = folders.map(|folder| folder.join(&name)).find(|program| program.is_file()) else {
        bail!(
            "{name} is neither beside this program nor in PATH: in a checkout, `cargo xtask desktop` builds and starts it; \
             `tabia serve --open` shows the same page in a browser"
        );
    };
    let status = Command::new(&program)
        .args(&args.arguments)
        .status()
        .with_context(|| format!("cannot start {}", program.display()))?;
    if !status.success() {
        bail!("{} ended with {status}", program.display());
    }
    Ok(())
}
