//! The parameters of a network: names, shapes, initial values and places in one arena.

use std::collections::HashMap;
use std::fmt;

/// Every tensor starts at a multiple of this many elements, so that kernels may read whole cache lines of any tensor.
pub const ALIGNMENT: usize = 64;

/// How a parameter is filled before training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Initial {
    /// All zero.
    Zeros,
    /// All one.
    Ones,
    /// A normal distribution around zero with this standard deviation.
    Normal(f32),
    /// These values. A file that lacks the parameter has them.
    Values(&'static [f32]),
}

/// Whether weight decay pulls a parameter towards zero. Norms, biases and embeddings are exempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decay {
    /// It does.
    Decayed,
    /// It does not.
    Exempt,
}

/// One tensor of a network: its place in the arena and how it is treated.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name in an exported file.
    pub name: String,
    /// Its shape in an exported file, row-major: `[out, in]` for matrices.
    pub shape: Vec<usize>,
    /// The arena element it starts at, a multiple of [`ALIGNMENT`].
    pub offset: usize,
    /// Whether it decays.
    pub decay: Decay,
    /// What it starts as.
    pub initial: Initial,
    /// How many matrices of the network's body it is, of equal size, one below the other: the queries', keys' and
    /// values' of attention are three. 0 for what is no such matrix: embeddings, heads, gains and biases.
    pub matrices: usize,
}

impl Parameter {
    /// How many elements it has.
    pub fn len(&self) -> usize {
        // Shapes may come from a file: a product that does not fit is no reason to panic.
        self.shape.iter().fold(1, |product: usize, &size| product.saturating_mul(size))
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its elements within an arena.
    pub fn of<'a>(&self, arena: &'a [f32]) -> &'a [f32] {
        &arena[self.offset..self.offset + self.len()]
    }

    /// Its elements within an arena, to change.
    pub fn of_mut<'a>(&self, arena: &'a mut [f32]) -> &'a mut [f32] {
        &mut arena[self.offset..self.offset + self.len()]
    }
}

/// An index table of a state dict: a constant that is stored beside the parameters and not learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its name in a file.
    pub name: &'static str,
    /// Its entries.
    pub indices: Vec<i64>,
    /// Its shape: one dimension.
    pub shape: [usize; 1],
}

/// Where every parameter of a network lies in one flat arena of 32-bit floats.
///
/// Weights, gradients, both moments of the optimiser and the averaged weights all have this layout. Names and shapes are
/// those of the exported file, so that an export is a copy. Elements between tensors are zero and stay zero.
#[derive(Clone, Default, PartialEq)]
pub struct ParameterTable {
    entries: Vec<Parameter>,
    places: HashMap<String, usize>,
    len: usize,
    buffers: Vec<Buffer>,
}

impl fmt::Debug for ParameterTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParameterTable({} tensors, {} elements)", self.entries.len(), self.parameters())
    }
}

impl ParameterTable {
    /// A table without parameters.
    pub fn new() -> Self {
        ParameterTable::default()
    }

    /// Adds a tensor after the last one.
    ///
    /// # Panics
    /// If the name is taken: networks are built by code, not from input.
    pub fn push(&mut self, name: impl Into<String>, shape: &[usize], initial: Initial, decay: Decay) {
        self.add(Parameter {
            name: name.into(),
            shape: shape.to_vec(),
            offset: self.len,
            decay,
            initial,
            matrices: 0,
        });
    }

    /// Adds matrices of the network's body, `count` of them one below the other in `[out, in]`. They decay.
    ///
    /// # Panics
    /// If the name is taken, or the rows do not make `count` equal matrices.
    pub fn push_body(&mut self, name: impl Into<String>, shape: [usize; 2], initial: Initial, count: usize) {
        assert!(count > 0 && shape[0].is_multiple_of(count), "{} rows as {count} matrices", shape[0]);
        self.add(Parameter {
            name: name.into(),
            shape: shape.to_vec(),
            offset: self.len,
            decay: Decay::Decayed,
            initial,
            matrices: count,
        });
    }

