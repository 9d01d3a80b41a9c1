//! What evaluates positions: an engine or a network.

use std::cmp::Reverse;
use std::num::NonZeroI32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use shakmaty::{CastlingMode, Chess, Move, Position};
use tabia_encoding::{ForMover, ForWhite, Score, Situation};
use tabia_model::{Model, Unit, Wdl};
use tabia_train::{Device, PositionJudge, TrainConfig};

use super::positions::Keyed;
use super::session::{Findings, FoundLine, Labeller, NoAnswer};

/// What evaluates positions.
pub(super) enum Teacher {
    /// A UCI engine.
    Engine(Box<Labeller>),
    /// A network, one move ahead.
    Network(Network),
}

/// Where a network is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DeviceName {
    Cpu,
    Gpu,
}

/// Positions that are given to a network at a time, each with all its moves.
const NETWORK_BATCH: usize = 32;

/// What a move that mates is worth.
const MATE_IN_ONE: NonZeroI32 = NonZeroI32::new(1).expect("1 is not 0");

/// Evaluations of a network are at most so many centipawns: everything above is a mate.
const LIMIT: f32 = 20_000.0;

impl Teacher {
    /// Positions to ask about at a time.
    pub(super) fn batch(&self) -> usize {
        match self {
            Teacher::Engine(_) => 1,
            Teacher::Network(_) => NETWORK_BATCH,
        }
    }

    /// Number of restarts.
    pub(super) fn restarts(&self) -> u32 {
        match self {
            Teacher::Engine(engine) => engine.restarts(),
            Teacher::Network(_) => 0,
        }
    }

    /// Forgets earlier positions.
    pub(super) fn forget(&self) {
        if let Teacher::Engine(engine) = self {
            engine.forget();
        }
    }

    /// Evaluates positions with legal moves.
    ///
    /// # Errors
    /// If a network cannot be computed; an engine's failures are answers.
    pub(super) fn ask(&mut self, positions: &[Keyed]) -> Result<Vec<Result<Findings, NoAnswer>>> {
        match self {
            Teacher::Engine(engine) => {
                Ok(positions.iter().map(|keyed| engine.ask(&keyed.position)).collect())
            }
            Teacher::Network(network) => {
                let positions: Vec<&Chess> = positions.iter().map(|keyed| &keyed.position).collect();
                Ok(network.ask(&positions)?.into_iter().map(Ok).collect())
            }
        }
    }
}

/// The network of the command line, to be opened by each worker.
#[derive(Clone)]
pub(super) struct NetworkSource {
    file: PathBuf,
    model: Arc<Model>,
    /// The configuration it is trained with, to compute it on a GPU.
    config: Option<TrainConfig>,
    lines: usize,
}

impl NetworkSource {
    /// # Errors
    /// If the file is no network that evaluates positions, or one for the GPU has no configuration.
    pub(super) fn open(
        file: &Path,
        device: DeviceName,
        config: Option<&Path>,
        lines: usize,
    ) -> Result<NetworkSource> {
        let named = || file.display().to_string();
        let model = Model::open(file).with_context(named)?;
        if model.card().value.is_none() && model.card().wdl.is_none() {
            bail!(
                "{}: it has neither a value nor a win/draw/loss head, so it cannot judge positions",
                named()
            );
        }
        let config = match (device, config) {
            (DeviceName::Cpu, _) => None,
            (DeviceName::Gpu, None) => {
                bail!("--device gpu needs --config, the configuration that the network was trained with")
            }
            (DeviceName::Gpu, Some(path)) => {
                let at = || path.display().to_string();
                let text = std::fs::read_to_string(path).with_context(at)?;
                Some(TrainConfig::parse(&text).with_context(at)?)
            }
        };
        Ok(NetworkSource { file: file.to_owned(), model: Arc::new(model), config, lines })
    }

    /// Its name and the start of its hash.
    pub(super) fn describe(&self) -> String {
        let name = self.model.card().name.as_deref().unwrap_or("a network");
        let hash = self.model.sha256();
        format!("{name} (sha256 {})", hash.get(..16).unwrap_or(hash))
    }

    /// Lines per position.
    pub(super) fn lines(&self) -> usize {
        self.lines
    }

    /// Whether one worker is enough.
    pub(super) fn is_on_gpu(&self) -> bool {
        self.config.is_some()
    }

