//! Each kernel against its twin in plain Rust, on random numbers: in emulation in the tests, on the GPU in `train check`.
//!
//! The whole network is compared elsewhere; this says *which* kernel is wrong.

use fastrand::Rng;
use half::bf16;

use super::attention;
use super::check::Compared;
use super::device::{Address, Argument, Device, DeviceError, Element, Launch, Operand, Order, Product};
use super::transformer::{MOVES, TOKENS};
use crate::ABSENT;
use crate::nets::HumanConfig;
use Argument::{At, Float, Int, Long};

const BOARDS: usize = 3;
const EPS: f64 = 1e-6;

/// Numbers on the device and the same numbers here.
struct Pair {
    at: Address,
    here: Vec<f32>,
}

struct Bench<'a, D: Device> {
    device: &'a D,
    random: Rng,
    width: usize,
    heads: usize,
    head: usize,
    results: Vec<Compared>,
}

/// Runs every kernel and compares.
pub(crate) fn compare_kernels<D: Device>(
    device: &D,
    config: &HumanConfig,
) -> Result<Vec<Compared>, DeviceError> {
    let mut bench = Bench {
        device,
        random: Rng::with_seed(17),
        width: config.width,
        heads: config.heads,
        head: config.head_width(),
        results: Vec::new(),
    };
    bench.products()?;
    bench.embed()?;
    bench.norms()?;
    bench.gated(config.inner)?;
    bench.attention(config)?;
    bench.move_loss()?;
    bench.promotion()?;
    bench.pool()?;
    bench.hidden(config.hidden)?;
    bench.outcome()?;
    bench.optimiser()?;
    Ok(bench.results)
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
}

fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

fn silu_slope(x: f64) -> f64 {
    let s = 1.0 / (1.0 + (-x).exp());
    s * (1.0 + x * (1.0 - s))
}

/// One over the root mean square of a row.
fn inverse_rms(row: &[f32]) -> f64 {
    1.0 / (dot(row, row) / row.len() as f64 + EPS).sqrt()
}

/// The gradients of a row and of the gains through `row * inverse_rms * gain`.
fn norm_slope(row: &[f32], gain: &[f32], d: &[f64], d_gain: &mut [f64]) -> Vec<f64> {
    let scale = inverse_rms(row);
    let along: f64 =
        row.iter().zip(gain).zip(d).map(|((&x, &g), &d)| f64::from(x) * scale * f64::from(g) * d).sum();
    let n = row.len() as f64;
    (0..row.len())
        .map(|c| {
            let x = f64::from(row[c]) * scale;
            d_gain[c] += d[c] * x;
            scale * (d[c] * f64::from(gain[c]) - x * along / n)
        })
        .collect()
}

/// Probabilities, and the logarithm of the sum of exponentials.
fn softmax(logits: &[f64]) -> (Vec<f64>, f64) {
    let top = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|l| (l - top).exp()).sum();
    (logits.iter().map(|l| (l - top).exp() / sum).collect(), sum.ln() + top)
}

