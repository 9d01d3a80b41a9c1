//! `tabia-lab data export`: writes sets in the formats of other programs.

mod written_game;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use shakmaty::{CastlingMode, EnPassantMode, fen::Epd};
use tabia_data::{
    EvaluationRecord, GameRecord, NpyWriter, PlayerHash, RecordKind, Set, Side, Split, SplitBy,
};
use tabia_game::write_game;
use tabia_query::HumChessWriter;

use self::written_game::written_game;
use super::rows::Row;
use crate::finished_file::FinishedFile;
use tabia_report::Progress;

/// zstd level of text.
const ZSTD_LEVEL: i32 = 9;

/// Write a set in the format of other programs.
///
/// Games become PGN or HumChess's training rows; evaluations become Lichess's rows or the arrays of Learning a Chess
/// Policy. Text is compressed when the name ends in .zst.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tabia-lab data export games --format pgn --out games.pgn.zst
  tabia-lab data export games --format humchess-parquet --out rows.parquet --side training --held-out 0.01
  tabia-lab data export evaluations --format npy --out arrays --prefix train")]
pub(crate) struct ExportArgs {
    /// Folder of the set.
    #[arg(value_name = "DIR")]
    set: PathBuf,
    /// Output format.
    #[arg(long, value_enum)]
    format: Format,
    /// Output file; a folder for npy.
    #[arg(long, value_name = "PATH")]
    out: PathBuf,
    /// Prefix of npy files.
    #[arg(long, default_value = "data", value_name = "NAME")]
    prefix: String,
    /// Side of the split to write.
    #[arg(long, value_enum, default_value_t = Part::All)]
    side: Part,
    /// Share of held-out records, from 0 to 1.
    #[arg(long, default_value_t = 0.01, value_name = "SHARE", value_parser = super::verify::share)]
    held_out: f64,
    /// Random seed of the split.
    #[arg(long, default_value_t = 0, value_name = "S")]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Games as text, with clocks and evaluations.
    Pgn,
    /// Games as HumChess's training rows: tokens, move_id, promo_id, is_promotion, legal_mask.
    HumchessParquet,
    /// Evaluations as Lichess's rows: fen, line, depth, knodes, cp, mate.
    Jsonl,
    /// Evaluations as the arrays of Learning a Chess Policy.
    Npy,
}

#[derive(Clone, Copy, ValueEnum)]
enum Part {
    /// Training records.
    Training,
    /// Held-out records.
    HeldOut,
    /// All records.
    All,
}

pub(crate) fn run(args: &ExportArgs) -> Result<()> {
    let set = Set::open(&args.set)?;
    let (kind, wanted) = (set.kind(), args.format.kind());
    ensure!(kind == wanted, "{} holds {kind}, but this format is for {wanted}", args.set.display());
    let progress = Progress::of(set.records(), "records");
    let records = Records { set: &set, args, progress: &progress };
    let written = match args.format {
        Format::Pgn => records.write_text(|out, bytes| {
            let game = written_game(&GameRecord::from_bytes(bytes)?)?;
            Ok(write_game(&game, &mut &mut *out)?)
        }),
        Format::Jsonl => {
            records.write_text(|out, bytes| write_rows(out, &EvaluationRecord::from_bytes(bytes)?))
        }
        Format::HumchessParquet => records.write_humchess(),
        Format::Npy => records.write_npy(),
    };
    progress.finish();
    println!("{}", written.with_context(|| format!("cannot export to {}", args.out.display()))?);
    Ok(())
}

impl Format {
    fn kind(self) -> RecordKind {
        match self {
            Format::Pgn | Format::HumchessParquet => RecordKind::Games,
            Format::Jsonl | Format::Npy => RecordKind::Evaluations,
        }
    }
}

/// The selected records of a set.
struct Records<'a> {
    set: &'a Set,
    args: &'a ExportArgs,
    progress: &'a Progress,
}

impl Records<'_> {
    /// Calls `each` with the bytes of each selected record; returns their number.
    fn each(&self, mut show: impl FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let held_out_ppm = (self.args.held_out * 1e6).round() as u32;
        let split = Split { seed: self.args.seed, held_out_ppm, by: SplitBy::Record };
        let side = match self.args.side {
            Part::Training => Side::Training,
            Part::HeldOut => Side::HeldOut,
            Part::All => Side::All,
        };
        let mut shown = 0;
        for record in self.set.iter() {
            let (key, bytes) = record?;
            // Split by key, so players do not matter.
            if side.takes(split.side(key, shakmaty::ByColor::<Option<PlayerHash>>::default())) {
                show(&bytes)?;
                shown += 1;
            }
            self.progress.add(1);
        }
        Ok(shown)
    }

    /// Writes text, compressed if the name ends in .zst.
    fn write_text(&self, mut write: impl FnMut(&mut dyn Write, &[u8]) -> Result<()>) -> Result<String> {
        let out = &self.args.out;
        let mut file = FinishedFile::create(out)?;
        let name = out.to_string_lossy();
        let records = if name.ends_with(".zst") {
            let mut encoder = zstd::Encoder::new(&mut file, ZSTD_LEVEL)?;
            let records = self.each(|bytes| write(&mut encoder, bytes))?;
            encoder.finish()?;
            records
        } else if name.ends_with(".gz") || name.ends_with(".bz2") {
            bail!("unsupported compression (expected .zst or none)");
        } else {
            self.each(|bytes| write(&mut file, bytes))?
        };
        file.finish()?;
        Ok(said(records, out))
    }

    fn write_humchess(&self) -> Result<String> {
        let out = &self.args.out;
        let mut writer = HumChessWriter::new(FinishedFile::create(out)?)?;
        self.each(|bytes| Ok(writer.push(&GameRecord::from_bytes(bytes)?)?))?;
        let (file, totals) = writer.finish()?;
        file.finish()?;
        let (rows, games, unrated) = (totals.rows, totals.games, totals.unrated);
        Ok(format!(
            "{}: {rows} rows of {games} games; {unrated} without both ratings passed over",
            out.display()
        ))
    }

    fn write_npy(&self) -> Result<String> {
        let (out, prefix) = (&self.args.out, &self.args.prefix);
        let mut writer = NpyWriter::create(out, prefix)?;
        let records = self.each(|bytes| Ok(writer.push(&EvaluationRecord::from_bytes(bytes)?)?))?;
        writer.finish()?;
        Ok(said(records, &out.join(format!("{prefix}_planes.npy"))))
    }
}

fn said(records: u64, path: &Path) -> String {
    format!("{}: {records} records", path.display())
}

/// Writes a row for each line of each session.
fn write_rows(out: &mut dyn Write, record: &EvaluationRecord) -> Result<()> {
    let fen = Epd::from_position(&record.position, EnPassantMode::Legal).to_string();
    for session in &record.sessions {
        for line in &session.lines {
            let first = line.first.to_uci(CastlingMode::Chess960).to_string();
            Row::new(&fen, &first, session.depth.into(), session.knodes, line.score).write(&mut *out)?;
        }
    }
    Ok(())
}
