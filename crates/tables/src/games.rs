use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int32Builder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, UInt16Array, UInt32Array, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, Fields, SchemaRef};
use shakmaty::{CastlingMode, Color};
use tabia_data::{FaultKind, Faults, GameBytes, GameRecord, Part, Ply, Whereabouts};
use tabia_game::{Headers, fen_of};

use crate::columns::{bytes_column, list, needs_key, nullable, record_batch, text_column, white_cp_and_mate};

/// The columns of a table of games.
///
/// `moves` is in UCI notation, `clocks` in seconds after each move, `evals` the evaluation after each move from White's point
/// of view, `fen` the position before the first move.
pub fn game_fields() -> Vec<Field> {
    vec![
        nullable("file", DataType::Utf8),
        nullable("game", DataType::UInt64),
        nullable("white", DataType::Utf8),
        nullable("black", DataType::Utf8),
        nullable("white_elo", DataType::UInt16),
        nullable("black_elo", DataType::UInt16),
        nullable("rating", DataType::UInt16),
        nullable("pool", DataType::Utf8),
        nullable("result", DataType::Utf8),
        nullable("time_control", DataType::Utf8),
        nullable("base_s", DataType::Float64),
        nullable("increment_s", DataType::Float64),
        nullable("plies", DataType::UInt32),
        nullable("eco", DataType::Utf8),
        nullable("event", DataType::Utf8),
        nullable("site", DataType::Utf8),
        nullable("date", DataType::Utf8),
        nullable("fen", DataType::Utf8),
        nullable("moves", list(DataType::Utf8)),
        nullable("clocks", list(DataType::Float64)),
        nullable("evals", list(DataType::Struct(eval_fields()))),
        nullable("key", DataType::UInt64),
        nullable("record", DataType::LargeBinary),
    ]
}

fn eval_fields() -> Fields {
    Fields::from(vec![nullable("cp", DataType::Int32), nullable("mate", DataType::Int32)])
}

/// Games that become rows.
pub struct GameBatch {
    rows: Vec<Row>,
    /// Whether the rows need their bytes and keys.
    keyed: bool,
}

struct Row {
    number: u64,
    headers: Option<Headers>,
    record: GameRecord,
    key: u64,
    bytes: Vec<u8>,
}

impl GameBatch {
    /// No games yet, for a table with these columns.
    pub fn new(schema: &SchemaRef) -> GameBatch {
        GameBatch { rows: Vec::new(), keyed: needs_key(schema) }
    }

    /// Adds a game: its number in its source, its tags if it has any, and its record.
    pub fn push(&mut self, number: u64, headers: Option<Headers>, record: GameRecord) {
        self.rows.push(Row { number, headers, record, key: 0, bytes: Vec::new() });
    }

    /// Number of positions before a move.
    pub fn positions(&self) -> u64 {
        self.rows.iter().map(|row| row.record.plies.len() as u64).sum()
    }

    /// Encodes the rows, and drops those that cannot be encoded.
    pub fn drop_unkeepable(&mut self, source: &str, faults: &mut Faults) {
        if !self.keyed {
            return;
        }
        self.rows.retain_mut(|row| {
            let keyed = row.record.to_bytes().and_then(|bytes| Ok((GameBytes::parse(&bytes)?.key(), bytes)));
            match keyed {
                Ok((key, bytes)) => {
                    (row.key, row.bytes) = (key.0, bytes);
                    true
                }
                Err(error) => {
                    let at = Whereabouts { source: source.into(), offset: 0, part: Part::Record(row.number) };
                    faults.add(FaultKind::BadPosition, &at, || error.to_string());
                    false
                }
            }
        });
    }

    /// The games as columns. `source` is the name of the file.
    ///
    /// # Errors
    /// If the schema has a column that games do not have.
    pub fn finish(self, schema: &SchemaRef, source: &str) -> Result<RecordBatch, ArrowError> {
        record_batch(schema, self.rows.len(), |name| self.column(name, source))
    }

