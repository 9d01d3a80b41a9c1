//! Losses and evaluation scores, on candle tensors.

use candle_core::{D, Device, Result, Tensor};

use crate::kernels;
use crate::tensors::Kernels;
use crate::{ABSENT, Examples, LossFactors, Losses, PolicyTargets, Scores, ValueLoss};
use tabia_nets::Heads;

/// Instead of minus infinity, whose products with zero are not numbers.
const IMPOSSIBLE: f32 = -1e30;

/// The loss of each example by head, `[batch]` each.
struct ByExample {
    policy: Option<Tensor>,
    promotion: Option<Tensor>,
    outcome: Option<Tensor>,
    think: Option<Tensor>,
    value: Option<Tensor>,
}

/// The value loss and the scale of its logits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueRule {
    pub(crate) loss: ValueLoss,
    /// One unit of the network's output times this is the logit of its chance to win.
    pub(crate) logit_scale: f32,
    /// How many rows stand together as siblings.
    pub(crate) siblings: usize,
    /// How much their order counts.
    pub(crate) ranking: f32,
    /// The temperature of their probabilities.
    pub(crate) temperature: f32,
}

impl ValueRule {
    /// One unit of the network's number is so much of a logit.
    pub(crate) fn logits_a_unit(self) -> f32 {
        match self.loss {
            ValueLoss::L1 | ValueLoss::Squared | ValueLoss::Chance => self.logit_scale,
            ValueLoss::CrossEntropy => 1.0,
        }
    }

    /// A target as a logit.
    fn logit_of(self, target: f32) -> f32 {
        match self.loss {
            ValueLoss::L1 | ValueLoss::Squared => target * self.logit_scale,
            ValueLoss::Chance | ValueLoss::CrossEntropy => {
                let chance = target.clamp(LEAST_CHANCE, 1.0 - LEAST_CHANCE);
                (chance / (1.0 - chance)).ln()
            }
        }
    }
}

/// Targets closer to 0 or 1 are ranked as if they were this close.
const LEAST_CHANCE: f32 = 1e-4;

/// The total loss, to differentiate, and all losses as numbers: sums over `examples` divided by `total_weight`, that of the
/// batch they are part of.
pub(crate) fn total(
    heads: &Heads<Tensor>,
    examples: &Examples,
    total_weight: f32,
    factors: &LossFactors,
    rule: ValueRule,
    kernels: Kernels,
) -> Result<(Tensor, Losses)> {
    let by_example = by_example(heads, examples, rule, kernels)?;
    let weights = Tensor::from_slice(&examples.weights, examples.rows(), &Device::Cpu)?;
    let scale = 1.0 / f64::from(total_weight.max(f32::MIN_POSITIVE));
    let mut sum = Tensor::zeros((), candle_core::DType::F32, &Device::Cpu)?;
    let mut losses = Losses::default();
    let mut add = |loss: &Option<Tensor>, factor: f32, out: &mut f32| -> Result<()> {
        if let Some(loss) = loss {
            let mean = ((loss * &weights)?.sum_all()? * scale)?;
            *out = mean.to_scalar()?;
            sum = (&sum + (mean * f64::from(factor))?)?;
        }
        Ok(())
    };
    add(&by_example.policy, factors.policy, &mut losses.policy)?;
    add(&by_example.promotion, factors.promotion, &mut losses.promotion)?;
    add(&by_example.outcome, factors.outcome, &mut losses.outcome)?;
    add(&by_example.think, factors.think, &mut losses.think)?;
    add(&by_example.value, factors.value, &mut losses.value)?;
    losses.total = sum.to_scalar()?;
    Ok((sum, losses))
}

/// The scores of each example; NaN where a target is absent.
pub(crate) fn scores(
    heads: &Heads<Tensor>,
    examples: &Examples,
    rule: ValueRule,
    kernels: Kernels,
) -> Result<Scores> {
    let by_example = by_example(heads, examples, rule, kernels)?;
    let column = |loss: Option<Tensor>, present: &dyn Fn(usize) -> bool| -> Result<Vec<f32>> {
        let Some(loss) = loss else { return Ok(Vec::new()) };
        let mut loss: Vec<f32> = loss.to_vec1()?;
        for (row, value) in loss.iter_mut().enumerate() {
            if !present(row) {
                *value = f32::NAN;
            }
        }
        Ok(loss)
    };
    let known = |column: &[u8], row: usize| column.get(row).is_some_and(|&target| target != ABSENT);
    let policy = examples.policy.as_ref();
    Ok(Scores {
        policy: column(by_example.policy, &|_| true)?,
        rank: match (&heads.policy, policy) {
            (Some(logits), Some(targets)) => ranks(&logits.to_vec2()?, targets),
            _ => Vec::new(),
        },
        promotion: column(by_example.promotion, &|row| {
            policy.is_some_and(|targets| known(&targets.promotions, row))
        })?,
        outcome: column(by_example.outcome, &|row| known(&examples.outcomes, row))?,
        think: column(by_example.think, &|row| known(&examples.think, row))?,
        value: match &heads.value {
            Some(value) => predicted(&value.flatten_all()?, rule)?.to_vec1()?,
            None => Vec::new(),
        },
        value_loss: column(by_example.value, &|row| {
            examples.values.get(row).is_some_and(|value| !value.is_nan())
        })?,
    })
}

