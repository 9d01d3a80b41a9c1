#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::{
    borrow::Cow,
    fmt,
    num::{NonZeroI32, NonZeroU32},
};

use serde::{
    Deserialize, Deserializer,
    de::{Error, Visitor},
};
use shakmaty::{CastlingMode, Chess, FromSetup, PositionError, fen::Fen, uci::UciMove};
use tabia_encoding::{ForWhite, Score};

use super::{Chunk, FaultKind, ParsedChunk};
use crate::{EvaluationRow, Line};

/// Why a row of the Lichess evaluations is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowFault {
    /// The FEN is invalid, or its position illegal.
    #[error("`{0}` is not a legal position")]
    Position(String),
    /// Castling rights of Chess960.
    #[error("`{0}` is a position of Chess960")]
    Chess960(String),
    /// There are no moves.
    #[error("has no line")]
    NoLine,
    /// There is no score.
    #[error("has no score")]
    NoScore,
    /// The first move of the line is not legal.
    #[error("`{0}` is not a legal move")]
    FirstMove(String),
    /// A required number is missing.
    #[error("has no {0}")]
    Missing(&'static str),
    /// A depth, node count or score is out of range.
    #[error("{what} {value} is out of range")]
    Number {
        /// Which number.
        what: &'static str,
        /// What it says.
        value: i64,
    },
}

impl RowFault {
    /// The kind of fault.
    pub fn kind(&self) -> FaultKind {
        match self {
            RowFault::Position(_) => FaultKind::BadPosition,
            RowFault::Chess960(_) => FaultKind::Variant,
            RowFault::NoLine => FaultKind::NoLine,
            RowFault::NoScore => FaultKind::NoScore,
            RowFault::FirstMove(_) => FaultKind::IllegalMove,
            RowFault::Missing(_) | RowFault::Number { .. } => FaultKind::BadNumber,
        }
    }
}

/// A row of the Lichess evaluations, from its columns.
///
/// `fen` has four fields or six, of which the counters do not matter. `line` is moves in UCI notation, of which the
/// first matters; castling may be spelled either way. Scores are from White's point of view, in
/// hundredths of a pawn or moves to mate; with both, the mate counts.
///
/// # Errors
/// If the row has no legal position, no legal move or no score.
pub fn evaluation_row(
    fen: &str,
    line: &str,
    depth: i64,
    knodes: i64,
    white_cp: Option<i32>,
    white_mate: Option<i32>,
) -> Result<EvaluationRow, RowFault> {
    let (white_cp, white_mate) = (white_cp.map(i64::from), white_mate.map(i64::from));
    let columns = Columns { line, depth, knodes, white_cp, white_mate };
    columns.check()?;
    columns.row(&position(fen)?)
}

/// The columns of a row except its position.
#[derive(Clone, Copy)]
struct Columns<'a> {
    line: &'a str,
    depth: i64,
    knodes: i64,
    white_cp: Option<i64>,
    white_mate: Option<i64>,
}

impl Columns<'_> {
    /// Rows without a line or a score are common and checked before the position is parsed.
    fn check(&self) -> Result<(), RowFault> {
        if self.line.trim_ascii().is_empty() {
            return Err(RowFault::NoLine);
        }
        if self.white_cp.is_none() && self.white_mate.is_none() {
            return Err(RowFault::NoScore);
        }
        Ok(())
    }

    fn row(&self, position: &Chess) -> Result<EvaluationRow, RowFault> {
        self.check()?;
        let first = self.line.split_ascii_whitespace().next().ok_or(RowFault::NoLine)?;
        let illegal = || RowFault::FirstMove(shortened(first));
        let uci = UciMove::from_ascii(first.as_bytes()).map_err(|_| illegal())?;
        let first = uci.to_move(position).map_err(|_| illegal())?;
        let number = |what, value| RowFault::Number { what, value };
        let score = match (self.white_mate, self.white_cp) {
            (Some(mate), _) => i32::try_from(mate)
                .ok()
                .and_then(NonZeroI32::new)
                .filter(|moves| *moves != NonZeroI32::MIN)
                .map(Score::Mate)
                .ok_or(number("mate", mate))?,
            (None, Some(cp)) => i32::try_from(cp)
                .ok()
                .filter(|cp| *cp != i32::MIN)
                .map(Score::Centipawns)
                .ok_or(number("cp", cp))?,
            (None, None) => return Err(RowFault::NoScore),
        };
        Ok(EvaluationRow {
            position: position.clone(),
            depth: u8::try_from(self.depth).map_err(|_| number("depth", self.depth))?,
            knodes: u64::try_from(self.knodes).map_err(|_| number("knodes", self.knodes))?,
            line: Line { first, score: ForWhite(score) },
        })
    }
}

