//! The kernels of the heads and their losses.

use super::super::device::{Argument, Device, DeviceError};
use super::super::transformer::{MOVES, TOKENS};
use super::{BOARDS, Bench, dot, silu, silu_slope, softmax};
use crate::ABSENT;
use Argument::{At, Float, Int};

impl<D: Device> Bench<'_, D> {
    pub(super) fn move_loss(&mut self) -> Result<(), DeviceError> {
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

    pub(super) fn promotion(&mut self) -> Result<(), DeviceError> {
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

    pub(super) fn pool(&mut self) -> Result<(), DeviceError> {
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

    pub(super) fn hidden(&mut self, hidden: usize) -> Result<(), DeviceError> {
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

    pub(super) fn outcome(&mut self) -> Result<(), DeviceError> {
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
}