fn by_example(
    heads: &Heads<Tensor>,
    examples: &Examples,
    rule: ValueRule,
    kernels: Kernels,
) -> Result<ByExample> {
    let policy = match (&heads.policy, &examples.policy) {
        (Some(logits), Some(targets)) => Some(match kernels {
            Kernels::Plain => policy_loss(logits, targets)?,
            Kernels::Fast => kernels::policy_loss(logits, targets)?,
        }),
        _ => None,
    };
    let promotion = match (&heads.promotion, &examples.policy) {
        (Some(logits), Some(targets)) if !targets.promotions.is_empty() => {
            Some(promotion_loss(logits, targets)?)
        }
        _ => None,
    };
    let classes = |logits: &Option<Tensor>, targets: &[u8]| match logits {
        Some(logits) if !targets.is_empty() => class_loss(logits, targets).map(Some),
        _ => Ok(None),
    };
    let value = match &heads.value {
        Some(value) if !examples.values.is_empty() => {
            let value = value.flatten_all()?;
            let loss = value_loss(&value, &examples.values, rule)?;
            Some(if rule.ranking > 0.0 && !examples.siblings.is_empty() {
                (loss + (ranking_loss(&value, examples, rule)? * f64::from(rule.ranking))?)?
            } else {
                loss
            })
        }
        _ => None,
    };
    Ok(ByExample {
        policy,
        promotion,
        outcome: classes(&heads.outcome, &examples.outcomes)?,
        think: classes(&heads.think, &examples.think)?,
        value,
    })
}

/// The logarithm of the sum of exponentials over the last dimension, `[batch]`.
fn log_sum_exp(x: &Tensor) -> Result<Tensor> {
    let top = x.detach().max_keepdim(D::Minus1)?;
    x.broadcast_sub(&top)?.exp()?.sum(D::Minus1)?.log()? + top.squeeze(D::Minus1)?
}

/// Cross entropy over the legal moves.
fn policy_loss(logits: &Tensor, targets: &PolicyTargets) -> Result<Tensor> {
    let (rows, width) = logits.dims2()?;
    let mut forbidden = vec![IMPOSSIBLE; rows * width];
    let mut wanted = vec![0_f32; rows * width];
    for row in 0..rows {
        for index in targets.legal_of(row) {
            forbidden[row * width + usize::from(index)] = 0.0;
        }
        for (index, probability) in targets.target_of(row) {
            wanted[row * width + usize::from(index)] += probability;
        }
    }
    let forbidden = Tensor::from_vec(forbidden, (rows, width), &Device::Cpu)?;
    let wanted = Tensor::from_vec(wanted, (rows, width), &Device::Cpu)?;
    log_sum_exp(&(logits + forbidden)?)? - (logits * wanted)?.sum(D::Minus1)?
}

/// Cross entropy of the promotion piece; zero where there is none.
fn promotion_loss(logits: &Tensor, targets: &PolicyTargets) -> Result<Tensor> {
    let rows = logits.dim(0)?;
    let by_file = logits.rank() == 3;
    let logits = if by_file { logits.clone() } else { logits.unsqueeze(1)? };
    let files: Vec<u32> =
        (0..rows).map(|row| if by_file { u32::from(targets.to_file(row)) } else { 0 }).collect();
    let files =
        Tensor::from_vec(files, (rows, 1, 1), &Device::Cpu)?.broadcast_as((rows, 1, 4))?.contiguous()?;
    class_loss(&logits.gather(&files, 1)?.squeeze(1)?, &targets.promotions)
}