    fn column(&self, name: &str, source: &str) -> Result<ArrayRef, ArrowError> {
        let rows = self.rows.iter();
        let tag = |tag: &'static str| {
            let value =
                move |row: &'_ Row| -> Option<String> { row.headers.as_ref()?.get(tag).map(str::to_owned) };
            text_column(self.rows.iter().map(value))
        };
        let rating = |color: Color| -> ArrayRef {
            let ratings = self.rows.iter().map(|row| row.record.head.ratings[color].map(|elo| elo.0));
            Arc::new(ratings.collect::<UInt16Array>())
        };
        Ok(match name {
            "file" => text_column(rows.map(|_| Some(source))),
            "game" => Arc::new(rows.map(|row| row.number).collect::<UInt64Array>()),
            "white" => tag("White"),
            "black" => tag("Black"),
            "white_elo" | "rating" => rating(Color::White),
            "black_elo" => rating(Color::Black),
            "pool" => text_column(rows.map(|row| Some(row.record.head.pool.name()))),
            "result" => text_column(rows.map(|row| Some(result_name(row.record.head.result)))),
            "time_control" => tag("TimeControl"),
            "base_s" => {
                let bases = rows.map(|row| row.record.head.pace.map(|pace| pace.base.as_secs_f64()));
                Arc::new(bases.collect::<Float64Array>())
            }
            "increment_s" => {
                let increments =
                    rows.map(|row| row.record.head.pace.map(|pace| pace.increment.as_secs_f64()));
                Arc::new(increments.collect::<Float64Array>())
            }
            "plies" => Arc::new(rows.map(|row| row.record.plies.len() as u32).collect::<UInt32Array>()),
            "eco" => tag("ECO"),
            "event" => tag("Event"),
            "site" => tag("Site"),
            "date" => tag("Date"),
            "fen" => text_column(rows.map(|row| Some(fen_of(&row.record.start)))),
            "moves" => self.moves(),
            "clocks" => self.clocks(),
            "evals" => self.evals(),
            "key" => Arc::new(rows.map(|row| row.key).collect::<UInt64Array>()),
            "record" => bytes_column(rows.map(|row| row.bytes.as_slice())),
            _ => return Err(ArrowError::SchemaError(format!("games have no column {name}"))),
        })
    }

    fn moves(&self) -> ArrayRef {
        let mut lists = ListBuilder::new(StringBuilder::new());
        for row in &self.rows {
            let uci = |ply: &Ply| Some(ply.played.to_uci(CastlingMode::Standard).to_string());
            lists.append_value(row.record.plies.iter().map(uci));
        }
        Arc::new(lists.finish())
    }

    /// NULL for a game without clocks.
    fn clocks(&self) -> ArrayRef {
        let mut lists = ListBuilder::new(Float64Builder::new());
        for row in &self.rows {
            let clocks = row.record.plies.iter().map(|ply| ply.clock.map(|clock| clock.as_secs_f64()));
            if clocks.clone().all(|clock| clock.is_none()) {
                lists.append_null();
            } else {
                lists.append_value(clocks);
            }
        }
        Arc::new(lists.finish())
    }

    /// NULL for a game without evaluations.
    fn evals(&self) -> ArrayRef {
        let mut lists = ListBuilder::new(StructBuilder::from_fields(eval_fields(), 0));
        for row in &self.rows {
            let has_any = row.record.plies.iter().any(|ply| ply.evaluation.is_some());
            for ply in row.record.plies.iter().filter(|_| has_any) {
                let (cp, mate) = ply.evaluation.map_or((None, None), white_cp_and_mate);
                let scores = lists.values();
                let field = "the fields of an evaluation are 32-bit numbers";
                scores.field_builder::<Int32Builder>(0).expect(field).append_option(cp);
                scores.field_builder::<Int32Builder>(1).expect(field).append_option(mate);
                scores.append(ply.evaluation.is_some());
            }
            lists.append(has_any);
        }
        Arc::new(lists.finish())
    }
}

fn result_name(result: Option<Option<Color>>) -> &'static str {
    match result {
        Some(Some(Color::White)) => "1-0",
        Some(Some(Color::Black)) => "0-1",
        Some(None) => "1/2-1/2",
        None => "*",
    }
}
