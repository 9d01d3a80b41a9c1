use datafusion::arrow::datatypes::Field;
use tabia_tables::game_fields;

use super::TableKind;

/// The columns of a kind of table of games.
pub(super) fn fields(kind: TableKind) -> Vec<Field> {
    let has = |name: &str| match kind {
        TableKind::Puzzles => {
            matches!(name, "file" | "rating" | "plies" | "fen" | "moves" | "key" | "record")
        }
        TableKind::GameShards => {
            !matches!(name, "white" | "black" | "rating" | "time_control" | "eco" | "event" | "site" | "date")
        }
        TableKind::Pgn | TableKind::Evaluations | TableKind::EvaluationShards => name != "rating",
    };
    game_fields().into_iter().filter(|field| has(field.name())).collect()
}
