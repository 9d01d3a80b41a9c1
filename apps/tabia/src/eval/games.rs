//! Choosing games or puzzles, with a bar.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use indicatif::HumanCount;
use tabia_data::{GameBytes, RecordError};
use tabia_likeness::{Choice, Selected};

use super::meter::Meter;

/// Chooses among the files. Nothing chosen is an error that says what there was; `what` is chosen.
pub(super) fn select(
    files: &[PathBuf],
    choice: &Choice,
    what: &str,
    counts: &(dyn Fn(&GameBytes<'_>) -> Result<u64, RecordError> + Sync),
) -> Result<Selected> {
    let meter = Meter::reading(files.iter().map(|file| bytes_in(file)).sum());
    let selected = choice.select(files, counts, &|read| meter.set(read))?;
    meter.finish();
    if selected.faults.total() > 0 {
        eprint!("{}", selected.faults);
    }
    if selected.games.is_empty() {
        match selected.read {
            0 => bail!("nothing could be read"),
            read => bail!("there are no {what} among the {} games read", HumanCount(read)),
        }
    }
    Ok(selected)
}

fn bytes_in(path: &Path) -> u64 {
    let found = tabia_data::SourceFile::find(path).unwrap_or_default();
    found.iter().filter_map(|file| file.bytes).sum()
}