/// Cross entropy of one class a row; zero where it is absent.
fn class_loss(logits: &Tensor, targets: &[u8]) -> Result<Tensor> {
    let (rows, width) = logits.dims2()?;
    let mut wanted = vec![0_f32; rows * width];
    let mut present = vec![0_f32; rows];
    for (row, &target) in targets.iter().enumerate().filter(|(_, target)| **target != ABSENT) {
        wanted[row * width + usize::from(target)] = 1.0;
        present[row] = 1.0;
    }
    let wanted = Tensor::from_vec(wanted, (rows, width), &Device::Cpu)?;
    let present = Tensor::from_vec(present, rows, &Device::Cpu)?;
    (log_sum_exp(logits)? * present)? - (logits * wanted)?.sum(D::Minus1)?
}

/// The network's number in the units of its target.
fn predicted(value: &Tensor, rule: ValueRule) -> Result<Tensor> {
    match rule.loss {
        ValueLoss::L1 | ValueLoss::Squared => Ok(value.clone()),
        ValueLoss::Chance => sigmoid(&(value * f64::from(rule.logit_scale))?),
        ValueLoss::CrossEntropy => sigmoid(value),
    }
}

/// By way of tanh, which neither overflows nor loses its gradient to an infinity.
fn sigmoid(x: &Tensor) -> Result<Tensor> {
    (x * 0.5)?.tanh()?.affine(0.5, 0.5)
}

fn value_loss(value: &Tensor, targets: &[f32], rule: ValueRule) -> Result<Tensor> {
    let rows = targets.len();
    let present: Vec<f32> = targets.iter().map(|t| if t.is_nan() { 0.0 } else { 1.0 }).collect();
    let wanted: Vec<f32> = targets.iter().map(|&t| if t.is_nan() { 0.0 } else { t }).collect();
    let present = Tensor::from_vec(present, rows, &Device::Cpu)?;
    let wanted = Tensor::from_vec(wanted, rows, &Device::Cpu)?;
    let loss = match rule.loss {
        ValueLoss::L1 => (value - wanted)?.abs()?,
        ValueLoss::Squared => (value - wanted)?.sqr()?,
        ValueLoss::Chance => (predicted(value, rule)? - wanted)?.sqr()?,
        ValueLoss::CrossEntropy => {
            // log(1 + e^x) - t x, with the part that could overflow taken out.
            let soft = (value.abs()?.neg()?.exp()? + 1.0)?.log()?;
            ((value.relu()? + soft)? - (value * wanted)?)?
        }
    };
    loss * present
}

/// For each row, how far the probabilities of its group are from those of the targets: their divergence.
fn ranking_loss(value: &Tensor, examples: &Examples, rule: ValueRule) -> Result<Tensor> {
    let (rows, size) = (examples.rows(), rule.siblings);
    let groups = rows / size.max(1);
    if groups * size != rows || examples.siblings.len() != rows {
        candle_core::bail!("{rows} rows are not groups of {size} siblings");
    }
    let is_ranked = |row: usize| examples.siblings[row] != 0.0 && !examples.values[row].is_nan();
    let column = |of: &dyn Fn(usize) -> f32| {
        let data: Vec<f32> = (0..rows).map(of).collect();
        Tensor::from_vec(data, (groups, size), &Device::Cpu)
    };
    let outside = column(&|row| if is_ranked(row) { 0.0 } else { IMPOSSIBLE })?;
    let ranked = column(&|row| f32::from(u8::from(is_ranked(row))))?;
    let wanted = column(&|row| {
        if is_ranked(row) {
            examples.siblings[row] * rule.logit_of(examples.values[row]) / rule.temperature
        } else {
            0.0
        }
    })?;
    let scale = column(&|row| examples.siblings[row] * rule.logits_a_unit() / rule.temperature)?;
    let log_softmax = |x: Tensor| -> Result<Tensor> {
        let x = (x + &outside)?;
        let sum = log_sum_exp(&x)?.unsqueeze(1)?;
        x.broadcast_sub(&sum)
    };
    let wanted = log_softmax(wanted)?;
    let given = log_softmax((value.reshape((groups, size))? * scale)?)?;
    // What is outside would be infinite times nothing.
    let terms = ((wanted.exp()? * (wanted - given)?)? * &ranked)?;
    terms.sum(D::Minus1)?.unsqueeze(1)?.broadcast_mul(&ranked)?.flatten_all()
}

/// For each row, how many legal moves have a larger logit than the one played.
fn ranks(logits: &[Vec<f32>], targets: &PolicyTargets) -> Vec<u16> {
    let rank = |(row, logits): (usize, &Vec<f32>)| {
        let played = logits[usize::from(targets.played[row])];
        targets.legal_of(row).filter(|&index| logits[usize::from(index)] > played).count() as u16
    };
    logits.iter().enumerate().map(rank).collect()
}
