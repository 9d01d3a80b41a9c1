use std::fmt;
use std::sync::Arc;

use candle_core::Tensor;
use shakmaty::{Chess, Move, Position};
use tabia_encoding::{Batch, Elo, Encoding, MoveVocabulary, PlayerInfo, RatingPool, Situation, vocabulary};
use tabia_model::{Evaluation, Model, Policy, Wdl};
use tabia_runtime::accumulator::nnue::NnueState;

use super::{ExportError, Precision, file_value};
use crate::NetConfig;
use crate::tensors::{Kernels, Tensors, heads};
use tabia_nets::Heads;

/// Games and plies of the positions compared on.
const GAMES: u64 = 6;
const PLIES: usize = 60;
const EVERY: usize = 5;

/// The largest error of 16-bit inference in a search, in centipawns.
const MOST_CENTIPAWNS_OFF: f32 = 10.0;

/// How closely an exported network agrees with the trained one, over positions of random games.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Positions compared.
    pub positions: usize,
    /// The largest difference of a move's, result's or time's probability.
    pub probability: f32,
    /// The largest difference of a score, in centipawns, as a share of a pawn or of the score where that is larger.
    pub score: f32,
    /// Positions whose likeliest move is another one.
    pub other_choices: usize,
    /// The largest difference of a score in centipawns where a search computes the network in 16 bits.
    pub in_search: Option<f32>,
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "over {} positions probabilities differ by at most {:.5} and scores by {:.3}%, {} first choices are others",
            self.positions,
            self.probability,
            100.0 * self.score,
            self.other_choices
        )?;
        self.in_search
            .map_or(Ok(()), |off| write!(f, "; in a search scores differ by at most {off:.2} centipawns"))
    }
}

impl Agreement {
    /// Whether the differences are no larger than the precision explains.
    pub(super) fn within(&self, precision: Precision) -> bool {
        let (probability, score) = match precision {
            Precision::F32 => (1e-3, 1e-3),
            Precision::F16 => (0.05, 0.02),
            Precision::Int8 | Precision::Int8Weights => (0.5, 0.5),
        };
        let in_search = self.in_search.is_none_or(|off| off <= MOST_CENTIPAWNS_OFF);
        self.probability <= probability && self.score <= score && in_search
    }
}

/// One position of a random game and how it came about.
struct Sample {
    position: Chess,
    last_moves: Vec<Move>,
}

fn samples() -> Vec<Sample> {
    let mut samples = Vec::new();
    for game in 0..GAMES {
        let mut random = fastrand::Rng::with_seed(game);
        let mut position = Chess::default();
        let mut last_moves = Vec::new();
        for ply in 0..PLIES {
            if position.is_game_over() {
                break;
            }
            if ply % EVERY == game as usize % EVERY {
                samples.push(Sample { position: position.clone(), last_moves: last_moves.clone() });
            }
            let legal = position.legal_moves();
            let m = legal[random.usize(..legal.len())];
            position.play_unchecked(m);
            last_moves.insert(0, m);
        }
    }
    samples
}

/// Evaluates both networks on the same positions.
pub(super) fn compare(net: &NetConfig, arena: &[f32], model: &Model) -> Result<Agreement, ExportError> {
    let samples = samples();
    let seat = PlayerInfo { rating: Some(Elo(1600)), time_left: None };
    let mut situations: Vec<Situation<'_>> = Vec::with_capacity(samples.len());
    for (at, Sample { position, last_moves }) in samples.iter().enumerate() {
        let bare = Situation::of(position);
        // Every second position says what is known of the game around it.
        situations.push(match at % 2 {
            0 => Situation { last_moves, mover: seat, opponent: seat, pool: RatingPool::Online, ..bare },
            _ => bare,
        });
    }
    let exported = model.evaluate(&situations)?;
    let trained = trained(net, arena, model, &situations)?;
    let mut agreement = Agreement { positions: situations.len(), ..Agreement::default() };
    for (have, want) in exported.iter().zip(&trained) {
        agreement.count(have, want);
    }
    agreement.in_search = in_search(model, &situations, &trained);
    Ok(agreement)
}

