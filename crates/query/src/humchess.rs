//! HumChess's training rows as Parquet, in and out: tokens, move_id, promo_id, is_promotion, legal_mask.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, BooleanBuilder, Int8Builder, Int16Builder, Int32Builder,
    ListBuilder, RecordBatch,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Int16Type, Int32Type, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use datafusion::parquet::basic::Compression;
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::properties::WriterProperties;
use shakmaty::{ByColor, Position};
use tabia_data::{GameHead, GameRecord, Ply};
use tabia_encoding::{HumChessRow, HumChessRowError, PlayerInfo, RatingPool, Situation};

/// Rows per batch.
const ROWS: usize = 8192;

/// The columns a file must have to be read.
pub(crate) const NEEDED: [&str; 3] = ["tokens", "move_id", "legal_mask"];

/// A file that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum HumChessError {
    /// The file as such.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    /// Its columns.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// The system refuses.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Not a file of such rows.
    #[error("it has no column {0}")]
    Missing(&'static str),
}

/// Counts of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HumChessTotals {
    /// Moves written.
    pub rows: u64,
    /// Games whose moves were written.
    pub games: u64,
    /// Games skipped, because a rating is unknown.
    pub unrated: u64,
}

/// Writes games as training rows of HumChess: a row for each move. A puzzle gives the solver's moves.
pub struct HumChessWriter<W: Write + Send> {
    writer: ArrowWriter<W>,
    schema: SchemaRef,
    columns: Columns,
    pending: usize,
    totals: HumChessTotals,
}

struct Columns {
    tokens: ListBuilder<Int32Builder>,
    move_id: Int16Builder,
    promo_id: Int8Builder,
    is_promotion: BooleanBuilder,
    legal_mask: BinaryBuilder,
}

impl<W: Write + Send> HumChessWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn new(out: W) -> Result<HumChessWriter<W>, HumChessError> {
        let item = Arc::new(Field::new("item", DataType::Int32, true));
        let schema = Arc::new(Schema::new(vec![
            Field::new("tokens", DataType::List(item), false),
            Field::new("move_id", DataType::Int16, false),
            Field::new("promo_id", DataType::Int8, false),
            Field::new("is_promotion", DataType::Boolean, false),
            Field::new("legal_mask", DataType::Binary, false),
        ]));
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties))?;
        let columns = Columns {
            tokens: ListBuilder::new(Int32Builder::new()),
            move_id: Int16Builder::new(),
            promo_id: Int8Builder::new(),
            is_promotion: BooleanBuilder::new(),
            legal_mask: BinaryBuilder::new(),
        };
        Ok(HumChessWriter { writer, schema, columns, pending: 0, totals: HumChessTotals::default() })
    }

    /// Adds the moves of a game; games without both ratings are skipped.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn push(&mut self, game: &GameRecord) -> Result<(), HumChessError> {
        let ratings = game.head.ratings;
        if ratings.iter().any(Option::is_none) {
            self.totals.unrated += 1;
            return Ok(());
        }
        self.totals.games += 1;
        // A clock shows the time after a move, so the time before it comes from the player's previous move.
        let start = game.head.pace.map(|pace| pace.base);
        let mut clocks = ByColor { white: start, black: start };
        let mut position = game.start.clone();
        for (number, ply) in game.plies.iter().enumerate() {
            let turn = position.turn();
            if game.head.pool != RatingPool::Puzzle || number % 2 == 0 {
                let seat = |color| PlayerInfo { rating: ratings[color], time_left: clocks[color] };
                let situation =
                    Situation { mover: seat(turn), opponent: seat(!turn), ..Situation::of(&position) };
                self.add(&HumChessRow::new(&situation, ply.played))?;
            }
            *clocks.get_mut(turn) = ply.clock;
            position.play_unchecked(ply.played);
        }
        Ok(())
    }

    fn add(&mut self, row: &HumChessRow) -> Result<(), HumChessError> {
        let columns = &mut self.columns;
        columns.tokens.values().append_slice(&row.tokens);
        columns.tokens.append(true);
        columns.move_id.append_value(row.move_id.cast_signed());
        columns.promo_id.append_value(row.promotion.map_or(-1, u8::cast_signed));
        columns.is_promotion.append_value(row.promotion.is_some());
        columns.legal_mask.append_value(row.legal_mask);
        self.pending += 1;
        self.totals.rows += 1;
        if self.pending == ROWS { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), HumChessError> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(self.columns.tokens.finish()),
            Arc::new(self.columns.move_id.finish()),
            Arc::new(self.columns.promo_id.finish()),
            Arc::new(self.columns.is_promotion.finish()),
            Arc::new(self.columns.legal_mask.finish()),
        ];
        self.writer.write(&RecordBatch::try_new(Arc::clone(&self.schema), columns)?)?;
        self.pending = 0;
        Ok(())
    }

    /// Completes the file; returns the writer.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> Result<(W, HumChessTotals), HumChessError> {
        self.flush()?;
        Ok((self.writer.into_inner()?, self.totals))
    }
}

