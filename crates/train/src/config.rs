//! A training run as a TOML file: which network, from which examples, on which schedule.
//!
//! Everything but the network's kind has a default; unknown keys are errors.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use serde::{Deserialize, Serialize};
use tabia_data::{LabelStrategy, Split};

use crate::losses::ValueRule;
use crate::nets::NetConfig;
use crate::value_curve::ValueCurve;

/// One run, as its file describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainConfig {
    /// What the network will be called.
    pub name: String,
    /// Which network and how large.
    pub net: NetConfig,
    /// How much each head counts.
    #[serde(default)]
    pub loss: LossFactors,
    /// The optimiser.
    #[serde(default)]
    pub optimiser: OptimiserConfig,
    /// How the learning rate goes.
    #[serde(default)]
    pub schedule: ScheduleConfig,
    /// Which examples, and how many at a time.
    #[serde(default)]
    pub data: DataConfig,
    /// How often and on how much to evaluate.
    #[serde(default)]
    pub evaluation: EvaluationConfig,
}

/// How much each head's loss counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LossFactors {
    /// The move.
    pub policy: f32,
    /// The promotion piece.
    pub promotion: f32,
    /// Win, draw and loss.
    pub outcome: f32,
    /// Think time.
    pub think: f32,
    /// The value.
    pub value: f32,
    /// How the value is compared with its target.
    pub value_kind: ValueLoss,
    /// How much the order among siblings counts, as a part of the value's loss: the divergence of the moves' probabilities,
    /// which are the softmax of their values, from those of the targets.
    #[serde(skip_serializing_if = "is_zero")]
    pub ranking: f32,
    /// The temperature of these probabilities, in logits of a winning chance.
    pub ranking_temperature: f32,
}

fn is_zero(number: &f32) -> bool {
    *number == 0.0
}

fn is_none(number: &u32) -> bool {
    *number == 0
}

/// The most siblings of a group.
const MOST_SIBLINGS: u32 = 64;

/// How a predicted value is compared with its target, which has the units this names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueLoss {
    /// The distance, in pawns.
    L1,
    /// The squared distance, in pawns.
    Squared,
    /// The squared distance of chances from 0 to 1: the network's pawns become a chance on the scale of
    /// [`DataConfig::cp_scale`].
    Chance,
    /// Cross entropy of a chance from 0 to 1: the network's number is its logit.
    CrossEntropy,
}

impl ValueLoss {
    /// What the target of an even game is.
    pub(crate) fn even(self) -> f32 {
        match self {
            ValueLoss::L1 | ValueLoss::Squared => 0.0,
            ValueLoss::Chance | ValueLoss::CrossEntropy => 0.5,
        }
    }
}

impl Default for LossFactors {
    fn default() -> Self {
        LossFactors {
            policy: 1.0,
            promotion: 1.0,
            outcome: 0.2,
            think: 0.1,
            value: 1.0,
            value_kind: ValueLoss::Chance,
            ranking: 0.0,
            ranking_temperature: 0.15,
        }
    }
}

/// What moves the weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptimiserKind {
    /// AdamW for every parameter.
    #[default]
    Adamw,
    /// Muon for the matrices of the network's body, AdamW for all else.
    Muon,
}

/// The optimiser and the averaging of weights.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OptimiserConfig {
    /// What moves the weights.
    pub kind: OptimiserKind,
    /// Decay of Muon's momentum.
    pub momentum: f32,
    /// The largest learning rate of the schedule.
    pub lr: f32,
    /// Decay of the first moment.
    pub beta1: f32,
    /// Decay of the second moment.
    pub beta2: f32,
    /// Keeps the division finite.
    pub eps: f32,
    /// Decoupled weight decay, as a share of the learning rate.
    pub weight_decay: f32,
    /// The largest norm of the whole gradient; 0 means no limit.
    pub clip: f32,
    /// Decay of the averaged weights, reached after a warm-up.
    pub ema_decay: f32,
}

impl Default for OptimiserConfig {
    fn default() -> Self {
        OptimiserConfig {
            kind: OptimiserKind::Adamw,
            momentum: 0.95,
            lr: 1.5e-3,
            beta1: 0.9,
            beta2: 0.98,
            eps: 1e-8,
            weight_decay: 0.01,
            clip: 1.0,
            ema_decay: 0.999,
        }
    }
}