/// How far off the scores are that a search computes in 16 bits, if it does so for this network.
fn in_search(model: &Model, situations: &[Situation<'_>], trained: &[Evaluation]) -> Option<f32> {
    let (net, head) = (model.nnue()?, model.card().value.as_ref()?);
    let mut evaluator = NnueState::new(Arc::clone(net), &Chess::default());
    let off = |(situation, trained): (&Situation<'_>, &Evaluation)| {
        evaluator.set_position(situation.position);
        let turn = situation.position.turn();
        Some((head.read(evaluator.evaluate(), turn, turn).0 - trained.score?.0).abs())
    };
    situations.iter().zip(trained).filter_map(off).reduce(f32::max)
}

impl Agreement {
    fn count(&mut self, have: &Evaluation, want: &Evaluation) {
        if let (Some(have), Some(want)) = (&have.policy, &want.policy) {
            for candidate in want.candidates() {
                let difference = (candidate.probability - have.probability(candidate.mv)).abs();
                self.probability = self.probability.max(difference);
            }
            let other = have.best().map(|best| best.mv) != want.best().map(|best| best.mv);
            self.other_choices += usize::from(other);
        }
        if let (Some(have), Some(want)) = (have.score, want.score) {
            let scale = want.0.abs().max(100.0);
            self.score = self.score.max((have.0 - want.0).abs() / scale);
        }
        if let (Some(have), Some(want)) = (have.wdl, want.wdl) {
            let pairs = [(have.win, want.win), (have.draw, want.draw), (have.loss, want.loss)];
            pairs.into_iter().for_each(|(a, b)| self.probability = self.probability.max((a - b).abs()));
        }
        if let (Some(have), Some(want)) = (&have.think_time, &want.think_time) {
            have.iter().zip(want).for_each(|(a, b)| self.probability = self.probability.max((a - b).abs()));
        }
    }
}

/// The trained network's evaluations, read by the card of the exported one.
fn trained(
    net: &NetConfig,
    arena: &[f32],
    model: &Model,
    situations: &[Situation<'_>],
) -> Result<Vec<Evaluation>, ExportError> {
    let mut batch = Batch::new(model.encoding() as &'static dyn Encoding);
    situations.iter().for_each(|situation| batch.push(situation));
    let table = net.table();
    let mut tensors = Tensors::constant(&table, arena, &batch, Kernels::Plain)?;
    let Heads { policy, promotion, outcome, think, value } = heads(net, &mut tensors)?;
    let rows = |head: Option<Tensor>| -> Result<Option<Vec<Vec<f32>>>, ExportError> {
        Ok(head.map(|head| head.flatten_from(1)?.to_vec2::<f32>()).transpose()?)
    };
    let (policy, promotion) = (rows(policy)?, rows(promotion)?);
    let (outcome, think, value) = (rows(outcome)?, rows(think)?, rows(value)?);
    let vocabulary: Option<&dyn MoveVocabulary> = net.vocabulary().and_then(vocabulary);
    let evaluation = |(row, situation): (usize, &Situation<'_>)| {
        let turn = situation.position.turn();
        let policy = policy.as_ref().zip(vocabulary).map(|(logits, vocabulary)| {
            let promotions = promotion.as_ref().map_or(&[][..], |promotion| &promotion[row]);
            let legal = situation.position.legal_moves();
            Policy::from_logits(vocabulary, turn, &legal, &logits[row], promotions)
        });
        let score = value
            .as_ref()
            .zip(model.card().value.as_ref())
            .map(|(value, head)| head.read(file_value(net, value[row][0]), turn, turn));
        let wdl = outcome.as_ref().map(|logits| {
            let chances = softmax(&logits[row]);
            Wdl { win: chances[0], draw: chances[1], loss: chances[2] }
        });
        let think_time = think.as_ref().and_then(|logits| softmax(&logits[row]).try_into().ok());
        Evaluation { policy, score, wdl, think_time }
    };
    Ok(situations.iter().enumerate().map(evaluation).collect())
}

fn softmax(logits: &[f32]) -> Vec<f32> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = logits.iter().map(|logit| (logit - top).exp()).collect();
    let total: f32 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}
