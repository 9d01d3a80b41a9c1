use std::fmt;
use std::hash::{Hash, Hasher};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use datafusion::scalar::ScalarValue;
use shakmaty::Chess;
use tabia_game::position_from_fen;

/// A scalar function.
pub(super) struct ChessFunction {
    name: &'static str,
    signature: Signature,
    returns: DataType,
    compute: fn(&[ArrayRef]) -> Result<ArrayRef>,
}

impl ChessFunction {
    /// A function with one or more signatures.
    pub(super) fn new<const N: usize>(
        name: &'static str,
        arguments: [Vec<DataType>; N],
        returns: DataType,
        compute: fn(&[ArrayRef]) -> Result<ArrayRef>,
    ) -> ChessFunction {
        let forms = arguments.into_iter().map(TypeSignature::Exact).collect();
        ChessFunction { name, signature: Signature::one_of(forms, Volatility::Immutable), returns, compute }
    }
}

impl ScalarUDFImpl for ChessFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        Ok(self.returns.clone())
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let constant = call.args.iter().all(|value| matches!(value, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { call.number_rows };
        let columns = call.args.iter().map(|value| value.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let column = (self.compute)(&columns)?;
        if constant {
            return ScalarValue::try_from_array(&column, 0).map(ColumnarValue::Scalar);
        }
        Ok(ColumnarValue::Array(column))
    }
}

/// One name, one function: the rest follows from the name.
impl PartialEq for ChessFunction {
    fn eq(&self, other: &ChessFunction) -> bool {
        self.name == other.name
    }
}

impl Eq for ChessFunction {}

impl Hash for ChessFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl fmt::Debug for ChessFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ChessFunction({})", self.name)
    }
}

/// The column of an argument that the signature made text.
pub(super) fn texts(column: &ArrayRef) -> &StringArray {
    column.as_string::<i32>()
}

/// The positions of a column of FENs; `None` for invalid ones.
///
/// Consecutive equal FENs are parsed once.
pub(super) fn positions(column: &ArrayRef) -> impl Iterator<Item = Option<Chess>> {
    let mut last: Option<(&str, Option<Chess>)> = None;
    texts(column).iter().map(move |fen| {
        let fen = fen?;
        match &last {
            Some((known, position)) if *known == fen => position.clone(),
            _ => {
                let position = position_from_fen(fen).ok();
                last = Some((fen, position.clone()));
                position
            }
        }
    })
}

/// The text values of a column, `None` for NULL.
pub(super) fn values(column: &ArrayRef) -> impl Iterator<Item = Option<&str>> {
    let column = texts(column);
    (0..column.len()).map(|row| column.is_valid(row).then(|| column.value(row)))
}