    fn add(&mut self, entry: Parameter) {
        let taken = self.places.insert(entry.name.clone(), self.entries.len());
        assert!(taken.is_none(), "two parameters named {}", entry.name);
        let end = self.len.saturating_add(entry.len());
        self.len = end.checked_next_multiple_of(ALIGNMENT).unwrap_or(usize::MAX);
        self.entries.push(entry);
    }

    /// Adds an index table, or replaces the one of this name.
    pub fn set_buffer(&mut self, name: &'static str, indices: Vec<i64>) {
        self.buffers.retain(|buffer| buffer.name != name);
        self.buffers.push(Buffer { name, shape: [indices.len()], indices });
    }

    /// The index tables.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// The entries of the index table of this name.
    pub fn buffer(&self, name: &str) -> Option<&[i64]> {
        self.buffers.iter().find(|buffer| buffer.name == name).map(|buffer| &buffer.indices[..])
    }

    /// The table without the parameters that `keep` rejects.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(&Parameter) -> bool) -> ParameterTable {
        let mut kept = ParameterTable { buffers: self.buffers.clone(), ..ParameterTable::new() };
        for entry in self.entries.iter().filter(|entry| keep(entry)) {
            kept.add(Parameter { offset: kept.len, ..entry.clone() });
        }
        kept
    }

    /// Whether a parameter is the bias of a linear layer, which files may lack.
    pub(crate) fn is_linear_bias(&self, name: &str) -> bool {
        let weight = name.strip_suffix(".bias").map(|layer| format!("{layer}.weight"));
        weight.and_then(|weight| self.get(&weight)).is_some_and(|weight| weight.shape.len() == 2)
    }

    /// The parameters in the order of the arena.
    pub fn entries(&self) -> &[Parameter] {
        &self.entries
    }

    /// The parameter of this name.
    pub fn get(&self, name: &str) -> Option<&Parameter> {
        self.entries.get(*self.places.get(name)?)
    }

    /// Elements of an arena, the gaps between tensors included.
    pub fn arena_len(&self) -> usize {
        self.len
    }

    /// Parameters of the network, without gaps.
    pub fn parameters(&self) -> usize {
        self.entries.iter().map(Parameter::len).sum()
    }

    /// An arena with every tensor at its initial value. The same seed gives the same bits everywhere.
    pub fn initial(&self, seed: u64) -> Vec<f32> {
        let mut arena = vec![0.0; self.len];
        for (at, entry) in self.entries.iter().enumerate() {
            // Each tensor has its own stream: a layer more or less leaves the others as they are.
            let mut random =
                fastrand::Rng::with_seed(seed ^ (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let slice = entry.of_mut(&mut arena);
            match entry.initial {
                Initial::Zeros => {}
                Initial::Ones => slice.fill(1.0),
                Initial::Normal(deviation) => slice.fill_with(|| deviation * normal(&mut random)),
                Initial::Values(values) => slice.copy_from_slice(values),
            }
        }
        arena
    }
}

/// A sum of twelve uniform numbers: close enough to a normal one, without tails, and the same bits on every machine
/// because it needs no transcendental function.
fn normal(random: &mut fastrand::Rng) -> f32 {
    (0..12).map(|_| random.f32()).sum::<f32>() - 6.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> ParameterTable {
        let mut table = ParameterTable::new();
        table.push("a", &[3, 5], Initial::Normal(0.5), Decay::Decayed);
        table.push("b", &[3], Initial::Ones, Decay::Exempt);
        table
    }

    #[test]
    fn tensors_are_aligned_and_gaps_are_zero() {
        let table = table();
        assert_eq!(table.parameters(), 18);
        assert_eq!(table.arena_len(), 2 * ALIGNMENT);
        assert!(table.entries().iter().all(|entry| entry.offset % ALIGNMENT == 0));
        let arena = table.initial(7);
        assert!(arena[15..ALIGNMENT].iter().all(|&v| v == 0.0));
        assert_eq!(table.get("b").unwrap().of(&arena), [1.0; 3]);
    }

    #[test]
    fn a_seed_gives_the_same_weights_again() {
        let table = table();
        assert_eq!(table.initial(7), table.initial(7));
        assert_ne!(table.initial(7), table.initial(8));
    }
}