/// An invalid row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("row {row}: {fault}")]
pub struct HumChessRowFault {
    /// From 0.
    pub row: u64,
    /// What is wrong with it.
    pub fault: HumChessFault,
}

/// What is wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HumChessFault {
    /// A column is missing or has an invalid value.
    #[error("invalid {0}")]
    Column(&'static str),
    /// The row is not a legal move.
    #[error(transparent)]
    Row(#[from] HumChessRowError),
}

/// Whether a Parquet file has the columns of HumChess's training rows.
///
/// # Errors
/// When it is no Parquet file.
pub fn has_humchess_rows(path: &Path) -> Result<bool, HumChessError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
    Ok(NEEDED.iter().all(|name| builder.schema().column_with_name(name).is_some()))
}

/// Turns a file of HumChess's training rows into games of one move each, given to `each` in order.
///
/// The mover's rating is the middle of the row's bucket. The time left is dropped, as records have clocks after moves only.
///
/// # Errors
/// If the file cannot be read or lacks a column; invalid rows are passed as errors.
pub fn humchess_rows_to_records(
    path: &Path,
    mut each: impl FnMut(Result<GameRecord, HumChessRowFault>),
) -> Result<(), HumChessError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?;
    if let Some(missing) = NEEDED.iter().find(|name| builder.schema().column_with_name(name).is_none()) {
        return Err(HumChessError::Missing(missing));
    }
    let reader: ParquetRecordBatchReader = builder.with_batch_size(ROWS).build()?;
    let mut before = 0;
    for batch in reader {
        let batch = batch?;
        read_rows(&batch, |index, record| {
            each(record.map_err(|fault| HumChessRowFault { row: before + index as u64, fault }));
        })?;
        before += batch.num_rows() as u64;
    }
    Ok(())
}

/// Turns the rows of a batch into games of one move each, with their number in the batch.
pub(crate) fn read_rows(
    batch: &RecordBatch,
    mut each: impl FnMut(usize, Result<GameRecord, HumChessFault>),
) -> Result<(), HumChessError> {
    let rows = Rows::of(batch)?;
    for index in 0..batch.num_rows() {
        each(index, rows.row(index).and_then(|row| Ok(record(&row)?)));
    }
    Ok(())
}

/// The columns of a batch.
struct Rows {
    tokens: ArrayRef,
    move_id: ArrayRef,
    promo_id: Option<ArrayRef>,
    legal_mask: ArrayRef,
}

