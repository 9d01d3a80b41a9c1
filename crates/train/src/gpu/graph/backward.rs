//! The plan of the backward pass: for every operation, what its inputs and parameters are owed.

use std::collections::BTreeMap;

use super::super::attention as kernels;
use super::super::training::F32;
use super::plan::{Planner, norm_lanes};
use super::record::{Activation, Dense, Id, Matrix, Op, Part};
use super::work::{Given, Grid, Grows, Work, at, float, int};
use tabia_gpu::{Address, Device, DeviceError, Element, Operand, Order, Product};

/// Rows a block of `column_dots` sums at least, and how many blocks a multiprocessor there are at most.
const ROWS_A_BLOCK: usize = 64;
const DOT_BLOCKS: u32 = 4;
/// Blocks a multiprocessor of a norm's backward kernel.
const NORM_BLOCKS: u32 = 6;

fn flipped(order: Order) -> Order {
    match order {
        Order::Stored => Order::Transposed,
        Order::Transposed => Order::Stored,
    }
}

/// For each of `len` places, where in the copy it went: starts of the lists, and the lists.
fn inverse(len: usize, from_places: &[u32], to_places: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut found: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (&from, &to) in from_places.iter().zip(to_places) {
        found.entry(from).or_default().push(to);
    }
    let (mut starts, mut places) = (vec![0], Vec::with_capacity(from_places.len()));
    for place in 0..len as u32 {
        places.extend(found.remove(&place).into_iter().flatten());
        starts.push(places.len() as u32);
    }
    (starts, places)
}

