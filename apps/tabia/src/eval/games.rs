//! Choosing games or puzzles, with a bar.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use indicatif::HumanCount;
use tabia_data::stats::{Pool, Tally};
use tabia_data::{GameBytes, RecordError};
use tabia_human_eval::{GameSelection, SelectedGame, SelectedGames};
use tabia_report::Progress;

/// Chooses among the files. Nothing chosen is an error that says what there was; `what` is chosen.
pub(super) fn select(
    files: &[PathBuf],
    choice: &GameSelection,
    what: &str,
    counts: &(dyn Fn(&GameBytes<'_>) -> Result<u64, RecordError> + Sync),
) -> Result<SelectedGames> {
    let meter = Progress::of_bytes(files.iter().map(|file| bytes_in(file)).sum());
    let selected = choice.select(files, counts, &|read| meter.set(read, ""))?;
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

/// How many of the games are in each rating pool.
pub(super) fn pools(games: &[SelectedGame]) -> Tally<Pool> {
    let mut counts = Tally::default();
    for game in games.iter().filter_map(|game| GameBytes::parse(&game.bytes).ok()) {
        counts.add(Pool(game.head.pool));
    }
    counts
}

fn bytes_in(path: &Path) -> u64 {
    let found = tabia_data::SourceFile::find(path).unwrap_or_default();
    found.iter().filter_map(|file| file.bytes).sum()
}