impl Rows {
    fn of(batch: &RecordBatch) -> Result<Rows, HumChessError> {
        let column = |name: &'static str, of: &DataType| {
            let column = batch.column_by_name(name).ok_or(HumChessError::Missing(name))?;
            Ok::<_, HumChessError>(cast(column, of)?)
        };
        let ids = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
        Ok(Rows {
            tokens: column("tokens", &ids)?,
            move_id: column("move_id", &DataType::Int16)?,
            promo_id: column("promo_id", &DataType::Int16).ok(),
            legal_mask: column("legal_mask", &DataType::Binary)?,
        })
    }

    fn row(&self, row: usize) -> Result<HumChessRow, HumChessFault> {
        let wrong = HumChessFault::Column;
        if self.tokens.is_null(row) || self.move_id.is_null(row) || self.legal_mask.is_null(row) {
            return Err(wrong("a missing value"));
        }
        let tokens = self.tokens.as_list::<i32>().value(row);
        let tokens = tokens.as_primitive::<Int32Type>().values();
        let move_id = self.move_id.as_primitive::<Int16Type>().value(row);
        let promotion = self.promo_id.as_ref().filter(|column| column.is_valid(row));
        let promotion = promotion.map(|column| column.as_primitive::<Int16Type>().value(row));
        let legal_mask = self.legal_mask.as_binary::<i32>().value(row);
        Ok(HumChessRow {
            // Version 2 appends the last moves.
            tokens: tokens.first_chunk().copied().ok_or(wrong("tokens"))?,
            move_id: u16::try_from(move_id).map_err(|_| wrong("move_id"))?,
            promotion: promotion.and_then(|promotion| u8::try_from(promotion).ok()),
            legal_mask: legal_mask.try_into().map_err(|_| wrong("legal_mask"))?,
        })
    }
}

fn record(row: &HumChessRow) -> Result<GameRecord, HumChessRowError> {
    let example = row.decode()?;
    let mover = example.position.turn();
    let ratings = ByColor::new_with(|color| (color == mover).then_some(example.rating));
    let ply = Ply { played: example.chosen, clock: None, evaluation: None };
    let head = GameHead { ratings, ..GameHead::default() };
    Ok(GameRecord { head, start: example.position, plies: vec![ply] })
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use tabia_data::{Chunks, GameRules, SourceKind};
    use tabia_encoding::Elo;

    use super::*;

    const PGN: &str = "[WhiteElo \"1810\"]\n[BlackElo \"1290\"]\n[TimeControl \"180+2\"]\n\n\
        1. e4 {[%clk 0:03:01]} c5 {[%clk 0:02:59]} 2. e5 d5 {[%clk 0:00:05]} 3. exd6 {[%clk 0:02:50]} Nc6 4. dxe7 Nf6 \
        5. exd8=N Kxd8 6. Nf3 1-0\n\n\
        [WhiteElo \"1810\"]\n\n1. e4 *\n";

    fn games() -> Vec<GameRecord> {
        let chunks = Chunks::new("test", SourceKind::Pgn, Cursor::new(PGN.as_bytes()));
        chunks.flat_map(|chunk| chunk.read(&GameRules::default()).games).collect()
    }

    #[test]
    fn games_round_trip_as_one_move_games() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.parquet");
        let mut writer = HumChessWriter::new(File::create(&path).unwrap()).unwrap();
        let games = games();
        games.iter().for_each(|game| writer.push(game).unwrap());
        let (_, totals) = writer.finish().unwrap();
        assert_eq!(totals, HumChessTotals { rows: 11, games: 1, unrated: 1 });
        assert!(has_humchess_rows(&path).unwrap());

        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
        let batch = reader.build().unwrap().next().unwrap().unwrap();
        let tokens = |row: usize| {
            batch.column(0).as_list::<i32>().value(row).as_primitive::<Int32Type>().values().to_vec()
        };
        // Ratings and the time left before the move: 180 s at first, then what the own clock last showed.
        let conditions: Vec<(i32, i32)> = (0..5).map(|row| (tokens(row)[66], tokens(row)[67])).collect();
        assert_eq!(
            conditions,
            [(30 + 9, 47 + 5), (30 + 3, 47 + 5), (39, 47 + 5), (33, 47 + 4), (39, 47 + 18)]
        );

        let mut records = Vec::new();
        humchess_rows_to_records(&path, |record| records.push(record.unwrap())).unwrap();
        let mut position = games[0].start.clone();
        for (record, ply) in records.iter().zip(&games[0].plies) {
            let turn = position.turn();
            // While there are castling rights, rows tell who was to move.
            assert_eq!((&record.start, record.plies[0].played), (&position, ply.played));
            assert_eq!(record.head.ratings[turn], Some(Elo(turn.fold_wb(1850, 1250))));
            assert_eq!(record.head.ratings[!turn], None);
            position.play_unchecked(ply.played);
        }
        assert_eq!(records.len(), 11);
    }
}
