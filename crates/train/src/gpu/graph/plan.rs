//! The launches and products of a recorded network: what is computed forward, and in which buffers.
//!
//! Every value and every gradient has a buffer of its own. A gradient that several operations add to goes through as
//! many buffers, each read once: nothing is changed in place, so that a product may be repeated to be timed, and a
//! gradient that is passed on unchanged is not copied.

use std::collections::HashMap;

use super::super::attention as kernels;
use super::super::training::{BF16, F32, Training};
use super::record::{Activation, Dense, Id, Learned, Matrix, Op, Part, Record};
use super::work::{Given, Grid, Grows, Work, at, float, int};
use crate::losses::ValueRule;
use tabia_gpu::{Address, Device, DeviceError, Element, Operand, Product};

/// A row wider than this is normed by a whole block.
const WIDE: usize = 1024;

/// The kernels count with 32 bits.
const MOST_ELEMENTS: usize = i32::MAX as usize;

/// The work of a network, in order.
pub(super) struct Plan {
    pub(super) forward: Vec<Work>,
    pub(super) backward: Vec<Work>,
}

/// A plan in the making.
pub(super) struct Planner<'a, D: Device> {
    pub(super) training: &'a Training<D>,
    pub(super) record: &'a Record,
    pub(super) forward: Vec<Work>,
    pub(super) backward: Vec<Work>,
    /// Whether a value is used at all.
    live: Vec<bool>,
    pub(super) elements: Vec<Element>,
    pub(super) values: Vec<Address>,
    /// What a layer's activation was applied to.
    pub(super) inner: HashMap<Id, Address>,
    pub(super) gradients: Vec<Address>,
    /// How often a parameter's gradient is still to be added to, and what there is so far.
    pub(super) uses: HashMap<String, usize>,
    pub(super) so_far: HashMap<String, Address>,
}

/// Plans a record: first forward, then the losses, then backward.
pub(super) fn plan<D: Device>(
    training: &Training<D>,
    record: &Record,
    rule: ValueRule,
) -> Result<Plan, DeviceError> {
    let count = record.nodes.len();
    let mut planner = Planner {
        training,
        record,
        forward: Vec::new(),
        backward: Vec::new(),
        live: vec![false; count],
        elements: vec![Element::Bf16; count],
        values: vec![Address::NULL; count],
        inner: HashMap::new(),
        gradients: vec![Address::NULL; count],
        uses: HashMap::new(),
        so_far: HashMap::new(),
    };
    planner.trace()?;
    for id in 0..count {
        if planner.live[id] {
            planner.forward_of(id)?;
        }
    }
    planner.losses(rule)?;
    for id in (0..count).rev() {
        if planner.live[id] && planner.gradients[id] != Address::NULL {
            planner.backward_of(id)?;
        }
    }
    Ok(Plan { forward: planner.forward, backward: planner.backward })
}

