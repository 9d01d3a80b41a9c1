//! Reads sources on one thread and says what they hold, what is broken, and how fast they were read.
//!
//! ```text
//! cargo run --profile lab -p tabia-data --example ingest_rate -- otb-rated.pgn.zst
//! ```
//!
//! Rates are per second of processor time, decompression included.

use std::{
    error::Error,
    io::{self, Write as _},
    path::Path,
};

use rustix::time::{ClockId, clock_gettime};
use tabia_data::{
    BytesRead, Chunks, FaultKind, Faults, GameRules, NpySet, SourceFile, SourceKind, Whereabouts,
};

fn main() -> Result<(), Box<dyn Error>> {
    for argument in std::env::args().skip(1) {
        for file in SourceFile::find(Path::new(&argument))? {
            let mut faults = Faults::default();
            if let Err(error) = measure(&file, &mut faults) {
                let at = Whereabouts::whole(file.name.clone());
                faults.add(FaultKind::Unreadable, &at, || error.to_string());
            }
            let mut out = io::stdout().lock();
            writeln!(out, "  {} faults", faults.total())?;
            write!(out, "{faults}")?;
        }
    }
    Ok(())
}

fn measure(file: &SourceFile, faults: &mut Faults) -> Result<(), Box<dyn Error>> {
    let progress = BytesRead::default();
    let begin = processor_seconds();
    let (mut games, mut plies, mut rows) = (0_usize, 0_usize, 0_usize);
    match (file.kind, &file.path) {
        (Some(SourceKind::Parquet), _) => return Ok(()),
        (Some(SourceKind::Npy), Some(path)) => {
            let mut set = NpySet::open(path, &progress)?;
            for record in set.by_ref() {
                rows += record.sessions.iter().map(|session| session.lines.len()).sum::<usize>();
            }
            faults.merge(set.faults().clone());
        }
        _ => {
            for chunk in Chunks::open(file, &progress)? {
                let parsed = chunk.read(&GameRules::default());
                games += parsed.games.len();
                plies += parsed.games.iter().map(|game| game.plies.len()).sum::<usize>();
                rows += parsed.evaluations.len();
                faults.merge(parsed.faults);
            }
        }
    }
    let seconds = processor_seconds() - begin;
    #[expect(clippy::cast_precision_loss, reason = "rates to print")]
    let rate = |count: usize| count as f64 / seconds;
    let mut out = io::stdout().lock();
    writeln!(out, "{}: {} bytes, {seconds:.2} s of processor time", file.name, progress.get())?;
    if games > 0 {
        writeln!(
            out,
            "  {games} games, {plies} plies: {:.0} games/s, {:.0} plies/s",
            rate(games),
            rate(plies)
        )?;
    }
    if rows > 0 {
        writeln!(out, "  {rows} rows: {:.0} rows/s", rate(rows))?;
    }
    Ok(())
}

fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    #[expect(clippy::cast_precision_loss, reason = "seconds to divide by")]
    let seconds = time.tv_sec as f64 + time.tv_nsec as f64 / 1e9;
    seconds
}