/// The shape of the learning rate over a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScheduleKind {
    /// Half a cosine from the largest rate to the final one.
    Cosine,
    /// Warm-up, stable, decay: constant, then straight down over the last part.
    Wsd,
}

/// How the learning rate goes. Shares are shares of the run, whether time or positions bound it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScheduleConfig {
    /// Its shape.
    pub kind: ScheduleKind,
    /// Steps of linear warm-up; fewer where they would be more than a tenth of the run.
    pub warmup_steps: u64,
    /// The last learning rate, as a share of the largest.
    pub final_share: f32,
    /// For [`ScheduleKind::Wsd`]: the share of the run in which the rate falls.
    pub decay_share: f32,
}

impl Default for ScheduleConfig {
    fn default() -> Self {
        ScheduleConfig { kind: ScheduleKind::Cosine, warmup_steps: 200, final_share: 0.02, decay_share: 0.3 }
    }
}

/// Where value targets come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueSource {
    /// Engine evaluations: sessions of analysed positions, notes of games.
    Evaluation,
    /// The same without forced mates, as Rusty Chess has it.
    EvaluationWithoutMates,
    /// Results of games alone.
    Result,
}

/// Which examples, and how many at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataConfig {
    /// Positions a step.
    pub batch: usize,
    /// Independent streams, at most one thread each. The order of examples depends on this number, not on threads.
    pub lanes: u32,
    /// Games each lane keeps open: the positions of a batch come from about as many games.
    #[serde(alias = "seats")]
    pub cursors: u32,
    /// How many records of a million are held out.
    pub held_out_ppm: u32,
    /// What is held out: records or players.
    pub held_out_by: HeldOutBy,
    /// Positions of a game before this ply are not used.
    pub first_ply: u32,
    /// The largest weight that balancing ratings may give an example; 1 means no balancing.
    pub balance_ratings: f32,
    /// How engine sessions become probabilities of moves.
    pub labels: LabelStrategy,
    /// Where value targets come from.
    pub value_source: ValueSource,
    /// How much the game's result counts in a value target, the rest is the evaluation.
    pub result_share: f32,
    /// Evaluations are cut off at this many centipawns, where no curve is given.
    pub value_limit_cp: f32,
    /// How evaluations grow where a game is decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_curve: Option<ValueCurve>,
    /// Centipawns at which an evaluation means a chance of 1 / (1 + 1/e).
    pub cp_scale: f32,
    /// Positions analysed less deep are not used.
    pub min_depth: u8,
    /// Train on a random sample of this many records, the same for every run; `None` means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_samples: Option<u64>,
    /// Which positions of analysed ones are used.
    pub positions: Positions,
    /// How many positions after moves an analysed one gives each time its turn comes; 0 means all.
    pub children_per_record: u32,
    /// How many of them stand together in a batch, to be ranked: the best move's and others at random; 0 means that they are
    /// drawn one by one.
    #[serde(skip_serializing_if = "is_none")]
    pub siblings: u32,
    /// Whether positions in the middle of an exchange are left out of value training.
    pub quiet_only: QuietOnly,
    /// The share of positions without castling rights that a value network sees in a mirror, files reversed: they are
    /// worth the same.
    pub mirror: f32,
    /// How often conditions of the game are hidden from the network.
    pub dropout: Dropout,
    /// How often a teacher says what to play, where the run has any.
    pub teaching: Teaching,
}

/// The share of positions of games whose target is what a teacher would play, at the teacher's rating, instead of the move
/// played.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Teaching {
    /// Of movers whose rating is known.
    pub rated: f32,
    /// Of movers whose rating is not: their games say nothing about ratings.
    pub unrated: f32,
}

impl Default for Teaching {
    fn default() -> Self {
        Teaching { rated: 0.04, unrated: 0.25 }
    }
}

/// What is held out of training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeldOutBy {
    /// Games or analysed positions.
    Record,
    /// Players, where they are known.
    Player,
}

/// Whether loud positions are left out of value training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QuietOnly {
    /// Every position is used.
    No,
    /// Positions in check, after a capture or promotion, or whose best move is one, are not.
    Yes,
    /// Positions in check, or with a capture or promotion that wins material by static exchange, are not.
    Exchanges,
}

/// Which positions of analysed ones are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Positions {
    /// The analysed positions.
    Roots,
    /// The positions after the moves of their deepest sessions: what a player sees that looks one move ahead.
    Children,
    /// All of them.
    Both,
}