impl<D: Device> Planner<'_, D> {
    /// Finds what is used, what must be 32-bit floats, and how often each parameter is.
    fn trace(&mut self) -> Result<(), DeviceError> {
        let heads = &self.record.heads;
        let heads = [&heads.policy, &heads.promotion, &heads.outcome, &heads.think, &heads.value];
        let heads: Vec<Id> = heads.into_iter().flatten().map(|head| head.of).collect();
        let nodes = &self.record.nodes;
        let mut full = vec![false; nodes.len()];
        for &head in &heads {
            (self.live[head], full[head]) = (true, true);
        }
        for id in (0..nodes.len()).rev().filter(|&id| self.live[id]).collect::<Vec<_>>() {
            self.reach(id);
        }
        for id in (0..nodes.len()).rev() {
            if !self.live[id] {
                continue;
            }
            let op = &nodes[id].op;
            let passes = matches!(
                op,
                Op::Gather(_)
                    | Op::Add { .. }
                    | Op::AddParameter { .. }
                    | Op::Mul { .. }
                    | Op::Scale { .. }
                    | Op::Activate { .. }
                    | Op::Sum { .. }
            );
            let makes = match op {
                Op::Dense(dense) => dense.add.is_none(),
                Op::Matmul { .. } => true,
                _ => passes,
            };
            let always = matches!(op, Op::Sum { .. } | Op::LookUp { .. });
            if full[id] && !makes && !always && heads.contains(&id) {
                return Err(DeviceError::new("planning the network", "a head that is not a layer's result"));
            }
            if (full[id] && makes) || always {
                self.elements[id] = Element::F32;
            }
            if full[id] && passes {
                for input in op.inputs() {
                    full[input] = true;
                }
            }
            for name in op.parameters() {
                *self.uses.entry(name.to_owned()).or_default() += 1;
            }
            if let Some(shared) = op.shared_input() {
                *self.uses.entry(self.parameter_of(shared).to_owned()).or_default() += 1;
            }
        }
        Ok(())
    }

    fn reach(&mut self, id: Id) {
        for input in self.record.nodes[id].op.inputs() {
            if !self.live[input] {
                self.live[input] = true;
                self.reach(input);
            }
        }
    }

    /// The parameter a value without a batch comes from.
    pub(super) fn parameter_of(&self, id: Id) -> &str {
        match &self.record.nodes[id].op {
            Op::Parameter { name } => name,
            Op::Chosen { of, .. } => self.parameter_of(*of),
            _ => "",
        }
    }

    /// Room for so many elements an example.
    pub(super) fn room(&self, row: usize, element: Element) -> Result<Address, DeviceError> {
        let all = row * self.training.capacity;
        if all > MOST_ELEMENTS {
            return Err(DeviceError::new(
                "planning the network",
                format!("{all} numbers of one kind in a batch"),
            ));
        }
        let size = if element == Element::F32 { F32 } else { BF16 };
        self.training.device.allocate(row * self.training.capacity * size)
    }

    /// A table of numbers on the device.
    pub(super) fn table<T: bytemuck::NoUninit>(&self, table: &[T]) -> Result<Address, DeviceError> {
        let bytes = bytemuck::cast_slice(table);
        let at = self.training.device.allocate(bytes.len())?;
        self.training.device.write(at, bytes)?;
        Ok(at)
    }

    pub(super) fn row(&self, id: Id) -> usize {
        self.record.nodes[id].row
    }

    pub(super) fn learned(&self, id: Id) -> bool {
        self.record.nodes[id].learned == Learned::Yes
    }

    pub(super) fn offset(&self, group: &str) -> usize {
        self.training.layout.offset(group)
    }

    /// A value as two arguments: where it is, and whether in 32-bit floats.
    pub(super) fn value(&self, id: Id) -> [Given; 2] {
        [at(self.values[id]), self.full(id)]
    }

    pub(super) fn full(&self, id: Id) -> Given {
        int(usize::from(self.elements[id] == Element::F32))
    }

    fn brain(&self, id: Id) -> Result<Address, DeviceError> {
        match self.elements[id] {
            Element::Bf16 => Ok(self.values[id]),
            Element::F32 => {
                Err(DeviceError::new("planning the network", "a head that is also a layer's input"))
            }
        }
    }

    fn forward_of(&mut self, id: Id) -> Result<(), DeviceError> {
        let node = &self.record.nodes[id];
        let row = node.row;
        if matches!(node.op, Op::Ids { .. } | Op::Parameter { .. } | Op::Chosen { .. }) {
            return Ok(());
        }
        let out = self.room(row, self.elements[id])?;
        self.values[id] = out;
        let [y, y_full] = self.value(id);
        let (examples, each) = (Given::Examples(1), int(row));
        let eights = Grid::Threads(row / 8);
        match &node.op {
            Op::Ids { .. } | Op::Parameter { .. } | Op::Chosen { .. } => {}
            &Op::Numbers { input, width } => {
                let padded = super::view::padded(width);
                self.forward.push(Work::Numbers { input, to: out, rows: row / padded, width, padded });
            }
            Op::Gather(parts) => {
                for part in parts {
                    self.gather(part, id)?;
                }
            }
            &Op::OneHot { ids, classes } => {
                let Op::Ids { input, places } = &self.record.nodes[ids].op else {
                    return Err(DeviceError::new("planning the network", "an embedding of no ids"));
                };
                let place = self.training.places.inputs[*input];
                let table = at(self.table(places)?);
                let arguments = [
                    Given::Column(place.at),
                    table,
                    y,
                    int(place.len),
                    int(places.len()),
                    int(classes),
                    examples,
                ];
                self.launch("one_hot", eights, &arguments);
            }
            &Op::Patches { x, height, width, channels, kernel } => {
                let arguments =
                    [at(self.brain(x)?), y, int(height), int(width), int(channels), int(kernel), examples];
                self.launch("patches", eights, &arguments);
            }
            Op::Dense(dense) => self.dense(dense, id)?,
            Op::Norm { x, rows, width, count, gain, eps } => {
                let lanes = norm_lanes(*width);
                let grid = Grid::Threads(rows * lanes);
                let gain = Given::Full(self.offset(gain));
                let arguments = [
                    at(self.brain(*x)?),
                    gain,
                    y,
                    int(*width),
                    int(*count),
                    float(*eps),
                    int(lanes),
                    Given::Examples(*rows),
                ];
                self.launch("norm_rows", grid, &arguments);
            }
            &Op::Add { a, b } => {
                let ([a, a_full], [b, b_full]) = (self.value(a), self.value(b));
                self.launch("add_values", eights, &[a, a_full, b, b_full, y, y_full, examples, each]);
            }
            &Op::AddParameter { x, parameter } => {
                let [x, x_full] = self.value(x);
                let whole = Given::Full(self.offset(self.parameter_of(parameter)));
                let (chosen, count) = match &self.record.nodes[parameter].op {
                    Op::Chosen { indices, .. } => (self.table(indices)?, indices.len()),
                    _ => (Address::NULL, 0),
                };
                let arguments = [x, x_full, whole, at(chosen), int(count), y, y_full, examples, each];
                self.launch("add_parameter", eights, &arguments);
            }
            &Op::Mul { a, b } => {
                let ([a, a_full], [b, b_full]) = (self.value(a), self.value(b));
                let nothing = at(Address::NULL);
                let arguments = [a, a_full, b, b_full, nothing, y, y_full, examples, each];
                self.launch("multiply_values", eights, &arguments);
            }
            &Op::Gated { gate, up, activation } => {
                let (gate, up) = (at(self.brain(gate)?), at(self.brain(up)?));
                self.launch("gated", eights, &[gate, up, y, int(activation as usize), examples, each]);
            }
            &Op::Scale { x, factor } => {
                let [x, x_full] = self.value(x);
                let arguments = [x, x_full, float(factor), at(Address::NULL), y, y_full, examples, each];
                self.launch("scale_values", eights, &arguments);
            }
            &Op::Activate { x, activation } => {
                let [x, x_full] = self.value(x);
                let kind = int(activation as usize);
                let arguments = [x, x_full, at(Address::NULL), each, y, y_full, kind, examples, each];
                self.launch("activate", eights, &arguments);
            }
            Op::Matmul { a, b, sizes: [m, n, k], stride, count, scale } => {
                let product = Product {
                    m: *m,
                    n: *n,
                    k: *k,
                    a: self.operand(a)?,
                    b: self.operand(b)?,
                    out,
                    out_stride: *stride,
                    out_element: self.elements[id],
                    add: Address::NULL,
                    scale: *scale,
                    count: *count,
                    steps: [a.step, b.step, row / count],
                };
                self.forward.push(Work::Multiply { product, grows: Grows::Count, weight: None });
            }
            &Op::Softmax { x, rows, width, count } => {
                let arguments = [at(self.brain(x)?), y, int(width), int(count), Given::Examples(rows)];
                self.launch("softmax_rows_of", Grid::Threads(rows * 32), &arguments);
            }
            &Op::Mean { x, rows, width } => {
                let arguments = [at(self.brain(x)?), y, int(rows), int(width), examples];
                self.launch("mean_rows", eights, &arguments);
            }
            &Op::Sum { x, count } => {
                let ([from, full], of_x) = (self.value(x), int(self.row(x)));
                self.launch("sum_elements", Grid::Threads(32), &[from, full, y, int(count), examples, of_x]);
            }
            Op::LookUp { x, table, width } => {
                if self.elements[*x] != Element::F32 {
                    return Err(DeviceError::new("planning the network", "a table looked up by no sum"));
                }
                let arguments = [at(self.values[*x]), at(self.table(table)?), y, int(*width), examples, each];
                self.launch("look_up", Grid::Threads(row), &arguments);
            }
            Op::Attend { qkv, gains, bias, attention } => {
                let device = &self.training.device;
                let head = attention.width / attention.heads;
                let per = kernels::forward_blocks(head);
                let (blocks, _) = kernels::walk(device, attention.heads, self.training.capacity, per);
                let gains = self.offset(gains);
                let bias = self.score_bias(*bias)?;
                self.forward.push(Work::Launch {
                    kernel: "attention_forward",
                    grid: Grid::Blocks(blocks),
                    threads: kernels::threads(attention.tokens),
                    shared: 0,
                    arguments: vec![
                        at(self.brain(*qkv)?),
                        Given::Full(gains),
                        Given::Full(gains + head),
                        bias,
                        y,
                        examples,
                    ],
                });
            }
        }
        Ok(())
    }

    /// Where attention finds its bias: in the parameter, or in a buffer that what is chosen of it is copied to.
    fn score_bias(&mut self, bias: Option<Id>) -> Result<Given, DeviceError> {
        let Some(id) = bias else { return Ok(at(Address::NULL)) };
        let record = self.record;
        let whole = Given::Full(self.offset(self.parameter_of(id)));
        let Op::Chosen { indices, .. } = &record.nodes[id].op else { return Ok(whole) };
        if self.values[id] == Address::NULL {
            let to = self.training.device.allocate(indices.len() * F32)?;
            let arguments = [whole, at(self.table(indices)?), at(to), int(indices.len())];
            self.launch("choose", Grid::Blocks(indices.len().div_ceil(256) as u32), &arguments);
            self.values[id] = to;
        }
        Ok(at(self.values[id]))
    }

    /// A kernel of 256 threads a block, forward.
    pub(super) fn launch(&mut self, kernel: &'static str, grid: Grid, arguments: &[Given]) {
        let arguments = arguments.to_vec();
        self.forward.push(Work::Launch { kernel, grid, threads: 256, shared: 0, arguments });
    }

    /// A side of a product.
    pub(super) fn operand(&self, matrix: &Matrix) -> Result<Operand, DeviceError> {
        Ok(Operand { at: self.brain(matrix.of)?, stride: matrix.stride, order: matrix.order })
    }

    fn gather(&mut self, part: &Part, id: Id) -> Result<(), DeviceError> {
        let brain = self.elements[part.from] == Element::Bf16 && self.elements[id] == Element::Bf16;
        let ([from, from_full], [to, to_full]) = (self.value(part.from), self.value(id));
        let (from_row, to_row) = (int(self.row(part.from)), int(self.row(id)));
        let (from_places, to_places, units) = part.units();
        let examples = Given::Examples(1);
        if units && brain {
            let count = from_places.len();
            let (from_places, to_places) = (at(self.table(&from_places)?), at(self.table(&to_places)?));
            let arguments = [from, from_row, to, to_row, from_places, to_places, int(count), examples];
            self.launch("gather8", Grid::Threads(count), &arguments);
        } else {
            let count = part.from_places.len();
            let places = [at(self.table(&part.from_places)?), at(self.table(&part.to_places)?)];
            let arguments =
                [from, from_full, from_row, to, to_full, to_row, places[0], places[1], int(count), examples];
            self.launch("gather", Grid::Threads(count), &arguments);
        }
        Ok(())
    }

    fn dense(&mut self, dense: &Dense, id: Id) -> Result<(), DeviceError> {
        let &Dense { x, rows, inputs, outputs, activation, add, .. } = dense;
        let out = self.values[id];
        let plain = activation == Activation::None && dense.bias.is_none();
        let to = if plain { out } else { self.room(self.row(id), self.elements[id])? };
        let add = match add {
            Some(add) => self.brain(add)?,
            None => Address::NULL,
        };
        let x = self.brain(x)?;
        let mut product = Product::layer(rows, inputs, outputs, x, Address::NULL, to).plus(add);
        product.out_element = self.elements[id];
        let weight = Some(self.offset(&dense.weight));
        self.forward.push(Work::Multiply { product, grows: Grows::M, weight });
        if plain {
            return Ok(());
        }
        self.inner.insert(id, to);
        let bias = self.bias(dense);
        let full = self.full(id);
        let arguments = [
            at(to),
            full,
            bias,
            int(outputs),
            at(out),
            full,
            int(activation as usize),
            Given::Examples(1),
            int(self.row(id)),
        ];
        self.launch("activate", Grid::Threads(self.row(id) / 8), &arguments);
        Ok(())
    }

    pub(super) fn bias(&self, dense: &Dense) -> Given {
        match &dense.bias {
            Some(bias) => Given::Full(self.offset(bias)),
            None => at(Address::NULL),
        }
    }
}

/// Threads a row of a norm: eight elements each, as far as a warp goes.
pub(super) fn norm_lanes(width: usize) -> usize {
    if width > WIDE { 256 } else { (width / 8).next_power_of_two().min(32) }
}

impl Part {
    /// Both lists of places by units of eight elements, and whether they are made of such units.
    pub(super) fn units(&self) -> (Vec<u32>, Vec<u32>, bool) {
        let whole = |places: &[u32]| {
            places.len() == 8
                && places[0].is_multiple_of(8)
                && places.iter().zip(places[0]..).all(|(&a, b)| a == b)
        };
        let units =
            self.from_places.chunks(8).zip(self.to_places.chunks(8)).all(|(a, b)| whole(a) && whole(b));
        let first = |places: &[u32]| places.iter().copied().step_by(8).collect();
        (first(&self.from_places), first(&self.to_places), units)
    }
}
