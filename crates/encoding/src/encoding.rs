use std::fmt;
use std::ops::Range;

use crate::{OutcomeOrder, PolicyIndex, Situation, SparseEncoding, ValueConvention, VocabularyId};

/// The stable name of an encoding, as it appears in model cards and shard headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EncodingId(pub &'static str);

impl fmt::Display for EncodingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Whether an input holds whole numbers or any numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementKind {
    /// Indices into an embedding table, or other whole numbers such as ratings.
    Id,
    /// Numbers.
    Value,
}

/// One input tensor of an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputSpec {
    /// The tensor's name in the original system.
    pub name: &'static str,
    /// The shape of one position, without the batch dimension.
    pub shape: &'static [usize],
    /// What the elements are.
    pub kind: ElementKind,
}

impl InputSpec {
    /// Elements of one position.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether a position has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Turns a [`Situation`] into the input tensors of a network.
///
/// Once released, the output for a situation never changes; a correction gets a new [`version`](Encoding::version).
pub trait Encoding: Send + Sync {
    /// The stable name.
    fn id(&self) -> EncodingId;

    /// The version, from 1.
    fn version(&self) -> u16 {
        1
    }

    /// The input tensors, in the order the network takes them.
    fn inputs(&self) -> &'static [InputSpec];

    /// Writes one situation. Every element of `row` is zero on entry.
    fn encode(&self, situation: &Situation<'_>, row: &mut Row<'_>);

    /// The number of earlier positions that it looks at.
    fn history(&self) -> u32 {
        0
    }

    /// The move vocabulary of policy networks over this encoding, where one system defines both.
    fn default_vocabulary(&self) -> Option<VocabularyId> {
        None
    }

    /// How the system the encoding belongs to reads the number of a value head.
    fn value_convention(&self) -> ValueConvention {
        ValueConvention::default()
    }

    /// What networks over this encoding are, where it belongs to one system.
    fn system(&self) -> Option<&'static str> {
        None
    }

    /// The order in which the system's networks give the three chances of an outcome head.
    fn outcome_order(&self) -> OutcomeOrder {
        OutcomeOrder::default()
    }

    /// The element of input 0 that names the move whose value is asked, for encodings of position and move. It is an index of the
    /// [vocabulary](Encoding::default_vocabulary), see [`Batch::push_move`].
    fn move_token(&self) -> Option<usize> {
        None
    }

    /// Whether a single number among the outputs of the system's networks is an evaluation.
    fn has_value_heads(&self) -> bool {
        true
    }

    /// Whether networks over this encoding can enter the Chess Challenge, whose harness takes the first number of the first
    /// output as the evaluation.
    fn is_challenge(&self) -> bool {
        false
    }

    /// The input as sparse features, for encodings that accumulators support.
    fn sparse(&self) -> Option<&dyn SparseEncoding> {
        None
    }
}

impl fmt::Debug for dyn Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Encoding({})", self.id())
    }
}

/// One input tensor of a batch, row-major, batch first.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Table indices.
    Ids(Vec<i32>),
    /// Numbers.
    Values(Vec<f32>),
}

/// The input tensors of one encoding for any number of situations.
#[derive(Clone)]
pub struct Batch {
    encoding: &'static dyn Encoding,
    columns: Vec<Column>,
    rows: usize,
}

impl Batch {
    /// An empty batch for `encoding`.
    pub fn new(encoding: &'static dyn Encoding) -> Self {
        let column = |spec: &InputSpec| match spec.kind {
            ElementKind::Id => Column::Ids(Vec::new()),
            ElementKind::Value => Column::Values(Vec::new()),
        };
        Batch { encoding, columns: encoding.inputs().iter().map(column).collect(), rows: 0 }
    }

