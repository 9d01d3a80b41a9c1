//! The SQL functions, on known positions and against the underlying libraries.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{
    DataType, Field, Float32Type, Int32Type, Schema, UInt8Type, UInt16Type, UInt64Type,
};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::{SessionConfig, SessionContext};
use shakmaty::{CastlingMode, Color, Position};
use tabia_data::EvaluationRecord;
use tabia_encoding::{Analysis, ForWhite, Score, TEMPERATURE_CP, soft_labels, vocabularies};
use tabia_game::position_from_fen;
use tabia_query::functions;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

fn context() -> SessionContext {
    let mut context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(2));
    functions().register(&mut context).unwrap();
    context
}

async fn query(context: &SessionContext, sql: &str) -> Vec<RecordBatch> {
    context.sql(sql).await.unwrap().collect().await.unwrap()
}

async fn printed(sql: &str) -> String {
    let batches = query(&context(), sql).await;
    pretty_format_batches(&batches).unwrap().to_string().lines().nth(3).unwrap_or("").replace(' ', "")
}

/// A table `t` with a column `fen`: the fixtures' positions, NULL and invalid FENs.
fn positions(context: &SessionContext) -> Vec<Option<String>> {
    let file = include_str!("../../../fixtures/positions.fen");
    let mut fens: Vec<Option<String>> =
        file.lines().filter(|line| !line.is_empty()).map(|line| Some(line.to_owned())).collect();
    fens.extend([None, Some("hello".into()), Some("8/8/8/8/8/8/8/8 w - - 0 1".into())]);
    let column: ArrayRef = Arc::new(StringArray::from(fens.clone()));
    let schema = Arc::new(Schema::new(vec![Field::new("fen", DataType::Utf8, true)]));
    context.register_batch("t", RecordBatch::try_new(schema, vec![column]).unwrap()).unwrap();
    fens
}

#[tokio::test]
async fn position_functions_match_shakmaty() {
    let context = context();
    let fens = positions(&context);
    let sql = "select fen_key(fen), side(fen), legal_moves(fen), phase(fen), unpack_position(pack_position(fen)) from t";
    let batches = query(&context, sql).await;
    let batch = &batches[0];
    let (keys, sides) = (batch.column(0).as_primitive::<UInt64Type>(), batch.column(1).as_string::<i32>());
    let (moves, phases) = (batch.column(2).as_list::<i32>(), batch.column(3).as_primitive::<UInt8Type>());
    let unpacked = batch.column(4).as_string::<i32>();
    for (row, fen) in fens.iter().enumerate() {
        let Some(position) = fen.as_deref().and_then(|fen| position_from_fen(fen).ok()) else {
            assert!((0..5).all(|column| batch.column(column).is_null(row)), "{fen:?} is no position");
            continue;
        };
        assert_eq!(sides.value(row), position.turn().fold_wb("w", "b"));
        let mut expected: Vec<String> = position
            .legal_moves()
            .iter()
            .map(|legal| legal.to_uci(CastlingMode::Standard).to_string())
            .collect();
        expected.sort();
        let found: Vec<String> =
            moves.value(row).as_string::<i32>().iter().flatten().map(str::to_owned).collect();
        assert_eq!(found, expected, "{fen:?}");
        assert!(phases.value(row) <= 24);
        let key = EvaluationRecord { position: position.clone(), sessions: vec![] }.key().unwrap();
        assert_eq!(keys.value(row), key.0);
        assert_eq!(position_from_fen(unpacked.value(row)).unwrap(), position, "{fen:?}");
    }
}

#[tokio::test]
async fn keys_ignore_move_counters() {
    let key = |fen: &str| format!("fen_key('{fen}')");
    let four = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    let no_capture = "rnbqkbnr/pppp1ppp/8/4p3/8/8/PPPPPPPP/RNBQKBNR w KQkq e6 0 2";
    let plain = "rnbqkbnr/pppp1ppp/8/4p3/8/8/PPPPPPPP/RNBQKBNR w KQkq - 9 30";
    let sql = format!(
        "select {} = {}, {} = {}, {} = {}",
        key(START),
        key(four),
        key(no_capture),
        key(plain),
        key(START),
        key(plain)
    );
    assert_eq!(printed(&sql).await, "|true|true|false|");
}

#[tokio::test]
async fn material_and_phase_of_known_positions() {
    for (fen, material, phase) in [
        (START, 0, 24),
        ("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", 1000, 4),
        ("4kb2/8/8/8/8/8/4P3/4KN2 b - - 0 1", 90, 2),
        ("QQQQk3/8/8/8/8/8/8/QQQQK3 b - - 0 1", 7200, 24),
    ] {
        let sql = format!("select material('{fen}'), phase('{fen}')");
        if position_from_fen(fen).is_ok() {
            assert_eq!(printed(&sql).await, format!("|{material}|{phase}|"), "{fen}");
        }
    }
}

