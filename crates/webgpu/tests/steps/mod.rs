//! What each step of a plan computes, one position at a time: the meaning of its shader, with every operation rounded.

use tabia_webgpu::{Activation, Buffer, Id, LANES, Norm, Plan, QUANT_MAX, Rows, SPAN, Scaling, Start, Step};

/// All buffers as words.
struct Memory(Vec<Vec<u32>>);

/// Runs a plan on the inputs of one position; its outputs in order.
pub(crate) fn run(plan: &Plan, inputs: &[Vec<f32>]) -> Vec<Vec<f32>> {
    let words = |buffer: &Buffer| match buffer {
        Buffer::Constant(words) => words.clone(),
        // Not zeros: a step may only read what was written.
        Buffer::PerPosition(len) => vec![f32::NAN.to_bits(); *len],
    };
    let mut memory = Memory(plan.buffers.iter().map(words).collect());
    for (port, input) in plan.inputs.iter().zip(inputs) {
        memory.put(port.buffer, 0, input);
    }
    plan.steps.iter().for_each(|step| memory.run(step));
    plan.outputs.iter().map(|port| memory.all(port.buffer)[..port.width].to_vec()).collect()
}

impl Memory {
    fn all(&self, id: Id) -> Vec<f32> {
        self.0[id].iter().map(|word| f32::from_bits(*word)).collect()
    }

    fn put(&mut self, id: Id, at: usize, values: &[f32]) {
        for (to, value) in self.0[id][at..].iter_mut().zip(values) {
            *to = value.to_bits();
        }
    }

    fn rows(&self, rows: Rows) -> Vec<Vec<f32>> {
        let all = self.all(rows.buffer);
        (0..rows.count).map(|row| all[rows.first + row * rows.stride..][..rows.width].to_vec()).collect()
    }

