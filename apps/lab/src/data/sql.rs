//! `tabia-lab data sql`: runs a query.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use tabia_query::{RowFormat, Session, write_rows};
use tokio::runtime::Builder;

use super::resources::ResourceArgs;
use crate::finished_file::FinishedFile;

const EXAMPLES: &str = "\
Tables:     pgn('x.pgn.zst' [, pool]), evaluations('x.jsonl.zst'), puzzles('x.epd'), shards('set'), and files: 'x.parquet'
Functions:  fen_key, material, phase, side, legal_moves, move_index, pack_position, unpack_position, draw, soft_label

Examples:
  tabia-lab data sql \"select result, count(*), avg(plies) from pgn('games.pgn.zst') group by result\"
  tabia-lab data sql \"select fen, rating from puzzles('puzzles.epd.zst') where phase(fen) < 6 limit 10\"
  tabia-lab data sql \"select * from evaluations('evals.jsonl.zst') where depth >= 40\" --out deep.parquet";

/// Query games, puzzles, evaluations and sets in SQL.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SqlArgs {
    /// The query.
    query: String,
    /// Output format [default: by the extension of --out, or else a table].
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Output file [default: standard output].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    resources: ResourceArgs,
}

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A text table of at most a thousand rows.
    Table,
    /// CSV with a header.
    Csv,
    /// JSON Lines.
    Json,
    /// Parquet, to a file only.
    Parquet,
}

impl Format {
    fn of_name(path: &Path) -> Option<Format> {
        match path.extension()?.to_str()? {
            "csv" => Some(Format::Csv),
            "json" | "jsonl" | "ndjson" => Some(Format::Json),
            "parquet" => Some(Format::Parquet),
            _ => None,
        }
    }
}

impl From<Format> for RowFormat {
    fn from(format: Format) -> RowFormat {
        match format {
            Format::Table => RowFormat::Table,
            Format::Csv => RowFormat::Csv,
            Format::Json => RowFormat::Json,
            Format::Parquet => RowFormat::Parquet,
        }
    }
}

pub(crate) fn run(args: &SqlArgs) -> Result<()> {
    let format =
        args.format.or_else(|| args.out.as_deref().and_then(Format::of_name)).unwrap_or(Format::Table);
    if format == Format::Parquet && args.out.is_none() {
        bail!("Parquet needs --out FILE");
    }
    let resources = args.resources.resources(std::env::temp_dir);
    let runtime = Builder::new_multi_thread().worker_threads(resources.threads).enable_all().build()?;
    let session = Session::new(&resources).map_err(said)?;
    runtime.block_on(async {
        let rows = session.rows(&args.query).await.map_err(said)?;
        match &args.out {
            Some(path) => {
                let mut file = FinishedFile::create(path)?;
                write_rows(rows, format.into(), &mut file).await.map_err(said)?;
                file.finish()
            }
            None => write_rows(rows, format.into(), &mut tabia_stdio::stdout()).await.map_err(said),
        }
    })?;
    let faults = session.reading().faults();
    if faults > 0 {
        eprintln!("{faults} games or rows could not be read:");
        for (_, report) in session.reading().sources() {
            eprint!("{}", report.faults);
        }
    }
    Ok(())
}

/// A DataFusion error, whose message already includes its causes.
pub(super) fn said(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!("{error}")
}
