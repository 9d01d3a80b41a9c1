use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;

use super::run::now;
use crate::finished_file::write_whole;
use tabia_runs::{FoundRun, find, page};
use tabia_stdio::stdout;

#[derive(Args, Debug)]
pub(super) struct PlotArgs {
    /// Folders of runs, or folders that contain them.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Output file.
    #[arg(long, value_name = "FILE", default_value = "runs.html")]
    out: PathBuf,
}

pub(super) fn run(args: &PlotArgs) -> anyhow::Result<()> {
    let mut runs: Vec<FoundRun> = Vec::new();
    for path in &args.runs {
        let found = find(path)?;
        if found.is_empty() {
            bail!("{}: no run found (no metrics.jsonl)", path.display());
        }
        for run in found {
            if runs.iter().all(|known| known.folder != run.folder) {
                runs.push(run);
            }
        }
    }
    name_apart(&mut runs);
    let text = page::standalone(&runs, now())?;
    write_whole(&args.out, text.as_bytes())?;
    let count = if runs.len() == 1 { "1 run".to_owned() } else { format!("{} runs", runs.len()) };
    writeln!(stdout(), "{}: {count}, {} kB", args.out.display(), text.len().div_ceil(1000))?;
    Ok(())
}

/// Runs of the same name are shown by their paths.
fn name_apart(runs: &mut [FoundRun]) {
    let names: Vec<String> = runs.iter().map(|run| run.name.clone()).collect();
    for run in runs {
        if names.iter().filter(|name| **name == run.name).count() > 1 {
            run.name = run.folder.path().display().to_string();
        }
    }
}