impl Default for DataConfig {
    fn default() -> Self {
        DataConfig {
            batch: 1024,
            lanes: 16,
            cursors: 4096,
            held_out_ppm: Split::USUAL_HELD_OUT_PPM,
            held_out_by: HeldOutBy::Record,
            first_ply: 0,
            balance_ratings: 1.0,
            labels: LabelStrategy::default(),
            value_source: ValueSource::Evaluation,
            result_share: 0.0,
            value_limit_cp: 2000.0,
            value_curve: None,
            cp_scale: 400.0,
            min_depth: 0,
            num_samples: None,
            positions: Positions::Roots,
            children_per_record: 0,
            siblings: 0,
            quiet_only: QuietOnly::No,
            mirror: 0.0,
            dropout: Dropout::default(),
            teaching: Teaching::default(),
        }
    }
}

/// The probability with which each fact about a game is hidden from the network, independently for each position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Dropout {
    /// The mover's rating.
    pub rating: f32,
    /// The opponent's rating.
    pub opponent_rating: f32,
    /// The pool, and with it both ratings.
    pub pool: f32,
    /// Which server the game was played on; that it was one stays known.
    pub site: f32,
    /// The time control.
    pub pace: f32,
    /// Both clocks.
    pub clocks: f32,
    /// The moves that led here.
    pub history: f32,
}

/// How often and on how much to evaluate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluationConfig {
    /// How many evaluations a run has, the last at its end.
    pub times: u32,
    /// Positions of each but the last.
    pub positions: usize,
    /// Positions of the last one.
    pub final_positions: usize,
    /// Positions analysed at least as deep are scored as a group of their own, `depth>=N`.
    #[serde(skip_serializing_if = "is_usual_depth")]
    pub min_depth: u8,
    /// The level of the Chess Challenge to play against.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ladder: Option<u8>,
    /// A match to play, such as `engine vs engine:previous`.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub contest: Option<String>,
    /// Games of each of them.
    #[serde(skip_serializing_if = "is_usual_games")]
    pub games: u32,
    /// Nodes per move of players that search and whose spec sets no limit.
    #[serde(skip_serializing_if = "is_usual_nodes")]
    pub nodes: u64,
}

impl EvaluationConfig {
    /// Whether the network is to play games.
    pub fn plays(&self) -> bool {
        self.ladder.is_some() || self.contest.is_some()
    }
}

const USUAL_GAMES: u32 = 50;
const USUAL_NODES: u64 = 2000;

fn is_usual_games(games: &u32) -> bool {
    *games == USUAL_GAMES
}

fn is_usual_nodes(nodes: &u64) -> bool {
    *nodes == USUAL_NODES
}

const USUAL_DEPTH: u8 = 50;

fn is_usual_depth(depth: &u8) -> bool {
    *depth == USUAL_DEPTH
}