impl<D: Device> Planner<'_, D> {
    fn launch_back(&mut self, kernel: &'static str, grid: Grid, arguments: &[Given]) {
        let arguments = arguments.to_vec();
        self.backward.push(Work::Launch { kernel, grid, threads: 256, shared: 0, arguments });
    }

    fn multiply_back(&mut self, product: Product, grows: Grows, weight: Option<usize>) {
        self.backward.push(Work::Multiply { product, grows, weight });
    }

    /// What a value is owed so far, and a new buffer that takes its place.
    fn owed(&mut self, id: Id) -> Result<(Address, Address), DeviceError> {
        let to = self.room(self.row(id), Element::Bf16)?;
        Ok((std::mem::replace(&mut self.gradients[id], to), to))
    }

    /// Passes a gradient on as it is.
    fn pass(&mut self, id: Id, gradient: Address) -> Result<(), DeviceError> {
        if !self.learned(id) {
            return Ok(());
        }
        if self.gradients[id] == Address::NULL {
            self.gradients[id] = gradient;
            return Ok(());
        }
        let (before, to) = self.owed(id)?;
        let row = self.row(id);
        let brain = int(0);
        let arguments = [at(before), brain, at(gradient), brain, at(to), brain, Given::Examples(1), int(row)];
        self.launch_back("add_values", Grid::Threads(row / 8), &arguments);
        Ok(())
    }

    /// Where the gradient of a parameter's group goes, and what is to be added to it.
    fn parameter_gradient(&mut self, group: &str, len: usize) -> Result<(Address, Address), DeviceError> {
        let before = self.so_far.remove(group).unwrap_or(Address::NULL);
        let left = self.uses.get_mut(group).map(|left| {
            *left -= 1;
            *left
        });
        if left.unwrap_or(0) == 0 {
            return Ok((self.training.gradient_of(group), before));
        }
        let to = self.training.device.allocate(len * F32)?;
        self.so_far.insert(group.to_owned(), to);
        Ok((to, before))
    }

    /// The sum over all rows of `a`, times `b` and a factor a row where they are given, into a parameter's gradient.
    fn column_dots(
        &mut self,
        [a, b, scales]: [Address; 3],
        width: usize,
        rows: usize,
        group: &str,
    ) -> Result<(), DeviceError> {
        let (to, before) = self.parameter_gradient(group, width)?;
        self.column_sums([a, b, scales], width, rows, to, before)
    }

    fn column_sums(
        &mut self,
        operands: [Address; 3],
        width: usize,
        rows: usize,
        to: Address,
        before: Address,
    ) -> Result<(), DeviceError> {
        let all = rows * self.training.capacity;
        let down = (256 / (width / 8).min(256)).max(1);
        let blocks = self.training.blocks(all.div_ceil(down * ROWS_A_BLOCK), DOT_BLOCKS);
        let partial = self.training.device.allocate(blocks as usize * width * F32)?;
        let [a, b, scales] = operands.map(at);
        let arguments = [a, b, scales, at(partial), int(width), Given::Examples(rows)];
        self.launch_back("column_dots", Grid::Blocks(blocks), &arguments);
        self.sum_partials(partial, to, before, blocks as usize, width);
        Ok(())
    }

    fn sum_partials(&mut self, partial: Address, to: Address, before: Address, rows: usize, width: usize) {
        self.backward.push(Work::Launch {
            kernel: "column_sums",
            grid: Grid::Blocks(width.div_ceil(32) as u32),
            threads: 1024,
            shared: 0,
            arguments: vec![at(partial), at(to), at(before), int(rows), int(width)],
        });
    }

    pub(super) fn backward_of(&mut self, id: Id) -> Result<(), DeviceError> {
        let dy = self.gradients[id];
        let record = self.record;
        let row = self.row(id);
        let (examples, each, eights) = (Given::Examples(1), int(row), Grid::Threads(row / 8));
        match &record.nodes[id].op {
            Op::Numbers { .. }
            | Op::Ids { .. }
            | Op::Parameter { .. }
            | Op::Chosen { .. }
            | Op::OneHot { .. }
            | Op::LookUp { .. } => Ok(()),
            Op::Gather(parts) => parts.iter().try_for_each(|part| self.gather_back(part, id, dy)),
            &Op::Patches { x, height, width, channels, kernel } => {
                if !self.learned(x) {
                    return Ok(());
                }
                let (before, to) = self.owed(x)?;
                let arguments = [
                    at(dy),
                    at(before),
                    at(to),
                    int(height),
                    int(width),
                    int(channels),
                    int(kernel),
                    examples,
                ];
                self.launch_back("patches_backward", Grid::Threads(self.row(x) / 8), &arguments);
                Ok(())
            }
            Op::Dense(dense) => self.dense_back(dense, id, dy),
            Op::Norm { .. } => self.norm_back(id, dy),
            &Op::Add { a, b } => {
                self.pass(a, dy)?;
                self.pass(b, dy)
            }
            &Op::AddParameter { x, parameter } => {
                self.pass(x, dy)?;
                self.parameter_back(parameter, dy, row)
            }
            &Op::Mul { a, b } => {
                for (x, other) in [(a, b), (b, a)] {
                    if self.learned(x) {
                        let (before, to) = self.owed(x)?;
                        let [other, full] = self.value(other);
                        let brain = int(0);
                        let arguments =
                            [at(dy), brain, other, full, at(before), at(to), brain, examples, each];
                        self.launch_back("multiply_values", eights, &arguments);
                    }
                }
                Ok(())
            }
            &Op::Gated { gate, up, activation } => {
                let values = [self.values[gate], self.values[up]].map(at);
                let (before_gate, d_gate) = self.owed(gate)?;
                let (before_up, d_up) = self.owed(up)?;
                let [gate, up] = values;
                let kind = int(activation as usize);
                let [before_gate, before_up, d_gate, d_up] = [before_gate, before_up, d_gate, d_up].map(at);
                let arguments =
                    [gate, up, at(dy), before_gate, before_up, d_gate, d_up, kind, examples, each];
                self.launch_back("gated_backward", eights, &arguments);
                Ok(())
            }
            &Op::Scale { x, factor } => {
                let (before, to) = self.owed(x)?;
                let brain = int(0);
                let arguments = [at(dy), brain, float(factor), at(before), at(to), brain, examples, each];
                self.launch_back("scale_values", eights, &arguments);
                Ok(())
            }
            &Op::Activate { x, activation } => {
                let (before, to) = self.owed(x)?;
                let [value, full] = self.value(x);
                let (nothing, kind) = (at(Address::NULL), int(activation as usize));
                let arguments =
                    [value, full, nothing, each, at(dy), at(before), at(to), kind, examples, each];
                self.launch_back("activate_backward", eights, &arguments);
                Ok(())
            }
            Op::Matmul { a, b, sizes, stride, count, scale } => {
                let dy = Operand { at: dy, stride: *stride, order: Order::Stored };
                let step = row / count;
                self.matmul_back(a, b, *sizes, dy, step, *count, *scale)
            }
            &Op::Softmax { x, rows, width, .. } => {
                let (before, to) = self.owed(x)?;
                let y = at(self.values[id]);
                let arguments = [y, at(dy), at(before), at(to), int(width), Given::Examples(rows)];
                self.launch_back("softmax_rows_backward", Grid::Threads(rows * 32), &arguments);
                Ok(())
            }
            &Op::Mean { x, rows, width } => {
                let (before, to) = self.owed(x)?;
                let arguments = [at(dy), at(before), at(to), int(rows), int(width), examples];
                self.launch_back("mean_rows_backward", Grid::Threads(rows * width / 8), &arguments);
                Ok(())
            }
            &Op::Sum { x, count } => {
                if !self.learned(x) {
                    return Ok(());
                }
                let (before, to) = self.owed(x)?;
                let of_x = self.row(x);
                let arguments = [at(dy), at(before), at(to), int(count), examples, int(of_x)];
                self.launch_back("sum_elements_backward", Grid::Threads(of_x), &arguments);
                Ok(())
            }
            Op::Attend { .. } => self.attend_back(id, dy),
        }
    }

    fn norm_back(&mut self, id: Id, dy: Address) -> Result<(), DeviceError> {
        let record = self.record;
        let Op::Norm { x, rows, width, count, gain, eps } = &record.nodes[id].op else { return Ok(()) };
        let (x, rows, width) = (*x, *rows, *width);
        let lanes = norm_lanes(width);
        let all = rows * self.training.capacity;
        let blocks = self.training.blocks(all.div_ceil(256 / lanes), NORM_BLOCKS);
        let sums_itself = width <= lanes * 8;
        let (scales, partial) = if sums_itself {
            (Address::NULL, self.training.device.allocate(blocks as usize * width * F32)?)
        } else {
            (self.room(rows, Element::F32)?, Address::NULL)
        };
        let (before, to) = self.owed(x)?;
        let value = self.values[x];
        let arguments = [
            at(value),
            Given::Full(self.offset(gain)),
            at(dy),
            at(before),
            at(to),
            at(scales),
            at(partial),
            int(width),
            int(*count),
            float(*eps),
            int(lanes),
            Given::Examples(rows),
        ];
        self.launch_back("norm_rows_backward", Grid::Blocks(blocks), &arguments);
        if sums_itself {
            let (to, before) = self.parameter_gradient(gain, width)?;
            self.sum_partials(partial, to, before, blocks as usize, width);
            Ok(())
        } else {
            self.column_dots([value, dy, scales], width, rows, gain)
        }
    }

    fn gather_back(&mut self, part: &Part, id: Id, dy: Address) -> Result<(), DeviceError> {
        let from = part.from;
        if !self.learned(from) {
            return Ok(());
        }
        let row = self.row(from);
        let (from_units, to_units, units) = part.units();
        let (before, to) = self.owed(from)?;
        let (kernel, threads, (starts, places)) = if units {
            let from_units: Vec<u32> = from_units.iter().map(|place| place / 8).collect();
            ("gather8_backward", row / 8, inverse(row / 8, &from_units, &to_units))
        } else {
            ("gather_backward", row, inverse(row, &part.from_places, &part.to_places))
        };
        let arguments = [
            at(dy),
            int(self.row(id)),
            at(self.table(&starts)?),
            at(self.table(&places)?),
            at(before),
            at(to),
            Given::Examples(1),
            int(row),
        ];
        self.launch_back(kernel, Grid::Threads(threads), &arguments);
        Ok(())
    }

    fn parameter_back(&mut self, parameter: Id, dy: Address, row: usize) -> Result<(), DeviceError> {
        let operands = [dy, Address::NULL, Address::NULL];
        if !matches!(self.record.nodes[parameter].op, Op::Chosen { .. }) {
            let name = self.parameter_of(parameter).to_owned();
            return self.column_dots(operands, row, 1, &name);
        }
        let sums = self.training.device.allocate(row * F32)?;
        self.column_sums(operands, row, 1, sums, Address::NULL)?;
        self.fold_chosen(parameter, sums)
    }

    /// Brings the gradients of what was chosen of a parameter back to it.
    fn fold_chosen(&mut self, chosen: Id, sums: Address) -> Result<(), DeviceError> {
        let record = self.record;
        let Op::Chosen { of, indices } = &record.nodes[chosen].op else { return Ok(()) };
        let name = self.parameter_of(chosen).to_owned();
        let len = self.row(*of);
        let places: Vec<u32> = (0..indices.len() as u32).collect();
        let (starts, places) = inverse(len, indices, &places);
        let (to, before) = self.parameter_gradient(&name, len)?;
        let (starts, places) = (at(self.table(&starts)?), at(self.table(&places)?));
        let arguments = [at(sums), starts, places, at(before), at(to), int(len)];
        self.launch_back("fold_chosen", Grid::Blocks(len.div_ceil(256) as u32), &arguments);
        Ok(())
    }

    fn dense_back(&mut self, dense: &Dense, id: Id, dy: Address) -> Result<(), DeviceError> {
        let &Dense { x, rows, inputs, outputs, activation, add, .. } = dense;
        if let Some(add) = add {
            self.pass(add, dy)?;
        }
        let row = self.row(id);
        let d = if activation == Activation::None {
            dy
        } else {
            let to = self.room(row, Element::Bf16)?;
            let arguments = [
                at(self.inner[&id]),
                self.full(id),
                self.bias(dense),
                int(outputs),
                at(dy),
                at(Address::NULL),
                at(to),
                int(activation as usize),
                Given::Examples(1),
                int(row),
            ];
            self.launch_back("activate_backward", Grid::Threads(row / 8), &arguments);
            to
        };
        if let Some(bias) = &dense.bias {
            self.column_dots([d, Address::NULL, Address::NULL], outputs, rows, bias)?;
        }
        let (to, before) = self.parameter_gradient(&dense.weight, inputs * outputs)?;
        let product = Product::weight_gradient(rows, inputs, outputs, self.values[x], d, to).plus(before);
        self.multiply_back(product, Grows::K, None);
        if self.learned(x) {
            let (before, to) = self.owed(x)?;
            let product = Product::input_gradient(rows, inputs, outputs, d, Address::NULL, to).plus(before);
            self.multiply_back(product, Grows::M, Some(self.offset(&dense.weight)));
        }
        Ok(())
    }

    /// Of `y = a b`: `dy b^T` to a and `a^T dy` to b, each the other way round where it is stored transposed.
    #[expect(clippy::too_many_arguments, reason = "the parts of one operation")]
    fn matmul_back(
        &mut self,
        a: &Matrix,
        b: &Matrix,
        [m, n, k]: [usize; 3],
        dy: Operand,
        step: usize,
        count: usize,
        scale: f32,
    ) -> Result<(), DeviceError> {
        let (left, right) = (self.operand(a)?, self.operand(b)?);
        let turned = |operand: Operand| Operand { order: flipped(operand.order), ..operand };
        let sides = [
            (a, [m, k, n], (dy, step), (turned(right), b.step)),
            (b, [k, n, m], (turned(left), a.step), (dy, step)),
        ];
        for (matrix, [rows, columns, inner], first, second) in sides {
            if !self.learned(matrix.of) {
                continue;
            }
            let (before, to) = self.owed(matrix.of)?;
            // What is stored transposed is the product of the transposes, the other way round.
            let (m, n, (a, a_step), (b, b_step)) = match matrix.order {
                Order::Stored => (rows, columns, first, second),
                Order::Transposed => {
                    (columns, rows, (turned(second.0), second.1), (turned(first.0), first.1))
                }
            };
            let product = Product {
                m,
                n,
                k: inner,
                a,
                b,
                out: to,
                out_stride: matrix.stride,
                out_element: Element::Bf16,
                add: before,
                scale,
                count,
                steps: [a_step, b_step, matrix.step],
            };
            self.multiply_back(product, Grows::Count, None);
        }
        Ok(())
    }

    fn attend_back(&mut self, id: Id, dy: Address) -> Result<(), DeviceError> {
        let record = self.record;
        let Op::Attend { qkv, gains, bias, attention } = &record.nodes[id].op else { return Ok(()) };
        let (heads, tokens) = (attention.heads, attention.tokens);
        let head = attention.width / heads;
        let capacity = self.training.capacity;
        let (blocks, steps) =
            kernels::walk(&self.training.device, heads, capacity, kernels::backward_blocks(head));
        let pairs = heads * tokens * tokens;
        let device = &self.training.device;
        let partial = device.allocate(blocks as usize * 2 * head * F32)?;
        let partial_bias = match bias {
            Some(_) => device.allocate(steps * pairs * F32)?,
            None => Address::NULL,
        };
        // A second use of the same values would need a sum, which the kernel does not make.
        if self.gradients[*qkv] != Address::NULL {
            return Err(DeviceError::new("planning the network", "attention to values used elsewhere"));
        }
        let (_, to) = self.owed(*qkv)?;
        let gains_at = self.offset(gains);
        let bias_at = match bias {
            Some(bias) if self.values[*bias] != Address::NULL => at(self.values[*bias]),
            Some(bias) => Given::Full(self.offset(self.parameter_of(*bias))),
            None => at(Address::NULL),
        };
        self.backward.push(Work::Launch {
            kernel: "attention_backward",
            grid: Grid::Blocks(blocks),
            threads: kernels::threads(tokens),
            shared: kernels::memory(tokens, head),
            arguments: vec![
                at(self.values[*qkv]),
                Given::Full(gains_at),
                Given::Full(gains_at + head),
                bias_at,
                at(dy),
                at(to),
                at(partial),
                at(partial_bias),
                Given::Examples(1),
            ],
        });
        let (gradient, before) = self.parameter_gradient(gains, 2 * head)?;
        self.sum_partials(partial, gradient, before, blocks as usize, 2 * head);
        let Some(bias) = *bias else { return Ok(()) };
        if matches!(record.nodes[bias].op, Op::Chosen { .. }) {
            let sums = self.training.device.allocate(pairs * F32)?;
            self.sum_partials(partial_bias, sums, Address::NULL, steps, pairs);
            return self.fold_chosen(bias, sums);
        }
        let name = self.parameter_of(bias).to_owned();
        let (gradient, before) = self.parameter_gradient(&name, pairs)?;
        self.sum_partials(partial_bias, gradient, before, steps, pairs);
        Ok(())
    }
}