    /// Products and what they are added to.
    fn put_products(&mut self, start: Start, to: Rows, products: &[Vec<f32>]) {
        let first = |row: usize| match start {
            Start::Nothing => None,
            Start::Row(id) => Some(self.all(id)),
            Start::Rows(id) => Some(self.all(id)[row * to.width..].to_vec()),
        };
        let add = |(row, values): (usize, &Vec<f32>)| match first(row) {
            None => values.clone(),
            Some(first) => values.iter().zip(first).map(|(value, first)| first + value).collect(),
        };
        let sums: Vec<f32> = products.iter().enumerate().flat_map(add).collect();
        self.put(to.buffer, 0, &sums);
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::AddRow { first, second, to } => {
                let (first, second) = (self.all(first), self.all(second));
                let sums: Vec<f32> =
                    first.iter().enumerate().map(|(at, first)| first + second[at % to.width]).collect();
                self.put(to.buffer, 0, &sums);
            }
            Step::Ratings { ratings, slope, base, share, to } => {
                let (slope, base) = (self.all(slope), self.all(base));
                let mut vectors = Vec::new();
                for rating in ratings {
                    let part = self.all(rating)[0] * share;
                    vectors.extend(slope.iter().zip(&base).map(|(slope, base)| part * slope + base));
                }
                self.put(to.buffer, 0, &vectors);
            }
            Step::Quantise { from, words, params } => self.quantise(from, words, params),
            Step::Product8 { words, params, inputs, weights, sums, scales, start, to } => {
                let spans = inputs.div_ceil(SPAN);
                let (params, sums, scales) = (self.all(params), self.all(sums), self.all(scales));
                let value = |row: usize, output: usize| {
                    let mut value = 0.0;
                    for span in 0..spans {
                        let mut sum = 0;
                        for word in 8 * span..8 * span + 8 {
                            let inputs = self.0[words][row * 8 * spans + word].to_le_bytes();
                            let weights = self.0[weights][word * to.width + output].to_le_bytes();
                            let pairs = inputs.into_iter().zip(weights);
                            sum += pairs.map(|(x, w)| i32::from(x) * i32::from(w.cast_signed())).sum::<i32>();
                        }
                        let at = 2 * (row * spans + span);
                        value += sum as f32 * params[at + 1] + params[at] * sums[span * to.width + output];
                    }
                    value * scales[output]
                };
                let row = |row| (0..to.width).map(|output| value(row, output)).collect();
                let all: Vec<Vec<f32>> = (0..to.count).map(row).collect();
                self.put_products(start, to, &all);
            }
            Step::Product { from, weights, start, to } => {
                let weights = self.all(weights);
                let product = |row: &Vec<f32>, output: usize| {
                    let products = row.iter().zip(weights[output..].iter().step_by(to.width));
                    products.fold(0.0, |sum, (x, weight)| sum + x * weight)
                };
                let rows = self.rows(from);
                let row = |row| (0..to.width).map(|output| product(row, output)).collect();
                let all: Vec<Vec<f32>> = rows.iter().map(row).collect();
                self.put_products(start, to, &all);
            }
            Step::Normalise { from, shift, norm, to } => {
                let mut rows = self.rows(from);
                for row in &mut rows {
                    if let Some(shift) = shift {
                        add(row, &self.all(shift));
                    }
                    let (weight, bias, eps) = match norm {
                        Norm::Rms { weight, eps } => (weight, None, eps),
                        Norm::Layer { weight, bias, eps } => (weight, Some(bias), eps),
                    };
                    if bias.is_some() {
                        let mean = lanes(row.iter().copied()) / row.len() as f32;
                        row.iter_mut().for_each(|x| *x += -mean);
                    }
                    let unit = unit(row, eps);
                    row.iter_mut().zip(self.all(weight)).for_each(|(x, weight)| *x = *x * unit * weight);
                    if let Some(bias) = bias {
                        add(row, &self.all(bias));
                    }
                }
                self.put(to, 0, &rows.concat());
            }
            Step::Attend { qkv, heads, scaling, bias, to } => self.attend(qkv, heads, scaling, bias, to),
            Step::Activate { from, shift, activation, to } => {
                let mut rows = self.rows(from);
                for row in &mut rows {
                    if let Some(shift) = shift {
                        add(row, &self.all(shift));
                    }
                    *row = match activation {
                        Activation::Relu => row.iter().map(|x| x.max(0.0)).collect(),
                        Activation::Silu => row.iter().map(|x| silu(*x)).collect(),
                        Activation::Gelu => row.iter().map(|x| gelu(*x)).collect(),
                        Activation::SwiGlu => {
                            let (gates, values) = row.split_at(row.len() / 2);
                            gates.iter().zip(values).map(|(gate, value)| silu(*gate) * value).collect()
                        }
                    };
                }
                self.put(to, 0, &rows.concat());
            }
            Step::Mean { from, to } => {
                let mut sums = vec![0.0; from.width];
                self.rows(from).iter().for_each(|row| add(&mut sums, row));
                let share = 1.0 / from.count as f32;
                sums.iter_mut().for_each(|sum| *sum *= share);
                self.put(to, 0, &sums);
            }
            Step::Softmax { from, to } => {
                let mut row = self.rows(from).remove(0);
                softmax(&mut row, |row| lanes(row.iter().copied()));
                self.put(to, 0, &row);
            }
            Step::Pairs { from, scale, to } => {
                let rows = self.rows(from);
                let score = |from: &[f32], to: &[f32]| {
                    from.iter().zip(to).fold(0.0, |sum, (from, to)| sum + from * (to * scale))
                };
                let half = from.width / 2;
                let scores: Vec<f32> = rows
                    .iter()
                    .flat_map(|from| rows.iter().map(move |to| score(&from[..half], &to[half..])))
                    .collect();
                self.put(to, 0, &scores);
            }
            Step::Promotions { pieces, factor, to } => {
                let (scores, pieces) = (self.all(to), self.all(pieces));
                let logit =
                    |at: usize| scores[(48 + at / 32) * 64 + 56 + at / 4 % 8] + pieces[at % 32] * factor;
                let logits: Vec<f32> = (0..256).map(logit).collect();
                self.put(to, 64 * 64, &logits);
            }
        }
    }

    fn quantise(&mut self, from: Rows, words: Id, params: Id) {
        let spans = from.width.div_ceil(SPAN);
        for (r, row) in self.rows(from).iter().enumerate() {
            for (s, span) in row.chunks(SPAN).enumerate() {
                let low = span.iter().copied().fold(f32::INFINITY, f32::min);
                let high = span.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let range = high - low;
                let (scale, steps) =
                    if range > 1e-30 { (range / QUANT_MAX, QUANT_MAX / range) } else { (0.0, 0.0) };
                let at = r * spans + s;
                self.put(params, 2 * at, &[low, scale]);
                let mut bytes = [0; SPAN];
                for (byte, x) in bytes.iter_mut().zip(span) {
                    *byte = ((x - low) * steps).round_ties_even() as u8;
                }
                for (to, quad) in self.0[words][8 * at..].iter_mut().zip(bytes.as_chunks::<4>().0) {
                    *to = u32::from_le_bytes(*quad);
                }
            }
        }
    }

    fn attend(&mut self, qkv: Rows, heads: usize, scaling: Scaling, bias: Id, to: Id) {
        let (rows, bias) = (self.rows(qkv), self.all(bias));
        let (tokens, width) = (qkv.count, qkv.width / 3);
        let head = width / heads;
        for h in 0..heads {
            let part = |index: usize| -> Vec<Vec<f32>> {
                rows.iter().map(|row| row[index * width + h * head..][..head].to_vec()).collect()
            };
            let (mut queries, mut keys, values) = (part(0), part(1), part(2));
            match scaling {
                Scaling::Norms { queries: of_queries, keys: of_keys, eps } => {
                    for (rows, weights) in [(&mut queries, of_queries), (&mut keys, of_keys)] {
                        let weights = self.all(weights);
                        for row in rows {
                            let unit = unit(row, eps);
                            row.iter_mut().zip(&weights).for_each(|(x, weight)| *x = *x * unit * weight);
                        }
                    }
                }
                Scaling::Factor(factor) => queries.iter_mut().flatten().for_each(|x| *x *= factor),
            }
            for (i, query) in queries.iter().enumerate() {
                let score = |(j, key): (usize, &Vec<f32>)| {
                    let sum = query.iter().zip(key).fold(0.0, |sum, (q, k)| sum + q * k);
                    sum + bias[(h * tokens + i) * tokens + j]
                };
                let mut weights: Vec<f32> = keys.iter().enumerate().map(score).collect();
                softmax(&mut weights, |weights| weights.iter().sum());
                let mix = |d: usize| {
                    weights.iter().zip(&values).fold(0.0, |sum, (weight, value)| sum + weight * value[d])
                };
                let mixed: Vec<f32> = (0..head).map(mix).collect();
                self.put(to, i * width + h * head, &mixed);
            }
        }
    }
}

