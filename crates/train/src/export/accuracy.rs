//! The cost of rounding: the trained network and its file on the same held-out positions.

use std::path::PathBuf;
use std::sync::Arc;

use candle_core::{Device, Tensor};
use shakmaty::Position;
use tabia_data::Set;
use tabia_encoding::{MoveVocabulary, OwnedSituation, TIME_BINS, vocabulary};
use tabia_model::{Accuracy, Evaluation, Model};

use super::card::figures;
use super::{ExportError, file_value};
use crate::evaluation::Tallies;
use crate::feed_supply::{HELD_OUT_SEED, held_out_stream};
use crate::tensors::{Kernels, Tensors, heads};
use crate::{
    ExampleBuilder, Examples, GroupScore, NetConfig, PolicyTargets, RatingBalance, SupplyError, TrainConfig,
    losses,
};
use tabia_nets::Heads;

/// Positions looked at together; more would only take more memory.
const ROWS: u64 = 256;
/// The logit of a move that cannot be played.
const ILLEGAL: f32 = -1e30;

/// Held-out positions to measure an exported file on.
pub struct Measurement<'a> {
    /// The run's configuration: which positions were held out, and what is minimised.
    pub config: &'a TrainConfig,
    /// The folders of the sets.
    pub sets: &'a [PathBuf],
    /// At most so many positions.
    pub positions: u64,
    /// Called with the progress.
    pub progress: &'a mut dyn FnMut(ExportWork),
}

/// Progress of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportWork {
    /// Training positions seen for calibration.
    Calibrating(u64),
    /// Held-out positions compared.
    Measuring(u64),
}

impl Measurement<'_> {
    /// Evaluates the weights of `arena` and the file on the same positions.
    pub(super) fn measure(&mut self, arena: &[f32], model: &Model) -> Result<Accuracy, ExportError> {
        let failed = |error: &dyn std::fmt::Display| SupplyError::Failed(error.to_string());
        let sets = self.sets.iter().map(|dir| Set::open(dir).map(Arc::new).map_err(|e| failed(&e)));
        let sets: Vec<Arc<Set>> = sets.collect::<Result<_, _>>()?;
        let (config, mut stream) = held_out_stream(self.config, sets);
        let unknown = || SupplyError::Failed(format!("the encoding {} is not known", config.net.encoding()));
        let builder = ExampleBuilder::new(&config, RatingBalance::even()).ok_or_else(unknown)?;
        let mut builder = builder.keeping_situations();
        let mut sides = Sides::new(config.loss.value_kind.even(), config.evaluation.min_depth);
        while sides.positions() < self.positions {
            let wanted = ROWS.min(self.positions - sides.positions()) as usize;
            let drawn = stream.draw(wanted, |sample| builder.push(sample, HELD_OUT_SEED));
            if drawn.map_err(|e| failed(&e))? == 0 {
                break;
            }
            let (examples, situations) = (builder.take(), builder.take_situations());
            if examples.rows() > 0 {
                sides.add(&config, arena, model, &examples, &situations)?;
                (self.progress)(ExportWork::Measuring(sides.positions()));
            }
        }
        sides.accuracy().ok_or_else(|| {
            let named: Vec<_> = self.sets.iter().map(|set| set.display().to_string()).collect();
            SupplyError::Failed(format!(
                "{}: nothing in there was held out that this network could be asked about",
                named.join(", ")
            ))
            .into()
        })
    }
}

/// Scores of both so far.
struct Sides {
    trained: Tallies,
    written: Tallies,
    other_choices: u64,
    value_difference: f64,
}

impl Sides {
    /// Nothing yet, of values that are `even` where neither side is better.
    fn new(even: f32, deep: u8) -> Self {
        let (trained, written) = (Tallies::new(even, deep), Tallies::new(even, deep));
        Sides { trained, written, other_choices: 0, value_difference: 0.0 }
    }

    fn positions(&self) -> u64 {
        self.trained.positions()
    }