    /// The encoding that fills this batch.
    pub fn encoding(&self) -> &'static dyn Encoding {
        self.encoding
    }

    /// The number of situations.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Encodes one more situation.
    pub fn push(&mut self, situation: &Situation<'_>) {
        for (column, spec) in self.columns.iter_mut().zip(self.encoding.inputs()) {
            match column {
                Column::Ids(ids) => ids.resize(ids.len() + spec.len(), 0),
                Column::Values(values) => values.resize(values.len() + spec.len(), 0.0),
            }
        }
        let mut row = Row { specs: self.encoding.inputs(), columns: &mut self.columns, index: self.rows };
        self.encoding.encode(situation, &mut row);
        self.rows += 1;
    }

    /// Encodes one more situation and a move of it.
    ///
    /// # Panics
    /// If the encoding has no [place for a move](Encoding::move_token).
    pub fn push_move(&mut self, situation: &Situation<'_>, action: PolicyIndex) {
        let place = self.encoding.move_token().expect("an encoding of position and move");
        self.push(situation);
        let mut row = Row { specs: self.encoding.inputs(), columns: &mut self.columns, index: self.rows - 1 };
        row.ids(0)[place] = i32::from(action.0);
    }

    /// Removes all situations; capacity is kept.
    pub fn clear(&mut self) {
        for column in &mut self.columns {
            match column {
                Column::Ids(ids) => ids.clear(),
                Column::Values(values) => values.clear(),
            }
        }
        self.rows = 0;
    }

    /// A range of the situations.
    ///
    /// # Panics
    /// If the range is out of bounds.
    pub fn slice(&self, rows: Range<usize>) -> Batch {
        let column = |(column, spec): (&Column, &InputSpec)| {
            let elements = rows.start * spec.len()..rows.end * spec.len();
            match column {
                Column::Ids(ids) => Column::Ids(ids[elements].to_vec()),
                Column::Values(values) => Column::Values(values[elements].to_vec()),
            }
        };
        let columns = self.columns.iter().zip(self.encoding.inputs()).map(column).collect();
        Batch { encoding: self.encoding, columns, rows: rows.len() }
    }

    /// The input tensors, in the encoding's order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The input tensors, in the encoding's order, to be changed in place.
    pub fn columns_mut(&mut self) -> &mut [Column] {
        &mut self.columns
    }

    /// The input tensors themselves.
    pub fn into_columns(self) -> Vec<Column> {
        self.columns
    }

    /// The numbers of input `input`.
    ///
    /// # Panics
    /// If that input holds ids.
    pub fn values(&self, input: usize) -> &[f32] {
        match &self.columns[input] {
            Column::Values(values) => values,
            Column::Ids(_) => panic!("input {input} of {} holds ids, not values", self.encoding.id()),
        }
    }

    /// The table indices of input `input`.
    ///
    /// # Panics
    /// If that input holds values.
    pub fn ids(&self, input: usize) -> &[i32] {
        match &self.columns[input] {
            Column::Ids(ids) => ids,
            Column::Values(_) => panic!("input {input} of {} holds values, not ids", self.encoding.id()),
        }
    }
}

/// One row of a [`Batch`], to be filled by an encoder.
pub struct Row<'a> {
    specs: &'static [InputSpec],
    columns: &'a mut [Column],
    index: usize,
}

impl Row<'_> {
    /// The numbers of input `input`, all zero at first.
    ///
    /// # Panics
    /// If the encoding declares that input as ids.
    pub fn values(&mut self, input: usize) -> &mut [f32] {
        let len = self.specs[input].len();
        match &mut self.columns[input] {
            Column::Values(values) => &mut values[self.index * len..][..len],
            Column::Ids(_) => panic!("input {input} is declared as ids"),
        }
    }

    /// The table indices of input `input`, all zero at first.
    ///
    /// # Panics
    /// If the encoding declares that input as values.
    pub fn ids(&mut self, input: usize) -> &mut [i32] {
        let len = self.specs[input].len();
        match &mut self.columns[input] {
            Column::Ids(ids) => &mut ids[self.index * len..][..len],
            Column::Values(_) => panic!("input {input} is declared as values"),
        }
    }
}