    pub(super) fn teacher(&self) -> Result<Teacher> {
        let judge = match &self.config {
            None => Judge::Model(Arc::clone(&self.model)),
            Some(config) => {
                let unit = self.model.card().value.as_ref().map(|head| head.unit);
                // The scale at which it was trained may be another than that of the configuration.
                let cp_scale = match unit {
                    Some(Unit::Probability(scale)) => Some(scale),
                    _ => None,
                };
                let judge = PositionJudge::open(&self.file, config, Device::Gpu, cp_scale)
                    .with_context(|| self.file.display().to_string())?;
                Judge::Trainer(Box::new(judge))
            }
        };
        Ok(Teacher::Network(Network { judge, lines: self.lines }))
    }
}

enum Judge {
    /// Any model file, on the CPU.
    Model(Arc<Model>),
    /// A network that can be trained, on the device it is trained on.
    Trainer(Box<PositionJudge>),
}

/// A network that evaluates the positions after every move.
pub(super) struct Network {
    judge: Judge,
    lines: usize,
}

/// Where a move leads.
enum After {
    Score(Score),
    /// To the position of this number, which the network evaluates.
    Position(usize),
}

impl Network {
    fn ask(&mut self, positions: &[&Chess]) -> Result<Vec<Findings>> {
        let mut children: Vec<Chess> = Vec::new();
        let moves: Vec<Vec<(Move, After)>> = positions
            .iter()
            .map(|position| {
                let legal = position.legal_moves();
                legal.iter().map(|&m| (m, after(position, m, &mut children))).collect()
            })
            .collect();
        let values = self.judge.values(&children)?;
        Ok(positions
            .iter()
            .zip(moves)
            .map(|(position, moves)| self.findings(position, moves, &values))
            .collect())
    }

    fn findings(&self, position: &Chess, moves: Vec<(Move, After)>, values: &[f32]) -> Findings {
        let expected = self.lines.min(moves.len());
        let nodes = moves.len() as u64;
        let mut scored: Vec<(Move, Score)> = moves
            .into_iter()
            .map(|(m, after)| match after {
                After::Score(score) => (m, score),
                After::Position(place) => {
                    let value = -values.get(place).copied().unwrap_or(0.0);
                    (m, Score::Centipawns(value.clamp(-LIMIT, LIMIT).round() as i32))
                }
            })
            .collect();
        scored.sort_by_key(|(_, score)| Reverse(worth(*score)));
        scored.truncate(expected);
        let lines = scored
            .into_iter()
            .map(|(first, score)| FoundLine {
                first,
                pv: vec![first.to_uci(CastlingMode::Standard)],
                score: for_white(score, position),
            })
            .collect();
        Findings { depth: 1, nodes, lines, expected }
    }
}

fn for_white(score: Score, position: &Chess) -> ForWhite<Score> {
    ForMover(score).for_white(position.turn())
}

/// For comparisons: a mate is above everything.
fn worth(score: Score) -> i32 {
    match score {
        Score::Centipawns(cp) => cp,
        Score::Mate(_) => i32::MAX,
    }
}

/// What the rules say of the position after a move; else it is added to those to evaluate.
fn after(position: &Chess, m: Move, children: &mut Vec<Chess>) -> After {
    let mut after = position.clone();
    after.play_unchecked(m);
    if after.is_checkmate() {
        return After::Score(Score::Mate(MATE_IN_ONE));
    }
    if after.is_stalemate() || after.is_insufficient_material() {
        return After::Score(Score::Centipawns(0));
    }
    children.push(after);
    After::Position(children.len() - 1)
}

impl Judge {
    /// Centipawns for the side to move.
    fn values(&mut self, positions: &[Chess]) -> Result<Vec<f32>> {
        match self {
            Judge::Model(model) => {
                let situations: Vec<Situation<'_>> = positions.iter().map(Situation::of).collect();
                let evaluations = model.evaluate(&situations)?;
                Ok(evaluations
                    .iter()
                    .map(|evaluation| match (evaluation.score, evaluation.wdl) {
                        (Some(score), _) => score.0,
                        (None, Some(wdl)) => centipawns(wdl),
                        (None, None) => 0.0,
                    })
                    .collect())
            }
            Judge::Trainer(judge) => Ok(judge.values(positions)?),
        }
    }
}

/// Centipawns of an expected score, on the scale of [`Unit::Expectation`].
fn centipawns(wdl: Wdl) -> f32 {
    tabia_search::score_of_wdl(wdl).0
}