fn add(row: &mut [f32], other: &[f32]) {
    row.iter_mut().zip(other).for_each(|(x, other)| *x += other);
}

/// A sum in sixteen parts side by side, which are added by halves.
fn lanes(values: impl Iterator<Item = f32>) -> f32 {
    let mut lanes = [0.0; LANES];
    for (at, value) in values.enumerate() {
        lanes[at % LANES] += value;
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// The reciprocal root mean square.
fn unit(row: &[f32], eps: f32) -> f32 {
    1.0 / (lanes(row.iter().map(|x| x * x)) / row.len() as f32 + eps).sqrt()
}

/// The order in which `sum` adds is part of the result.
fn softmax(row: &mut [f32], sum: impl Fn(&[f32]) -> f32) {
    let most = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter_mut().for_each(|x| *x = exp(*x - most));
    let share = 1.0 / sum(row);
    row.iter_mut().for_each(|x| *x *= share);
}

/// As in `wgsl/exponential.wgsl`.
fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 87.0);
    let powers = (x * std::f32::consts::LOG2_E).round_ties_even();
    let rest = x - powers * 0.693_359_4 - powers * -2.121_944_4e-4;
    let mut tail = 1.987_569_1e-4;
    for coefficient in [1.398_2e-3, 8.333_452e-3, 4.166_58e-2, 0.166_666_65, 0.5] {
        tail = tail * rest + coefficient;
    }
    let value = tail * (rest * rest) + rest + 1.0;
    f32::from_bits(value.to_bits().wrapping_add((powers as i32).cast_unsigned() << 23))
}

fn silu(x: f32) -> f32 {
    x / (1.0 + exp(-x))
}

fn gelu(x: f32) -> f32 {
    let at = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * at);
    let mut sum = 1.061_405_4;
    for coefficient in [-1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6] {
        sum = sum * t + coefficient;
    }
    let below = 0.5 * (sum * t * exp(-(at * at)));
    x * if x < 0.0 { below } else { 1.0 - below }
}