    fn add(
        &mut self,
        config: &TrainConfig,
        arena: &[f32],
        model: &Model,
        examples: &Examples,
        situations: &[OwnedSituation],
    ) -> Result<(), ExportError> {
        let net = &config.net;
        let table = net.table();
        let mut tensors = Tensors::constant(&table, arena, &examples.inputs, Kernels::Fast)?;
        let trained = heads(net, &mut tensors)?;
        let written = as_heads(net, model, situations)?;
        let rule = config.value_rule();
        self.trained.add(examples, &losses::scores(&trained, examples, rule, Kernels::Fast)?);
        self.written.add(examples, &losses::scores(&written, examples, rule, Kernels::Fast)?);
        if let (Some(targets), Some(a), Some(b)) = (&examples.policy, &trained.policy, &written.policy) {
            let (a, b) = (a.to_vec2::<f32>()?, b.to_vec2::<f32>()?);
            let other =
                |row: &usize| first_choice(targets, *row, &a[*row]) != first_choice(targets, *row, &b[*row]);
            self.other_choices += (0..examples.rows()).filter(other).count() as u64;
        }
        if let (Some(a), Some(b)) = (&trained.value, &written.value) {
            let (a, b) = (a.flatten_all()?.to_vec1::<f32>()?, b.flatten_all()?.to_vec1::<f32>()?);
            let apart = |(a, b): (f32, f32)| f64::from((file_value(net, a) - file_value(net, b)).abs());
            self.value_difference += a.into_iter().zip(b).map(apart).sum::<f64>();
        }
        Ok(())
    }

    /// The comparison; `None` where nothing was compared.
    fn accuracy(&self) -> Option<Accuracy> {
        let all = |tallies: &Tallies| tallies.scores().get("all").copied();
        let (trained, written): (GroupScore, GroupScore) = (all(&self.trained)?, all(&self.written)?);
        let positions = self.positions();
        let mean = |sum: f64| super::card::rounded(sum / positions as f64);
        Some(Accuracy {
            positions,
            trained: figures(&trained),
            written: figures(&written),
            other_choices: trained.policy.map(|_| mean(self.other_choices as f64)),
            value_difference: trained.value.map(|_| mean(self.value_difference)),
        })
    }
}

/// The legal move with the largest logit.
fn first_choice(targets: &PolicyTargets, row: usize, logits: &[f32]) -> Option<u16> {
    let logit = |index: u16| logits[usize::from(index)];
    targets.legal_of(row).max_by(|a, b| logit(*a).total_cmp(&logit(*b)))
}

/// The outputs of a file as heads, which losses take. Promotion pieces are part of its moves.
fn as_heads(net: &NetConfig, model: &Model, kept: &[OwnedSituation]) -> Result<Heads<Tensor>, ExportError> {
    let situations: Vec<_> = kept.iter().map(OwnedSituation::get).collect();
    let evaluations = model.evaluate(&situations)?;
    let rows = evaluations.len();
    let column = |width: usize, row: &dyn Fn(usize, &Evaluation) -> Option<Vec<f32>>| {
        let numbers: Option<Vec<Vec<f32>>> =
            evaluations.iter().enumerate().map(|(at, e)| row(at, e)).collect();
        numbers.map(|numbers| Tensor::from_vec(numbers.concat(), (rows, width), &Device::Cpu)).transpose()
    };
    let log = |chances: &[f32]| chances.iter().map(|chance| chance.max(f32::MIN_POSITIVE).ln()).collect();
    let moves: Option<&dyn MoveVocabulary> = net.vocabulary().and_then(vocabulary);
    let policy = match moves {
        Some(moves) => column(moves.width(), &|at, evaluation| {
            let turn = situations[at].position.turn();
            let mut chances = vec![0.0; moves.width()];
            let mut legal = vec![false; moves.width()];
            for candidate in evaluation.policy.as_ref()?.candidates() {
                let index = usize::from(moves.slot(turn, candidate.mv).index.0);
                chances[index] += candidate.probability;
                legal[index] = true;
            }
            let logits: Vec<f32> = log(&chances);
            Some(
                logits
                    .into_iter()
                    .zip(legal)
                    .map(|(logit, legal)| if legal { logit } else { ILLEGAL })
                    .collect(),
            )
        })?,
        None => None,
    };
    let value = column(1, &|at, evaluation| {
        let (situation, head) = (&situations[at], model.card().value.as_ref()?);
        let turn = situation.position.turn();
        let context_turn = situation.context.unwrap_or(situation.position).turn();
        Some(vec![network_value(net, head.number(evaluation.score?, turn, context_turn))])
    })?;
    let outcome = column(3, &|_, evaluation| {
        evaluation.wdl.map(|chances| log(&[chances.win, chances.draw, chances.loss]))
    })?;
    let think = column(TIME_BINS, &|_, evaluation| evaluation.think_time.map(|chances| log(&chances)))?;
    Ok(Heads { policy, promotion: None, outcome, think, value })
}

/// The inverse of [`file_value`].
fn network_value(net: &NetConfig, number: f32) -> f32 {
    match net {
        NetConfig::Pair(_) => {
            let chance = number.clamp(1e-7, 1.0 - 1e-7);
            (chance / (1.0 - chance)).ln()
        }
        _ => number,
    }
}