impl Default for EvaluationConfig {
    fn default() -> Self {
        EvaluationConfig {
            times: 10,
            positions: 16_384,
            final_positions: 131_072,
            min_depth: USUAL_DEPTH,
            ladder: None,
            contest: None,
            games: USUAL_GAMES,
            nodes: USUAL_NODES,
        }
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not TOML, or not with these fields.
    #[error("configuration: {0}")]
    Toml(#[from] toml::de::Error),
    /// A value outside its range.
    #[error("configuration: {key} {problem}")]
    Range {
        /// Which key.
        key: &'static str,
        /// What is wrong with it.
        problem: String,
    },
}

impl TrainConfig {
    /// Reads and checks the text of a configuration file.
    ///
    /// # Errors
    /// Names the line and key that is wrong.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let config: TrainConfig = toml::from_str(text)?;
        config.check()?;
        Ok(config)
    }

    pub(crate) fn value_rule(&self) -> ValueRule {
        ValueRule {
            loss: self.loss.value_kind,
            logit_scale: 100.0 / self.data.cp_scale,
            siblings: self.data.siblings.max(1) as usize,
            ranking: self.loss.ranking,
            temperature: self.loss.ranking_temperature,
        }
    }

    /// How many centipawns one unit of the network's value is.
    pub fn value_unit_cp(&self) -> f32 {
        match self.loss.value_kind {
            ValueLoss::L1 | ValueLoss::Squared | ValueLoss::Chance => 100.0,
            ValueLoss::CrossEntropy => self.data.cp_scale,
        }
    }

    fn check(&self) -> Result<(), ConfigError> {
        let range = |good: bool, key, problem: &str| {
            if good { Ok(()) } else { Err(ConfigError::Range { key, problem: problem.to_owned() }) }
        };
        let share = |value: f32| (0.0..=1.0).contains(&value);
        let positive = |value: f32| value.is_finite() && value > 0.0;
        let (data, optimiser, schedule) = (&self.data, &self.optimiser, &self.schedule);
        range(data.batch > 0, "data.batch", "must be at least 1")?;
        range(data.lanes > 0, "data.lanes", "must be at least 1")?;
        range(data.cursors > 0, "data.cursors", "must be at least 1")?;
        range(data.held_out_ppm < 1_000_000, "data.held_out_ppm", "must be below 1000000")?;
        range(data.balance_ratings >= 1.0, "data.balance_ratings", "must be at least 1")?;
        range(data.num_samples != Some(0), "data.num_samples", "must be at least 1")?;
        range(self.evaluation.games > 0, "evaluation.games", "must be at least 1")?;
        range(self.evaluation.nodes > 0, "evaluation.nodes", "must be at least 1")?;
        range(share(data.result_share), "data.result_share", "must lie between 0 and 1")?;
        range(share(data.mirror), "data.mirror", "must lie between 0 and 1")?;
        range(positive(data.cp_scale), "data.cp_scale", "must be positive")?;
        range(positive(data.value_limit_cp), "data.value_limit_cp", "must be positive")?;
        if let Some(curve) = &data.value_curve {
            range(positive(curve.knee_cp), "data.value_curve.knee_cp", "must be positive")?;
            range(positive(curve.mate_cp), "data.value_curve.mate_cp", "must be positive")?;
        }
        let judges = self.net.vocabulary().is_none();
        let siblings = data.siblings;
        range(siblings != 1 && siblings <= MOST_SIBLINGS, "data.siblings", "must be 0 or 2 to 64")?;
        range(
            siblings == 0 || data.positions == Positions::Children,
            "data.siblings",
            "needs data.positions = \"children\"",
        )?;
        range(
            siblings == 0 || data.batch.is_multiple_of(siblings as usize),
            "data.batch",
            "must be a multiple of data.siblings",
        )?;
        let ranking = self.loss.ranking;
        range(ranking >= 0.0 && ranking.is_finite(), "loss.ranking", "must not be negative")?;
        range(ranking == 0.0 || siblings > 0, "loss.ranking", "needs data.siblings")?;
        range(positive(self.loss.ranking_temperature), "loss.ranking_temperature", "must be positive")?;
        range(
            judges || data.positions == Positions::Roots,
            "data.positions",
            "must be roots for a network that chooses moves",
        )?;
        let d = &data.dropout;
        let hidden = [d.rating, d.opponent_rating, d.pool, d.site, d.pace, d.clocks, d.history];
        range(hidden.into_iter().all(share), "data.dropout", "holds probabilities between 0 and 1")?;
        let taught = [data.teaching.rated, data.teaching.unrated];
        range(taught.into_iter().all(share), "data.teaching", "holds shares between 0 and 1")?;
        range(positive(optimiser.lr), "optimiser.lr", "must be positive")?;
        range(positive(optimiser.eps), "optimiser.eps", "must be positive")?;
        let decays = [optimiser.beta1, optimiser.beta2, optimiser.momentum, optimiser.ema_decay];
        range(
            decays.into_iter().all(|decay| (0.0..1.0).contains(&decay)),
            "optimiser",
            "has beta1, beta2, momentum and ema_decay from 0 to below 1",
        )?;
        range(optimiser.weight_decay >= 0.0, "optimiser.weight_decay", "must not be negative")?;
        range(optimiser.clip >= 0.0, "optimiser.clip", "must not be negative")?;
        range(share(schedule.final_share), "schedule.final_share", "must lie between 0 and 1")?;
        range(share(schedule.decay_share), "schedule.decay_share", "must lie between 0 and 1")?;
        self.net.check().map_err(|problem| ConfigError::Range { key: "net", problem })?;
        range(
            optimiser.kind == OptimiserKind::Adamw
                || self.net.table().entries().iter().any(|entry| entry.matrices > 0),
            "optimiser.kind",
            "is muon, and the network has no matrix between its first layer and its heads",
        )
    }
}