#[tokio::test]
async fn move_indices_match_the_vocabularies() {
    let fen = "r3k2r/P7/8/8/8/8/8/R3K2R w KQkq - 0 1";
    let position = position_from_fen(fen).unwrap();
    for vocabulary in vocabularies() {
        for legal in position.legal_moves() {
            let uci = legal.to_uci(CastlingMode::Standard);
            let sql = format!("select move_index('{fen}', '{uci}', '{}')", vocabulary.id());
            let expected = vocabulary.slot(Color::White, legal).index.0;
            let batches = query(&context(), &sql).await;
            assert_eq!(batches[0].column(0).as_primitive::<UInt16Type>().value(0), expected, "{sql}");
        }
    }
    let both = format!(
        "select move_index('{fen}', 'e1g1') = move_index('{fen}', 'e1h1'), \
         move_index('{fen}', 'e1g1') = move_index('{fen}', 'e1g1', 'canonical-1968'), move_index('{fen}', 'e1e5')"
    );
    assert_eq!(printed(&both).await, "|true|true||");
}

#[tokio::test]
async fn an_unknown_vocabulary_fails_the_query() {
    let sql = format!("select move_index('{START}', 'e2e4', 'martian')");
    let context = context();
    let error = match context.sql(&sql).await {
        Ok(rows) => rows.collect().await.unwrap_err().to_string(),
        Err(error) => error.to_string(),
    };
    assert!(error.contains("\"martian\"") && error.contains("canonical-1968"), "{error}");
}

/// A position's number, move, depth, cp, mate.
type Line = (i32, &'static str, i32, Option<i32>, Option<i32>);

/// Lines of 500 positions, as a table `lines`.
fn lines(context: &SessionContext) -> Vec<Line> {
    let moves = ["e2e4", "d2d4", "c2c4", "g1f3"];
    let rows: Vec<_> = (0..6000)
        .map(|n: i32| {
            let spread = n.wrapping_mul(747_796_405).rotate_left(13);
            let mate = (spread % 11 == 0).then_some(if spread % 2 == 0 { 3 } else { -4 });
            let cp = mate.is_none().then_some(spread % 90);
            (spread.rem_euclid(500), moves[(spread & 3) as usize], 20 + (spread >> 5 & 1), cp, mate)
        })
        .collect();
    let column =
        |of: fn(&Line) -> Option<i32>| -> ArrayRef { Arc::new(rows.iter().map(of).collect::<Int32Array>()) };
    let texts = |of: fn(&Line) -> &'static str| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(of(row))).collect::<StringArray>())
    };
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("position", column(|row| Some(row.0)), true),
        ("move", texts(|row| row.1), true),
        ("depth", column(|row| Some(row.2)), true),
        ("cp", column(|row| row.3), true),
        ("mate", column(|row| row.4), true),
        ("side", texts(|row| if row.0 % 2 == 0 { "w" } else { "b" }), true),
    ])
    .unwrap();
    context.register_batch("lines", batch).unwrap();
    rows
}

#[tokio::test]
async fn soft_labels_match_the_encoding_crate() {
    let context = context();
    let rows = lines(&context);
    let sql = "select position, soft_label(\"move\", depth, cp, mate, side) from lines group by position";
    let batches = query(&context, sql).await;
    let mut groups = 0;
    for batch in &batches {
        let numbers = batch.column(0).as_primitive::<Int32Type>();
        let labels = batch.column(1).as_list::<i32>();
        for row in 0..batch.num_rows() {
            groups += 1;
            let number = numbers.value(row);
            let analyses: Vec<Analysis<&str>> = rows
                .iter()
                .filter(|line| line.0 == number)
                .map(|&(_, mv, depth, cp, mate)| {
                    let score = match mate.and_then(std::num::NonZeroI32::new) {
                        Some(mate) => Score::Mate(mate),
                        None => Score::Centipawns(cp.unwrap()),
                    };
                    Analysis { mv, depth: depth.unsigned_abs(), score: ForWhite(score) }
                })
                .collect();
            let turn = Color::from_white(number % 2 == 0);
            let expected = soft_labels(&analyses, turn, TEMPERATURE_CP);
            let list = labels.value(row);
            let fields = list.as_struct();
            let moves = fields.column(0).as_string::<i32>();
            let probabilities = fields.column(1).as_primitive::<Float32Type>();
            assert_eq!(moves.len(), expected.len());
            for (played, probability) in moves.iter().flatten().zip(probabilities.values()) {
                let wanted = expected.iter().find(|label| label.0 == played).unwrap().1;
                assert!((wanted - probability).abs() < 1e-6, "{played} {wanted} {probability}");
            }
            assert!(probabilities.values().is_sorted_by(|a, b| a >= b));
        }
    }
    assert_eq!(groups, 500);
}

#[tokio::test]
async fn soft_label_ignores_incomplete_rows() {
    let sql = "select soft_label(m, d, cp, mate, s) from (values \
        (cast(null as varchar), 20, 5, cast(null as int), 'w'), ('e2e4', 20, null, 0, 'w'), ('e2e4', 20, 7, null, 'x')) \
        as t(m, d, cp, mate, s)";
    assert_eq!(printed(sql).await, "||");
    let one = "select soft_label('e2e4', 20, 7, cast(null as int), 'b', 10.0)";
    assert_eq!(printed(one).await, "|[{move:e2e4,probability:1.0}]|");
}

#[tokio::test]
async fn draws_are_uniform_and_depend_on_the_key_only() {
    let sql = "select count(*) from generate_series(1, 100000) as t(n) where draw(cast(n as bigint unsigned)) < 0.1";
    let count: u32 = printed(sql).await.trim_matches('|').parse().unwrap();
    assert!((9_500..10_500).contains(&count), "{count}");
}
