use std::path::PathBuf;

use clap::Args;

use crate::finished_file::write_whole;

#[derive(Args, Debug)]
pub(super) struct PlotArgs {
    /// Folders of runs.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// The page to write.
    #[arg(long, value_name = "FILE", default_value = "runs.html")]
    out: PathBuf,
}

pub(super) fn run(args: &PlotArgs) -> anyhow::Result<()> {
    let page = tabia_train::plot(&args.runs)?;
    write_whole(&args.out, page.as_bytes())
}
