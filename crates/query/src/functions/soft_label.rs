use std::num::NonZeroI32;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Float32Builder, ListBuilder, StringBuilder, StructBuilder,
};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Float64Type, Int64Type};
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, GroupsAccumulator, Signature, TypeSignature, Volatility,
};
use shakmaty::Color;
use tabia_encoding::{Analysis, ForMover, ForWhite, Score, TEMPERATURE_CP, soft_labels};

use super::groups::{Fold, Groups, OneGroup};

/// `soft_label(move, depth, cp, mate, side [, temperature])`: move probabilities of a position from engine lines.
///
/// The rows of a group are the lines of one position: first move, depth, centipawns or mate from White's point of view, and
/// the side to move (`w` or `b`). The probabilities are a softmax over the best scores of the moves at the greatest depth,
/// with a temperature in centipawns (default 50), sorted by probability, then by move. Rows with a missing move, depth,
/// score or side are ignored; a group without rows is NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct SoftLabel {
    signature: Signature,
}

impl SoftLabel {
    pub(super) fn new() -> SoftLabel {
        let lines = vec![DataType::Utf8, DataType::Int64, DataType::Int64, DataType::Int64, DataType::Utf8];
        let with_temperature = [lines.clone(), vec![DataType::Float64]].concat();
        let forms = [lines, with_temperature].map(TypeSignature::Exact).to_vec();
        SoftLabel { signature: Signature::one_of(forms, Volatility::Immutable) }
    }
}

fn label_fields() -> Fields {
    Fields::from(vec![
        Field::new("move", DataType::Utf8, true),
        Field::new("probability", DataType::Float32, true),
    ])
}

impl AggregateUDFImpl for SoftLabel {
    fn name(&self) -> &str {
        "soft_label"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> Result<DataType> {
        let label = DataType::Struct(label_fields());
        Ok(DataType::List(Arc::new(Field::new_list_field(label, true))))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let name = format_state_name(args.name, "lines");
        Ok(vec![Arc::new(Field::new(name, DataType::LargeBinary, true))])
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneGroup::new(DeepestLines)))
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(Groups::new(DeepestLines)))
    }
}

/// Keeps the lines of the greatest depth, from the point of view of the side to move.
///
/// A state is the temperature (f64), the depth (i32), and for each line the score (tag and i32) and the move with its
/// length.
#[derive(Debug)]
struct DeepestLines;

const HEAD: usize = 12;

fn head(state: &[u8]) -> Option<(f64, i32, &[u8])> {
    let (temperature, rest) = state.split_first_chunk()?;
    let (depth, lines) = rest.split_first_chunk()?;
    Some((f64::from_le_bytes(*temperature), i32::from_le_bytes(*depth), lines))
}

fn lines(mut bytes: &[u8]) -> impl Iterator<Item = (&str, Score)> {
    std::iter::from_fn(move || {
        let (&[tag, length], rest) = bytes.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (text, rest) = rest.split_at_checked(length.into())?;
        bytes = rest;
        let number = i32::from_le_bytes(*number);
        let score = match tag {
            0 => Score::Centipawns(number),
            _ => Score::Mate(NonZeroI32::new(number)?),
        };
        Some((std::str::from_utf8(text).ok()?, score))
    })
}

impl Fold for DeepestLines {
    fn state_of_row(&self, arguments: &[ArrayRef], row: usize, state: &mut Vec<u8>) {
        let text = |column: &ArrayRef| -> Option<String> {
            column.is_valid(row).then(|| column.as_string::<i32>().value(row).to_owned())
        };
        let number =
            |column: &ArrayRef| column.is_valid(row).then(|| column.as_primitive::<Int64Type>().value(row));
        let [text_of_move, depth, cp, mate, side, ..] = arguments else { return };
        let (Some(played), Some(depth), Some(side)) = (text(text_of_move), number(depth), text(side)) else {
            return;
        };
        let turn = match side.as_str() {
            "w" => Color::White,
            "b" => Color::Black,
            _ => return,
        };
        let narrow = |number: i64| i32::try_from(number).ok().filter(|narrow| *narrow != i32::MIN);
        let mate = number(mate).and_then(narrow).and_then(NonZeroI32::new);
        let (Some(depth), score) = (
            narrow(depth),
            match (mate, number(cp).and_then(narrow)) {
                (Some(mate), _) => Score::Mate(mate),
                (None, Some(cp)) => Score::Centipawns(cp),
                (None, None) => return,
            },
        ) else {
            return;
        };
        let Ok(length) = u8::try_from(played.len()) else { return };
        let temperature = match arguments.get(5) {
            Some(column) if column.is_valid(row) => column.as_primitive::<Float64Type>().value(row),
            _ => TEMPERATURE_CP,
        };
        let ForMover(score) = ForWhite(score).for_mover(turn);
        let (tag, number) = match score {
            Score::Centipawns(cp) => (0, cp),
            Score::Mate(mate) => (1, mate.get()),
        };
        state.extend_from_slice(&temperature.to_le_bytes());
        state.extend_from_slice(&depth.to_le_bytes());
        state.extend_from_slice(&[tag, length]);
        state.extend_from_slice(&number.to_le_bytes());
        state.extend_from_slice(played.as_bytes());
    }

    fn merge(&self, kept: &mut Vec<u8>, other: &[u8]) {
        let (Some((_, depth, _)), Some((_, other_depth, more))) = (head(kept), head(other)) else { return };
        if other_depth > depth {
            kept.clear();
            kept.extend_from_slice(other);
        } else if other_depth == depth {
            kept.extend_from_slice(more);
        }
    }

    fn results(&self, states: &[Vec<u8>]) -> Result<ArrayRef> {
        let labels = StructBuilder::from_fields(label_fields(), 0);
        let mut lists = ListBuilder::new(labels);
        for state in states {
            let Some((temperature, _, bytes)) = head(state).filter(|_| state.len() > HEAD) else {
                lists.append_null();
                continue;
            };
            // Scores are already from the point of view of the side to move, as if that were White.
            let analyses: Vec<Analysis<&str>> =
                lines(bytes).map(|(mv, score)| Analysis { mv, depth: 0, score: ForWhite(score) }).collect();
            let mut probabilities = soft_labels(&analyses, Color::White, temperature);
            probabilities.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
            let labels = lists.values();
            for (played, probability) in probabilities {
                let texts = labels.field_builder::<StringBuilder>(0).expect("the first field is text");
                texts.append_value(played);
                let numbers = labels.field_builder::<Float32Builder>(1).expect("the second is a number");
                numbers.append_value(probability);
                labels.append(true);
            }
            lists.append(true);
        }
        Ok(Arc::new(lists.finish()))
    }
}