/// Parses a position with counters `0 1`. Impossible castling rights and en passant squares are dropped.
fn position(fen: &str) -> Result<Chess, RowFault> {
    let bad = || RowFault::Position(shortened(fen));
    let mut setup = Fen::from_ascii(fen.trim_ascii().as_bytes()).map_err(|_| bad())?.into_setup();
    (setup.halfmoves, setup.fullmoves) = (0, NonZeroU32::MIN);
    if CastlingMode::detect(&setup) == CastlingMode::Chess960 {
        return Err(RowFault::Chess960(shortened(fen)));
    }
    Chess::from_setup(setup, CastlingMode::Standard)
        .or_else(PositionError::ignore_invalid_castling_rights)
        .or_else(PositionError::ignore_invalid_ep_square)
        .map_err(|_| bad())
}

/// A printable prefix of an invalid text.
fn shortened(text: &str) -> String {
    text.chars().take(80).map(|c| if c.is_control() { '·' } else { c }).collect()
}

/// A line of either form: `evals` in `lichess_db_eval.jsonl`, the other columns in flat rows.
#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(borrow)]
    fen: Text<'a>,
    #[serde(borrow, default)]
    evals: Option<Vec<Eval<'a>>>,
    #[serde(borrow, default)]
    line: Option<Text<'a>>,
    #[serde(default)]
    depth: Option<Whole>,
    #[serde(default)]
    knodes: Option<Whole>,
    #[serde(default, rename = "cp")]
    white_cp: Option<Whole>,
    #[serde(default, rename = "mate")]
    white_mate: Option<Whole>,
}

#[derive(Deserialize)]
struct Eval<'a> {
    #[serde(borrow)]
    pvs: Vec<Pv<'a>>,
    knodes: Whole,
    depth: Whole,
}

#[derive(Deserialize)]
struct Pv<'a> {
    #[serde(borrow, default)]
    line: Option<Text<'a>>,
    #[serde(default, rename = "cp")]
    white_cp: Option<Whole>,
    #[serde(default, rename = "mate")]
    white_mate: Option<Whole>,
}

/// Text borrowed from the line of the file, unless it has escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// An integer, also when written as `35.0`.
#[derive(Clone, Copy)]
struct Whole(i64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Whole, D::Error> {
        struct Number;
        impl Visitor<'_> for Number {
            type Value = Whole;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Whole, E> {
                Ok(Whole(value))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Whole, E> {
                i64::try_from(value).map(Whole).map_err(E::custom)
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Whole, E> {
                #[expect(clippy::cast_possible_truncation, reason = "a whole number of this size is exact")]
                if value.fract() == 0.0 && value.abs() < 1e15 {
                    Ok(Whole(value as i64))
                } else {
                    Err(E::custom("not a whole number"))
                }
            }
        }
        deserializer.deserialize_any(Number)
    }
}

/// Turns the lines of a chunk into rows.
pub(super) fn read(chunk: &Chunk, parsed: &mut ParsedChunk) {
    for line in chunk.pieces() {
        let mut fault = |kind, what: &dyn Fn() -> String| {
            parsed.faults.add(kind, &chunk.whereabouts(line.place), what);
        };
        let Ok(text) = str::from_utf8(line.bytes) else {
            fault(FaultKind::NotText, &|| "not UTF-8".to_owned());
            continue;
        };
        let entry: Entry<'_> = match serde_json::from_str(text) {
            Ok(entry) => entry,
            Err(error) => {
                fault(FaultKind::BadJson, &|| format!("{error}: `{}`", shortened(text)));
                continue;
            }
        };
        let mut position = None;
        for columns in entry.rows() {
            // Parse the position only if a row needs it.
            let row = columns.and_then(|columns| {
                columns.check()?;
                let position = match &position {
                    Some(known) => known,
                    None => position.insert(self::position(&entry.fen.0)?),
                };
                columns.row(position)
            });
            match row {
                Ok(row) => parsed.evaluations.push(row),
                Err(error) => {
                    parsed.faults.add(error.kind(), &chunk.whereabouts(line.place), || error.to_string());
                }
            }
        }
    }
}

