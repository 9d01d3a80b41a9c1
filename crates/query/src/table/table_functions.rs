use std::path::Path;
use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::Expr;
use datafusion::scalar::ScalarValue;
use tabia_encoding::UnknownRatingPool;

use super::{ChessTable, TableKind, TableSpec};

/// Registers the table functions in a context: `pgn('path' [, pool])`, `evaluations('path')`, `puzzles('path')` and
/// `shards('folder')`.
pub(crate) fn register(context: &SessionContext) {
    for (name, form) in [
        ("pgn", Form::Files(TableKind::Pgn)),
        ("evaluations", Form::Files(TableKind::Evaluations)),
        ("puzzles", Form::Files(TableKind::Puzzles)),
        ("shards", Form::Set),
    ] {
        context.register_udtf(name, Arc::new(FilesAsTable { name, form }));
    }
}

#[derive(Debug)]
struct FilesAsTable {
    name: &'static str,
    form: Form,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    Files(TableKind),
    Set,
}

impl TableFunctionImpl for FilesAsTable {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let fault = |what: String| DataFusionError::Plan(format!("{}: {what}", self.name));
        let texts: Option<Vec<&str>> = args.exprs().iter().map(literal).collect();
        let usage = match self.form {
            Form::Files(TableKind::Pgn) => "takes a path, and a pool: pgn('games.pgn.zst', 'online')",
            _ => "takes a path in quotes",
        };
        let (path, pool) = match (texts.as_deref(), self.form) {
            (Some([path]), _) => (*path, None),
            (Some([path, pool]), Form::Files(TableKind::Pgn)) => (*path, Some(*pool)),
            _ => return Err(fault(usage.to_owned())),
        };
        let pool = match pool {
            None | Some("auto") => None,
            Some(name) => Some(name.parse().map_err(|error: UnknownRatingPool| fault(error.to_string()))?),
        };
        let spec = match self.form {
            Form::Files(kind) => TableSpec::of_kind(kind, Path::new(path), pool),
            Form::Set => TableSpec::of_set(Path::new(path)),
        };
        Ok(Arc::new(ChessTable::new(spec.map_err(|error| fault(error.to_string()))?)))
    }
}

fn literal(argument: &Expr) -> Option<&str> {
    match argument {
        Expr::Literal(
            ScalarValue::Utf8(Some(text))
            | ScalarValue::Utf8View(Some(text))
            | ScalarValue::LargeUtf8(Some(text)),
            _,
        ) => Some(text),
        _ => None,
    }
}
