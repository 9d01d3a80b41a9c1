//! The kernels of the residual stream: input, norms, the gated product, attention.

use super::super::attention;
use super::super::device::{Argument, Device, DeviceError, Launch};
use super::super::transformer::{MOVES, TOKENS};
use super::{BOARDS, Bench, dot, norm_slope, normed, silu, silu_slope, softmax};
use crate::nets::HumanConfig;
use Argument::{At, Int};

impl<D: Device> Bench<'_, D> {
    pub(super) fn embed(&mut self) -> Result<(), DeviceError> {
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

    pub(super) fn norms(&mut self) -> Result<(), DeviceError> {
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

    pub(super) fn gated(&mut self, inner: usize) -> Result<(), DeviceError> {
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

    pub(super) fn attention(&mut self, config: &HumanConfig) -> Result<(), DeviceError> {
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
}