impl Entry<'_> {
    fn rows(&self) -> impl Iterator<Item = Result<Columns<'_>, RowFault>> {
        let flat = self.evals.is_none().then(|| {
            let Some(depth) = self.depth else { return Err(RowFault::Missing("depth")) };
            let Some(knodes) = self.knodes else { return Err(RowFault::Missing("knodes")) };
            Ok(columns(self.line.as_ref(), depth, knodes, self.white_cp, self.white_mate))
        });
        let nested = self.evals.iter().flatten().flat_map(|eval| {
            let of_pv = |pv: &Pv<'_>| (eval.depth, eval.knodes, pv.white_cp, pv.white_mate);
            eval.pvs.iter().map(move |pv| {
                let (depth, knodes, cp, mate) = of_pv(pv);
                Ok(columns(pv.line.as_ref(), depth, knodes, cp, mate))
            })
        });
        flat.into_iter().chain(nested)
    }
}

fn columns<'a>(
    line: Option<&'a Text<'_>>,
    depth: Whole,
    knodes: Whole,
    white_cp: Option<Whole>,
    white_mate: Option<Whole>,
) -> Columns<'a> {
    let line = line.map_or("", |line| line.0.as_ref());
    let number = |whole: Option<Whole>| whole.map(|whole| whole.0);
    Columns {
        line,
        depth: depth.0,
        knodes: knodes.0,
        white_cp: number(white_cp),
        white_mate: number(white_mate),
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::{Move, Position, Square, fen::Epd};

    use super::*;
    use crate::source::{Chunks, GameRules, Part, SourceKind};

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    const CASTLES: &str = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq -";

    fn read_all(text: &str) -> ParsedChunk {
        let text = std::io::Cursor::new(text.as_bytes().to_vec());
        let chunks: Vec<_> = Chunks::new("e.jsonl", SourceKind::EvaluationsJsonl, text).collect();
        assert!(chunks.len() <= 1);
        chunks.first().map(|chunk| chunk.read(&GameRules::default())).unwrap_or_default()
    }

    fn counts(parsed: &ParsedChunk) -> Vec<(FaultKind, u64)> {
        parsed.faults.iter().map(|(kind, count)| (kind, count.count)).collect()
    }

    #[test]
    fn nested_evaluations_give_a_row_per_line() {
        let text = format!(
            "\u{feff}{{\"fen\":\"{START}\",\"evals\":[{{\"pvs\":[{{\"cp\":18,\"line\":\"e2e4 e7e5\"}},\
             {{\"mate\":-3,\"line\":\"f2f3\"}},{{\"cp\":5}}],\"knodes\":200,\"depth\":30}},\
             {{\"pvs\":[{{\"line\":\"d2d4\"}}],\"knodes\":1,\"depth\":2}}]}}\r\n"
        );
        let parsed = read_all(&text);
        let rows = &parsed.evaluations;
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].depth, rows[0].knodes), (30, 200));
        assert_eq!(rows[0].line.score, ForWhite(Score::Centipawns(18)));
        assert_eq!(rows[1].line.score, ForWhite(Score::Mate(NonZeroI32::new(-3).unwrap())));
        assert_eq!(rows[1].line.first.to(), Square::F3);
        assert_eq!(counts(&parsed), [(FaultKind::NoLine, 1), (FaultKind::NoScore, 1)]);
    }

    #[test]
    fn flat_rows_are_read_with_escapes_nulls_and_floats() {
        let text = format!(
            "{{\"fen\":\"{}\",\"line\":\"e2e4\",\"depth\":22.0,\"knodes\":17,\"cp\":35.0,\"mate\":null}}\n\
             {{\"mate\":2,\"cp\":null,\"line\":\"g1f3 d7d5\",\"knodes\":3,\"depth\":1,\"fen\":\"{START} 7 19\",\"other\":[1]}}\n",
            START.replace('/', "\\/")
        );
        let parsed = read_all(&text);
        assert!(parsed.faults.is_empty(), "{}", parsed.faults);
        let [first, second] = &parsed.evaluations[..] else { panic!("two rows") };
        assert_eq!((first.depth, first.line.score), (22, ForWhite(Score::Centipawns(35))));
        assert_eq!(second.line.score, ForWhite(Score::Mate(NonZeroI32::new(2).unwrap())));
        assert_eq!((second.position.halfmoves(), second.position.fullmoves().get()), (0, 1));
        assert_eq!(first.position, second.position);
    }

    #[test]
    fn both_castling_notations_are_read() {
        for line in ["e1g1", "e1h1 a8a1"] {
            let row = evaluation_row(CASTLES, line, 10, 1, Some(0), None).unwrap();
            assert_eq!(row.line.first, Move::Castle { king: Square::E1, rook: Square::H1 });
        }
    }

    #[test]
    fn incomplete_rows_are_rejected() {
        let row = |fen, line, depth, cp, mate| evaluation_row(fen, line, depth, 1, cp, mate).unwrap_err();
        assert_eq!(row(START, "", 1, Some(1), None), RowFault::NoLine);
        assert_eq!(row("nonsense", "e2e4", 1, None, None), RowFault::NoScore);
        assert_eq!(row(START, "e2e5", 1, Some(1), None), RowFault::FirstMove("e2e5".into()));
        assert_eq!(row(START, "0000", 1, Some(1), None), RowFault::FirstMove("0000".into()));
        assert_eq!(row(START, "e2e4", 300, Some(1), None), RowFault::Number { what: "depth", value: 300 });
        assert_eq!(row(START, "e2e4", 3, Some(1), Some(0)), RowFault::Number { what: "mate", value: 0 });
        assert!(matches!(row("8/8/8/8/8/8/8/8 w - -", "e2e4", 3, Some(1), None), RowFault::Position(_)));
        let chess960 = "bnrkrnqb/pppppppp/8/8/8/8/PPPPPPPP/BNRKRNQB w KQkq -";
        assert!(matches!(row(chess960, "e2e4", 3, Some(1), None), RowFault::Chess960(_)));
        assert_eq!(
            evaluation_row(START, "e2e4", 3, -1, Some(1), None),
            Err(RowFault::Number { what: "knodes", value: -1 })
        );
    }

    #[test]
    fn impossible_castling_rights_are_dropped() {
        let row = evaluation_row("4k3/8/8/8/4P3/8/8/4K2R b KQkq e3", "e8e7", 3, 9, Some(1), None).unwrap();
        let epd = Epd::from_position(&row.position, shakmaty::EnPassantMode::Legal);
        assert_eq!(epd.to_string(), "4k3/8/8/8/4P3/8/8/4K2R b K -");
    }

    #[test]
    fn an_invalid_line_is_skipped() {
        let good = format!("{{\"fen\":\"{START}\",\"line\":\"e2e4\",\"depth\":1,\"knodes\":1,\"cp\":1}}");
        let cut = &good[..good.len() - 9];
        let huge = good.replace("\"knodes\":1", "\"knodes\":99999999999999999999999");
        let half = good.replace("\"cp\":1", "\"cp\":1.5");
        let no_depth = good.replace("\"depth\":1,", "");
        let text = format!("{good}\n{cut}\n[]\nnull\n{huge}\n{half}\n{no_depth}\n{good}");
        let parsed = read_all(&text);
        assert_eq!(parsed.evaluations.len(), 2);
        assert_eq!(counts(&parsed), [(FaultKind::BadJson, 5), (FaultKind::BadNumber, 1)]);
        let (_, bad_json) = parsed.faults.iter().next().unwrap();
        assert_eq!(bad_json.examples[0].at.part, Part::Line(2));
    }

    #[test]
    fn invalid_utf8_is_counted() {
        let text = std::io::Cursor::new(b"{\"fen\":\"\xFF\xFE\"}\n\0\x01\x02\n".to_vec());
        let chunk = Chunks::new("e.jsonl", SourceKind::EvaluationsJsonl, text).next().unwrap();
        let parsed = chunk.read(&GameRules::default());
        assert_eq!(counts(&parsed), [(FaultKind::NotText, 1), (FaultKind::BadJson, 1)]);
    }
}
