//! Each kernel against its twin in plain Rust, on random numbers: in emulation in the tests, on the GPU in `train check`.
//!
//! The whole network is compared elsewhere; this says *which* kernel is wrong.

mod heads;
mod layers;

use fastrand::Rng;
use half::bf16;

use super::check::Compared;
use super::device::{Address, Argument, Device, DeviceError, Element, Launch, Operand, Order, Product};
use crate::nets::HumanConfig;
use Argument::{At, Int, Long};

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
            Long(0),
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