impl<D: Device> Bench<'_, D> {
    fn normal(&mut self) -> f32 {
        (0..12).map(|_| self.random.f32()).sum::<f32>() - 6.0
    }

    fn halves(&mut self, count: usize, scale: f32) -> Result<Pair, DeviceError> {
        let rounded: Vec<bf16> = (0..count).map(|_| bf16::from_f32(self.normal() * scale)).collect();
        let at = self.device.allocate(count * 2)?;
        self.device
            .write(at, bytemuck::cast_slice(&rounded.iter().map(|v| v.to_bits()).collect::<Vec<u16>>()))?;
        Ok(Pair { at, here: rounded.iter().map(|v| v.to_f32()).collect() })
    }

    fn floats(&mut self, count: usize, centre: f32, scale: f32) -> Result<Pair, DeviceError> {
        let here: Vec<f32> = (0..count).map(|_| centre + scale * self.normal()).collect();
        Ok(Pair { at: self.place(bytemuck::cast_slice(&here))?, here })
    }

    fn place(&self, bytes: &[u8]) -> Result<Address, DeviceError> {
        let at = self.device.allocate(bytes.len())?;
        self.device.write(at, bytes)?;
        Ok(at)
    }

    fn room(&self, floats: usize) -> Result<Address, DeviceError> {
        self.device.allocate(floats * 4)
    }

    fn read(&self, at: Address, count: usize) -> Result<Vec<f32>, DeviceError> {
        let mut values = vec![0_f32; count];
        self.device.read(at, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    fn read_halves(&self, at: Address, count: usize) -> Result<Vec<f32>, DeviceError> {
        let mut bits = vec![0_u16; count];
        self.device.read(at, bytemuck::cast_slice_mut(&mut bits))?;
        Ok(bits.into_iter().map(|b| bf16::from_bits(b).to_f32()).collect())
    }

    fn run(
        &self,
        kernel: &'static str,
        blocks: u32,
        threads: u32,
        arguments: &[Argument],
    ) -> Result<(), DeviceError> {
        self.device.launch(Launch { kernel, blocks, threads, shared: 0 }, arguments)
    }

    fn column_sums(&self, from: Address, rows: usize, columns: usize) -> Result<Vec<f32>, DeviceError> {
        let to = self.room(columns)?;
        let arguments = [At(from), At(to), At(Address::NULL), Int(rows as i32), Int(columns as i32)];
        self.run("column_sums", columns.div_ceil(32) as u32, 1024, &arguments)?;
        self.read(to, columns)
    }

    fn compare(&mut self, name: &str, fused: &[f32], plain: &[f64]) {
        let plain: Vec<f32> = plain.iter().map(|&v| v as f32).collect();
        self.results.push(Compared::new(name, fused, &plain));
    }

    fn products(&mut self) -> Result<(), DeviceError> {
        let (m, n, k, count) = (48, 32, 64, 2);
        for a_order in [Order::Stored, Order::Transposed] {
            for b_order in [Order::Stored, Order::Transposed] {
                for out_element in [Element::Bf16, Element::F32] {
                    let (a, b) = (self.halves(count * m * k, 1.0)?, self.halves(count * k * n, 1.0)?);
                    let stride =
                        |order, stored, transposed| if order == Order::Stored { stored } else { transposed };
                    let (a_stride, b_stride) = (stride(a_order, k, m), stride(b_order, n, k));
                    let add = self.halves(count * m * n, 1.0)?;
                    let adds = out_element == Element::Bf16;
                    let out = self.room(count * m * n)?;
                    self.device.multiply(&Product {
                        m,
                        n,
                        k,
                        a: Operand { at: a.at, stride: a_stride, order: a_order },
                        b: Operand { at: b.at, stride: b_stride, order: b_order },
                        out,
                        out_stride: n,
                        out_element,
                        add: if adds { add.at } else { Address::NULL },
                        scale: 0.5,
                        count,
                        steps: [m * k, k * n, m * n],
                    })?;
                    let mut plain = Vec::new();
                    for i in 0..count {
                        for r in 0..m {
                            for c in 0..n {
                                let sum: f64 = (0..k)
                                    .map(|l| {
                                        let x = if a_order == Order::Stored { r * k + l } else { l * m + r };
                                        let y = if b_order == Order::Stored { l * n + c } else { c * k + l };
                                        f64::from(a.here[i * m * k + x]) * f64::from(b.here[i * k * n + y])
                                    })
                                    .sum();
                                let add = if adds { f64::from(add.here[(i * m + r) * n + c]) } else { 0.0 };
                                plain.push(0.5 * sum + add);
                            }
                        }
                    }
                    let fused = match out_element {
                        Element::Bf16 => self.read_halves(out, plain.len())?,
                        Element::F32 => self.read(out, plain.len())?,
                    };
                    self.compare(&format!("product {a_order:?} {b_order:?} {out_element:?}"), &fused, &plain);
                }
            }
        }
        Ok(())
    }

    fn embed(&mut self) -> Result<(), DeviceError> {
        let (d, rows) = (self.width, BOARDS * TOKENS);
        let (squares, position) = (self.halves(rows * d, 1.0)?, self.floats(TOKENS * d, 0.0, 1.0)?);
        let (game, gain) = (self.floats(BOARDS * d, 0.0, 1.0)?, self.floats(d, 1.0, 0.3)?);
        let (x, h) = (self.room(rows * d)?, self.room(rows * d)?);
        let arguments =
            [At(squares.at), At(position.at), At(game.at), At(gain.at), At(x), At(h), Int(rows as i32)];
        self.run("embed", 5, 256, &arguments)?;
        let plain_x: Vec<f32> = (0..rows * d)
            .map(|i| {
                let (r, c) = (i / d, i % d);
                squares.here[i] + position.here[r % TOKENS * d + c] + game.here[r / TOKENS * d + c]
            })
            .collect();
        let plain_h = normed(&plain_x, &gain.here);
        self.compare(
            "embed x",
            &self.read_halves(x, rows * d)?,
            &plain_x.iter().map(|&v| v.into()).collect::<Vec<_>>(),
        );
        self.compare("embed h", &self.read_halves(h, rows * d)?, &plain_h);

        let (d_game, partial, blocks) = (self.room(BOARDS * d)?, self.room(2 * TOKENS * d)?, 2);
        let arguments = [At(squares.at), At(d_game), At(partial), Int(BOARDS as i32)];
        self.run("embed_backward", blocks, 256, &arguments)?;
        let (mut of_game, mut of_position) = (vec![0.0; BOARDS * d], vec![0.0; TOKENS * d]);
        for (i, &v) in squares.here.iter().enumerate() {
            of_game[i / d / TOKENS * d + i % d] += f64::from(v);
            of_position[i / d % TOKENS * d + i % d] += f64::from(v);
        }
        self.compare("embed_backward game", &self.read_halves(d_game, BOARDS * d)?, &of_game);
        let sums = self.column_sums(partial, blocks as usize, TOKENS * d)?;
        self.compare("embed_backward position", &sums, &of_position);
        Ok(())
    }

    fn norms(&mut self) -> Result<(), DeviceError> {
        let (d, rows, blocks) = (self.width, BOARDS * TOKENS, 3);
        let (x, gain, dh) =
            (self.halves(rows * d, 2.0)?, self.floats(d, 1.0, 0.3)?, self.halves(rows * d, 1.0)?);
        let h = self.room(rows * d)?;
        self.run("norm_forward", 7, 256, &[At(x.at), At(gain.at), At(h), Int(rows as i32)])?;
        self.compare("norm_forward", &self.read_halves(h, rows * d)?, &normed(&x.here, &gain.here));

        let (shared, before) = (self.floats(BOARDS * d, 0.0, 1.0)?, self.halves(rows * d, 1.0)?);
        let (dx, partial) = (self.room(rows * d)?, self.room(blocks as usize * d)?);
        let arguments = [
            At(x.at),
            At(gain.at),
            At(dh.at),
            At(shared.at),
            At(before.at),
            At(dx),
            At(partial),
            Int(rows as i32),
        ];
        self.run("norm_backward", blocks, 256, &arguments)?;
        let (mut plain, mut d_gain) = (Vec::new(), vec![0.0; d]);
        for r in 0..rows {
            let slopes: Vec<f64> = (0..d)
                .map(|c| {
                    f64::from(dh.here[r * d + c]) + f64::from(shared.here[r / TOKENS * d + c]) / TOKENS as f64
                })
                .collect();
            let back = norm_slope(&x.here[r * d..][..d], &gain.here, &slopes, &mut d_gain);
            plain.extend(back.iter().enumerate().map(|(c, v)| v + f64::from(before.here[r * d + c])));
        }
        self.compare("norm_backward dx", &self.read_halves(dx, rows * d)?, &plain);
        let sums = self.column_sums(partial, blocks as usize, d)?;
        self.compare("norm_backward gain", &sums, &d_gain);
        Ok(())
    }

    fn gated(&mut self, inner: usize) -> Result<(), DeviceError> {
        let rows = 5;
        let (both, d) = (self.halves(rows * 2 * inner, 2.0)?, self.halves(rows * inner, 1.0)?);
        let (product, d_both) = (self.room(rows * inner)?, self.room(rows * 2 * inner)?);
        self.run("gated_forward", 2, 256, &[At(both.at), At(product), Int(rows as i32)])?;
        self.run("gated_backward", 2, 256, &[At(both.at), At(d.at), At(d_both), Int(rows as i32)])?;
        let (mut plain, mut plain_d) = (Vec::new(), vec![0.0; rows * 2 * inner]);
        for r in 0..rows {
            for c in 0..inner {
                let at = r * 2 * inner + c;
                let (gate, up) = (f64::from(both.here[at]), f64::from(both.here[at + inner]));
                let d = f64::from(d.here[r * inner + c]);
                plain.push(silu(gate) * up);
                plain_d[at] = d * up * silu_slope(gate);
                plain_d[at + inner] = d * silu(gate);
            }
        }
        self.compare("gated_forward", &self.read_halves(product, rows * inner)?, &plain);
        self.compare("gated_backward", &self.read_halves(d_both, rows * 2 * inner)?, &plain_d);
        Ok(())
    }

    fn attention(&mut self, config: &HumanConfig) -> Result<(), DeviceError> {
        let (d, heads, head, rows) = (self.width, self.heads, self.head, BOARDS * TOKENS);
        let (qkv, d_context) = (self.halves(rows * 3 * d, 1.0)?, self.halves(rows * d, 1.0)?);
        let (gain_q, gain_k) = (self.floats(head, 1.0, 0.3)?, self.floats(head, 1.0, 0.3)?);
        let bias = self.floats(heads * MOVES, 0.0, 0.5)?;
        let (context, d_qkv) = (self.room(rows * d)?, self.room(rows * 3 * d)?);
        let (steps, boards) = (2, Int(BOARDS as i32));
        let blocks = (steps * heads) as u32;
        let (partial, partial_bias) =
            (self.room(blocks as usize * 2 * head)?, self.room(steps * heads * MOVES)?);
        let arguments = [At(qkv.at), At(gain_q.at), At(gain_k.at), At(bias.at), At(context), boards];
        self.run("attention_forward", blocks, attention::threads(TOKENS), &arguments)?;
        let arguments = [
            At(qkv.at),
            At(gain_q.at),
            At(gain_k.at),
            At(bias.at),
            At(d_context.at),
            At(d_qkv),
            At(partial),
            At(partial_bias),
            boards,
        ];
        let shared = attention::memory(TOKENS, config.head_width());
        let launch =
            Launch { kernel: "attention_backward", blocks, threads: attention::threads(TOKENS), shared };
        self.device.launch(launch, &arguments)?;

        let (mut plain, mut plain_d) = (vec![0.0; rows * d], vec![0.0; rows * 3 * d]);
        let (mut d_gains, mut d_bias) = ([vec![0.0; head], vec![0.0; head]], vec![0.0; heads * MOVES]);
        for b in 0..BOARDS {
            for h in 0..heads {
                let part = |p: usize, r: usize| {
                    let at = (b * TOKENS + r) * 3 * d + p * d + h * head;
                    &qkv.here[at..at + head]
                };
                let rows_of = |p: usize, gain: &[f32]| -> Vec<Vec<f32>> {
                    (0..TOKENS)
                        .map(|r| normed(part(p, r), gain).iter().map(|&v| v as f32).collect())
                        .collect()
                };
                let (q, k) = (rows_of(0, &gain_q.here), rows_of(1, &gain_k.here));
                let (mut dq, mut dk) = (vec![vec![0.0; head]; TOKENS], vec![vec![0.0; head]; TOKENS]);
                let scale = 1.0 / (head as f64).sqrt();
                for i in 0..TOKENS {
                    let at = h * MOVES + i * TOKENS;
                    let scores: Vec<f64> = (0..TOKENS)
                        .map(|j| dot(&q[i], &k[j]) * scale + f64::from(bias.here[at + j]))
                        .collect();
                    let (shares, _) = softmax(&scores);
                    let out = (b * TOKENS + i) * d + h * head;
                    let d_out = &d_context.here[out..out + head];
                    for (j, share) in shares.iter().enumerate() {
                        for c in 0..head {
                            plain[out + c] += share * f64::from(part(2, j)[c]);
                            plain_d[(b * TOKENS + j) * 3 * d + 2 * d + h * head + c] +=
                                share * f64::from(d_out[c]);
                        }
                    }
                    let slopes: Vec<f64> = (0..TOKENS).map(|j| dot(d_out, part(2, j))).collect();
                    let mean: f64 = slopes.iter().zip(&shares).map(|(s, p)| s * p).sum();
                    for j in 0..TOKENS {
                        let ds = shares[j] * (slopes[j] - mean);
                        d_bias[at + j] += ds;
                        for c in 0..head {
                            dq[i][c] += ds * scale * f64::from(k[j][c]);
                            dk[j][c] += ds * scale * f64::from(q[i][c]);
                        }
                    }
                }
                for (p, (gain, slopes)) in [(&gain_q, &dq), (&gain_k, &dk)].into_iter().enumerate() {
                    for (r, slopes) in slopes.iter().enumerate() {
                        let back = norm_slope(part(p, r), &gain.here, slopes, &mut d_gains[p]);
                        let at = (b * TOKENS + r) * 3 * d + p * d + h * head;
                        plain_d[at..at + head].copy_from_slice(&back);
                    }
                }
            }
        }
        self.compare("attention_forward", &self.read_halves(context, rows * d)?, &plain);
        let fused = self.read_halves(d_qkv, rows * 3 * d)?;
        for (p, name) in
            ["attention_backward q", "attention_backward k", "attention_backward v"].iter().enumerate()
        {
            let pick = |i: &usize| i % (3 * d) / d == p;
            let of: Vec<f32> = (0..fused.len()).filter(pick).map(|i| fused[i]).collect();
            let plain: Vec<f64> = (0..fused.len()).filter(pick).map(|i| plain_d[i]).collect();
            self.compare(name, &of, &plain);
        }
        let gains = self.column_sums(partial, blocks as usize, 2 * head)?;
        self.compare("attention_backward gains", &gains, &d_gains.concat());
        let sums = self.column_sums(partial_bias, steps, heads * MOVES)?;
        self.compare("attention_backward bias", &sums, &d_bias);
        Ok(())
    }

    fn move_loss(&mut self) -> Result<(), DeviceError> {
        let logits = self.floats(BOARDS * MOVES, 0.0, 2.0)?;
        let mut legal = vec![0_u8; BOARDS * MOVES / 8];
        legal.fill_with(|| self.random.u8(..) & self.random.u8(..) & self.random.u8(..));
        let played = [5_u16, 4095, 2051];
        let soft: [&[(u16, f32)]; BOARDS] = [&[], &[(4095, 0.5), (0, 0.25), (2048, 0.25)], &[]];
        let mut allow = |board: usize, index: u16| {
            legal[board * MOVES / 8 + usize::from(index) / 8] |= 1 << (index % 8);
        };
        for board in 0..BOARDS {
            allow(board, played[board]);
            soft[board].iter().for_each(|&(index, _)| allow(board, index));
        }
        let share = [0.5_f32, 0.2, 0.3];
        let entries: Vec<(u16, f32)> = soft.concat();
        let (indices, probabilities): (Vec<u16>, Vec<f32>) = entries.into_iter().unzip();
        let (loss, rank, d_logits) = (self.room(BOARDS)?, self.room(BOARDS)?, self.room(BOARDS * MOVES)?);
        let factor = 0.7;
        let arguments = [
            At(logits.at),
            At(self.place(&legal)?),
            At(self.place(bytemuck::cast_slice(&played))?),
            At(self.place(bytemuck::cast_slice(&[0_u32, 0, 3, 3]))?),
            At(self.place(bytemuck::cast_slice(&indices))?),
            At(self.place(bytemuck::cast_slice(&probabilities))?),
            At(self.place(bytemuck::cast_slice(&share))?),
            Float(factor),
            At(loss),
            At(rank),
            At(d_logits),
        ];
        self.run("move_loss", BOARDS as u32, 256, &arguments)?;
        let (mut losses, mut ranks, mut slopes) = (Vec::new(), Vec::new(), vec![0.0; BOARDS * MOVES]);
        for b in 0..BOARDS {
            let row = &logits.here[b * MOVES..][..MOVES];
            let allowed: Vec<usize> =
                (0..MOVES).filter(|i| legal[b * MOVES / 8 + i / 8] >> (i % 8) & 1 == 1).collect();
            let (shares, log_sum) = softmax(&allowed.iter().map(|&i| f64::from(row[i])).collect::<Vec<_>>());
            let hard = [(played[b], 1.0)];
            let targets = if soft[b].is_empty() { &hard } else { soft[b] };
            let expected: f64 =
                targets.iter().map(|&(i, p)| f64::from(p) * f64::from(row[usize::from(i)])).sum();
            losses.push(log_sum - expected);
            ranks.push(allowed.iter().filter(|&&i| row[i] > row[usize::from(played[b])]).count() as f64);
            let scale = f64::from(factor) * f64::from(share[b]);
            allowed.iter().zip(shares).for_each(|(&i, p)| slopes[b * MOVES + i] += scale * p);
            targets.iter().for_each(|&(i, p)| slopes[b * MOVES + usize::from(i)] -= scale * f64::from(p));
        }
        self.compare("move_loss", &self.read(loss, BOARDS)?, &losses);
        self.compare("move_loss gradient", &self.read_halves(d_logits, BOARDS * MOVES)?, &slopes);
        let mut counted = [0_u16; BOARDS];
        self.device.read(rank, bytemuck::cast_slice_mut(&mut counted))?;
        self.compare("move_loss rank", &counted.map(f32::from), &ranks);
        Ok(())
    }

    fn promotion(&mut self) -> Result<(), DeviceError> {
        let (d, rows, blocks) = (self.width, BOARDS * TOKENS, 2);
        let (y, weight, dy) =
            (self.halves(rows * d, 1.0)?, self.halves(4 * d, 0.2)?, self.halves(rows * d, 1.0)?);
        let (pieces, played, share) = ([2_u8, ABSENT, 0], [63_u16, 5, 8], [0.5_f32, 0.2, 0.3]);
        let (loss, d_logits, partial) =
            (self.room(BOARDS)?, self.room(BOARDS * 4)?, self.room(blocks as usize * 4 * d)?);
        let (at_pieces, at_played) = (self.place(&pieces)?, self.place(bytemuck::cast_slice(&played))?);
        let boards = Int(BOARDS as i32);
        let arguments = [
            At(y.at),
            At(weight.at),
            At(at_pieces),
            At(at_played),
            At(self.place(bytemuck::cast_slice(&share))?),
            Float(0.7),
            At(loss),
            At(d_logits),
            boards,
        ];
        self.run("promotion_loss", 1, 256, &arguments)?;
        let arguments = [
            At(y.at),
            At(weight.at),
            At(at_pieces),
            At(at_played),
            At(d_logits),
            At(dy.at),
            At(partial),
            boards,
        ];
        self.run("promotion_backward", blocks, 256, &arguments)?;
        let (mut losses, mut plain_dy) =
            (vec![0.0; BOARDS], dy.here.iter().map(|&v| f64::from(v)).collect::<Vec<_>>());
        let mut d_weight = vec![0.0; 4 * d];
        for b in (0..BOARDS).filter(|&b| pieces[b] < 4) {
            let at = (b * TOKENS + 56 + usize::from(played[b]) % 8) * d;
            let row = &y.here[at..at + d];
            let (shares, log_sum) =
                softmax(&(0..4).map(|j| dot(row, &weight.here[j * d..][..d])).collect::<Vec<_>>());
            losses[b] = log_sum - dot(row, &weight.here[usize::from(pieces[b]) * d..][..d]);
            for (j, p) in shares.iter().enumerate() {
                let target = if j == usize::from(pieces[b]) { 1.0 } else { 0.0 };
                let slope = f64::from(0.7_f32 * share[b]) * (p - target);
                for c in 0..d {
                    plain_dy[at + c] += slope * f64::from(weight.here[j * d + c]);
                    d_weight[j * d + c] += slope * f64::from(row[c]);
                }
            }
        }
        self.compare("promotion_loss", &self.read(loss, BOARDS)?, &losses);
        self.compare("promotion_backward dy", &self.read_halves(dy.at, rows * d)?, &plain_dy);
        let sums = self.column_sums(partial, blocks as usize, 4 * d)?;
        self.compare("promotion_backward weight", &sums, &d_weight);
        Ok(())
    }

    fn pool(&mut self) -> Result<(), DeviceError> {
        let d = self.width;
        let y = self.halves(BOARDS * TOKENS * d, 1.0)?;
        let pooled = self.room(BOARDS * d)?;
        self.run("pool", 1, 256, &[At(y.at), At(pooled), Int(BOARDS as i32)])?;
        let mut plain = vec![0.0; BOARDS * d];
        for (i, &v) in y.here.iter().enumerate() {
            plain[i / d / TOKENS * d + i % d] += f64::from(v) / TOKENS as f64;
        }
        self.compare("pool", &self.read_halves(pooled, BOARDS * d)?, &plain);
        Ok(())
    }

    fn hidden(&mut self, hidden: usize) -> Result<(), DeviceError> {
        let count = BOARDS * hidden;
        let (before, bias) = (self.floats(count, 0.0, 1.0)?, self.floats(hidden, 0.0, 0.5)?);
        let d = self.floats(count, 0.0, 1.0)?;
        let (out, d_before, boards) = (self.room(count)?, self.room(count)?, Int(BOARDS as i32));
        self.run("hidden_forward", 2, 256, &[At(before.at), At(bias.at), At(out), boards])?;
        self.run("hidden_backward", 2, 256, &[At(before.at), At(bias.at), At(d.at), At(d_before), boards])?;
        let inner = |i: usize| f64::from(before.here[i]) + f64::from(bias.here[i % hidden]);
        let plain: Vec<f64> = (0..count).map(|i| silu(inner(i))).collect();
        let plain_d: Vec<f64> = (0..count).map(|i| f64::from(d.here[i]) * silu_slope(inner(i))).collect();
        self.compare("hidden_forward", &self.read_halves(out, count)?, &plain);
        self.compare("hidden_backward", &self.read(d.at, count)?, &plain_d);
        self.compare("hidden_backward rounded", &self.read_halves(d_before, count)?, &plain_d);
        Ok(())
    }

    fn outcome(&mut self) -> Result<(), DeviceError> {
        let bins = tabia_encoding::TIME_BINS;
        let (logits, bias) = (self.floats(BOARDS * 32, 0.0, 1.0)?, self.floats(32, 0.0, 1.0)?);
        let (outcomes, think) = ([2_u8, ABSENT, 0], [19_u8, 0, ABSENT]);
        let (share, factors) = ([0.5_f32, 0.2, 0.3], [0.7_f32, 0.4]);
        let (losses, d, rounded) = (self.room(2 * BOARDS)?, self.room(BOARDS * 32)?, self.room(BOARDS * 32)?);
        let arguments = [
            At(logits.at),
            At(bias.at),
            At(self.place(&outcomes)?),
            At(self.place(&think)?),
            At(self.place(bytemuck::cast_slice(&share))?),
            Float(factors[0]),
            Float(factors[1]),
            At(losses),
            At(losses.after(BOARDS, 4)),
            At(d),
            At(rounded),
            Int(BOARDS as i32),
        ];
        self.run("outcome_loss", 1, 256, &arguments)?;
        let (mut plain, mut slopes) = (vec![0.0; 2 * BOARDS], vec![0.0; BOARDS * 32]);
        for b in 0..BOARDS {
            let parts = [(0, 3, outcomes[b]), (3, bins, think[b])];
            for (part, (first, count, target)) in parts.into_iter().enumerate().filter(|(_, p)| p.2 != ABSENT)
            {
                let row: Vec<f64> = (first..first + count)
                    .map(|c| f64::from(logits.here[b * 32 + c]) + f64::from(bias.here[c]))
                    .collect();
                let (shares, log_sum) = softmax(&row);
                plain[part * BOARDS + b] = log_sum - row[usize::from(target)];
                for (c, p) in shares.iter().enumerate() {
                    let wanted = if c == usize::from(target) { 1.0 } else { 0.0 };
                    slopes[b * 32 + first + c] = f64::from(share[b] * factors[part]) * (p - wanted);
                }
            }
        }
        self.compare("outcome_loss", &self.read(losses, 2 * BOARDS)?, &plain);
        self.compare("outcome_loss gradient", &self.read(d, BOARDS * 32)?, &slopes);
        self.compare("outcome_loss rounded", &self.read_halves(rounded, BOARDS * 32)?, &slopes);
        Ok(())
    }

    fn optimiser(&mut self) -> Result<(), DeviceError> {
        let (count, decayed, blocks, capacity) = (4096, 1024, 3, BOARDS + 1);
        let (losses, share, factors) =
            (self.floats(5 * capacity, 2.0, 0.5)?, [0.5_f32, 0.2, 0.3], [1.0_f32, 0.5, 0.2, 0.1, 0.7]);
        let gradient = self.floats(count, 0.0, 0.1)?;
        let (w, m, ema) =
            (self.floats(count, 0.0, 1.0)?, self.floats(count, 0.0, 0.1)?, self.floats(count, 0.0, 1.0)?);
        let v = self.floats(count, 1.0, 0.1)?;
        let hyper = [0.01_f32, 0.9, 0.98, 1e-8, 0.1, 1.0, 0.95, 0.0];
        let at_hyper = At(self.place(bytemuck::cast_slice(&hyper))?);
        let (partial, report, counter) = (self.room(blocks as usize)?, self.room(8)?, self.room(4)?);
        self.device.write(counter, bytemuck::cast_slice(&[4_f32]))?;
        self.run("square_sums", blocks, 256, &[At(gradient.at), At(partial), Long(count as i64)])?;
        let arguments = [
            At(losses.at),
            At(self.place(bytemuck::cast_slice(&share))?),
            At(self.place(bytemuck::cast_slice(&factors))?),
            At(partial),
            Int(blocks as i32),
            At(report),
            Int(BOARDS as i32),
            Int(capacity as i32),
        ];
        self.run("report_step", 1, 256, &arguments)?;
        self.run("begin_update", 1, 32, &[at_hyper, At(report), At(counter)])?;
        let rounded = self.room(count)?;
        let arguments = [
            At(w.at),
            At(m.at),
            At(v.at),
            At(ema.at),
            At(gradient.at),
            At(rounded),
            Long(count as i64),
            Long(decayed as i64),
            at_hyper,
            At(report),
            At(counter),
        ];
        self.run("adamw", 2, 256, &arguments)?;

        let heads: Vec<f64> = (0..5)
            .map(|h| {
                (0..BOARDS).map(|b| f64::from(share[b]) * f64::from(losses.here[h * capacity + b])).sum()
            })
            .collect();
        let total: f64 = heads.iter().zip(factors).map(|(l, f)| l * f64::from(f)).sum();
        let norm = dot(&gradient.here, &gradient.here).sqrt();
        let expected: Vec<f64> = heads.into_iter().chain([total, norm, 5.0]).collect();
        self.compare("report_step", &self.read(report, 8)?, &expected);
        let [lr, beta1, beta2, eps, decay, clip, ema_decay, _] = hyper.map(f64::from);
        let (mut new_w, mut new_m, mut new_v, mut new_ema) = (vec![], vec![], vec![], vec![]);
        for i in 0..count {
            let g = f64::from(gradient.here[i]) * (clip / norm).min(1.0);
            let m = beta1 * f64::from(m.here[i]) + (1.0 - beta1) * g;
            let v = beta2 * f64::from(v.here[i]) + (1.0 - beta2) * g * g;
            let old = f64::from(w.here[i]);
            let pull = if i < decayed { decay * old } else { 0.0 };
            let step = m / (1.0 - beta1.powi(5)) / ((v / (1.0 - beta2.powi(5))).sqrt() + eps);
            let w = old - lr * (step + pull);
            new_ema.push(ema_decay * f64::from(ema.here[i]) + (1.0 - ema_decay) * w);
            new_w.push(w);
            new_m.push(m);
            new_v.push(v);
        }
        let arenas = [
            ("adamw weights", w.at, &new_w),
            ("adamw first moment", m.at, &new_m),
            ("adamw second moment", v.at, &new_v),
            ("adamw averaged", ema.at, &new_ema),
        ];
        for (name, at, plain) in arenas {
            self.compare(name, &self.read(at, count)?, plain);
        }
        self.compare("adamw rounded", &self.read_halves(rounded, count)?, &new_w);
        Ok(())
    }
}

/// Rows of `gain.len()` numbers, each over its root mean square, times the gain.
fn normed(rows: &[f32], gain: &[f32]) -> Vec<f64> {
    rows.chunks(gain.len())
        .flat_map(|row| {
            let scale = inverse_rms(row);
            row.iter().zip(gain).map(move |(&x, &g)| f64::from(x) * scale * f64::from(g)).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::emulated::Emulated;
    use super::super::transformer::{SOURCES, defines};
    use super::*;

    #[test]
    fn every_kernel_does_what_its_twin_does() {
        let config = HumanConfig { width: 64, heads: 2, layers: 1, inner: 96, pair: 32, hidden: 32 };
        let Some(device) = Emulated::open(&SOURCES, &defines(&config)) else { return };
        let results = compare_kernels(&device, &config).unwrap();
        for compared in results {
            assert!(compared.error < super::super::check::KERNEL_TOLERANCE, "{compared:?}");
        }
    }
}
