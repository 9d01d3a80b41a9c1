//! From chess to examples: the inputs of an encoding, and the targets a network can learn from them.

use std::time::Duration;

use shakmaty::{ByColor, Chess, Color, Move, Position};
use tabia_data::{EvaluationRecord, GameHead};
use tabia_encoding::{
    Analysis, Batch, Elo, Encoding, ForWhite, MoveVocabulary, RatingPool, Score, Seat, Situation,
    TEMPERATURE_CP, encoding, soft_labels, time_bin, vocabulary,
};

use crate::{
    ABSENT, DataConfig, Dropout, Examples, Facts, NetConfig, PolicyTargets, QuietOnly, TrainConfig,
    ValueLoss, ValueSource,
};

/// How far back the context of a two-input network may lie.
const CONTEXT_PLIES: usize = 8;

/// One position of a game, with everything known when its move was chosen.
pub struct Moment<'a> {
    /// The game as a whole.
    pub head: &'a GameHead,
    /// The position.
    pub position: &'a Chess,
    /// The positions before, most recent first, as far as they are kept.
    pub earlier: &'a [Chess],
    /// The moves before, most recent first, as far as they are kept.
    pub last_moves: &'a [Move],
    /// Half-moves before this position.
    pub ply: u16,
    /// The move played here.
    pub played: Move,
    /// What both clocks showed when the mover began to think.
    pub clocks: ByColor<Option<Duration>>,
    /// What the mover's clock showed after the move.
    pub clock_after: Option<Duration>,
    /// An engine's opinion of this position.
    pub evaluation: Option<ForWhite<Score>>,
    /// Whether every position of the game up to this one has an evaluation that is not a mate.
    pub evaluated_so_far: EvaluatedSoFar,
}

/// Whether the evaluations of a game had a gap or a mate up to some position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvaluatedSoFar {
    /// All are there, none is a mate.
    Yes,
    /// One is missing or a mate.
    No,
}

/// Whose point of view a value target takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    White,
    Mover,
    ContextMover,
}

/// Collects positions into batches for one network.
pub struct ExampleBuilder {
    encoding: &'static dyn Encoding,
    vocabulary: Option<&'static dyn MoveVocabulary>,
    data: DataConfig,
    value: Option<(ValueLoss, View)>,
    wants_outcome: bool,
    balance: RatingBalance,
    examples: Examples,
    random: fastrand::Rng,
}

/// How much each rating counts: bands with few games count more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RatingBalance(Vec<f32>);

const BANDS: usize = 20;

fn band(pool: RatingPool, rating: Option<Elo>) -> Option<usize> {
    let rating = usize::from(rating?.0);
    Some(usize::from(pool_number(pool)) * BANDS + (rating / 200).min(BANDS - 1))
}

fn pool_number(pool: RatingPool) -> u8 {
    match pool {
        RatingPool::Unknown => 0,
        RatingPool::OverTheBoard => 1,
        RatingPool::Online => 2,
        RatingPool::Puzzle => 3,
    }
}

impl RatingBalance {
    /// Every rating counts the same.
    pub fn even() -> Self {
        RatingBalance::default()
    }

    /// Weights from a sample of games: a band with a quarter of the games of the largest band of its pool counts twice as
    /// much, up to `most`.
    pub fn of_sample<'a>(heads: impl Iterator<Item = &'a GameHead>, most: f32) -> Self {
        if most <= 1.0 {
            return RatingBalance::even();
        }
        let mut counts = vec![0_u32; Facts::POOLS.len() * BANDS];
        for head in heads {
            for rating in [head.ratings.white, head.ratings.black] {
                if let Some(band) = band(head.pool, rating) {
                    counts[band] += 1;
                }
            }
        }
        let weights = counts.chunks(BANDS).flat_map(|pool| {
            let largest = pool.iter().copied().max().unwrap_or(0) as f32;
            pool.iter().map(move |&count| (largest / count.max(1) as f32).sqrt().clamp(1.0, most))
        });
        RatingBalance(weights.collect())
    }

    fn weight(&self, pool: RatingPool, rating: Option<Elo>) -> f32 {
        band(pool, rating).and_then(|band| self.0.get(band).copied()).unwrap_or(1.0)
    }
}

impl ExampleBuilder {
    /// A builder for the network of `config`; `None` if its encoding or vocabulary is not known.
    pub fn new(config: &TrainConfig, balance: RatingBalance) -> Option<Self> {
        let encoding = encoding(config.net.encoding())?;
        let vocabulary = match config.net.vocabulary() {
            Some(id) => Some(vocabulary(id)?),
            None => None,
        };
        let view = match (&config.net, config.net.encoding()) {
            (NetConfig::Pair(_), _) => View::ContextMover,
            (_, id) if id.starts_with("rusty") => View::White,
            _ => View::Mover,
        };
        let value = vocabulary.is_none().then_some((config.loss.value_kind, view));
        let mut builder = ExampleBuilder {
            encoding,
            vocabulary,
            data: config.data,
            value,
            wants_outcome: matches!(config.net, NetConfig::Human(_)),
            balance,
            examples: Examples::new(Batch::new(encoding)),
            random: fastrand::Rng::with_seed(0),
        };
        builder.clear();
        Some(builder)
    }

    /// Begins a batch whose random choices follow from `seed` alone.
    pub fn begin(&mut self, seed: u64) {
        self.random.seed(seed);
    }

    /// Examples collected.
    pub fn rows(&self) -> usize {
        self.examples.rows()
    }

    /// Gives away what was collected.
    pub fn take(&mut self) -> Examples {
        let taken = self.examples.clone();
        self.clear();
        taken
    }

    fn clear(&mut self) {
        let width = self.vocabulary.map(MoveVocabulary::width);
        self.examples = Examples::new(Batch::new(self.encoding));
        self.examples.policy = width.map(|width| PolicyTargets { width, ..PolicyTargets::default() });
    }

    /// Adds a position of a game, if there is something to learn from it.
    pub fn push_moment(&mut self, moment: &Moment<'_>) {
        let turn = moment.position.turn();
        // Only the solver's moves of a puzzle are good ones.
        if moment.head.pool == RatingPool::Puzzle && moment.ply % 2 == 1 {
            return;
        }
        if moment.ply < self.data.first_ply || self.is_loud(moment.position, moment.played) {
            return;
        }
        let back = match self.value {
            Some((_, View::ContextMover)) => self.random.usize(0..=CONTEXT_PLIES.min(moment.earlier.len())),
            _ => 0,
        };
        let context = back.checked_sub(1).map(|back| &moment.earlier[back]);
        let value = match self.value {
            Some((kind, view)) => {
                let view = view_of(view, turn, context.map_or(turn, Position::turn));
                let evaluation = match self.data.value_source {
                    ValueSource::Evaluation => moment.evaluation,
                    ValueSource::PawnLabels => {
                        moment.evaluation.filter(|_| moment.evaluated_so_far == EvaluatedSoFar::Yes)
                    }
                    ValueSource::Result => None,
                };
                let Some(value) = self.value_target(kind, view, evaluation, moment.head.result) else {
                    return;
                };
                Some(value)
            }
            None => None,
        };
        let situation = self.situation(moment, context);
        self.push(&situation, moment.played, &[], value, self.outcome(moment.head.result, turn));
        let rating = *moment.head.ratings.get(turn);
        self.examples.weights.push(self.balance.weight(moment.head.pool, rating));
        self.examples.think.push(think_bin(moment));
        self.examples.facts.push(Facts {
            rating: rating.map_or(0, |elo| elo.0),
            ply: moment.ply,
            pool: pool_number(moment.head.pool),
            men: moment.position.board().occupied().count() as u8,
            depth: 0,
        });
    }

    /// Adds an analysed position, if an engine looked deep enough.
    pub fn push_evaluation(&mut self, record: &EvaluationRecord) {
        let sessions = record.sessions.iter().filter(|session| session.depth >= self.data.min_depth);
        let analyses: Vec<Analysis<Move>> = sessions
            .flat_map(|session| {
                let depth = u32::from(session.depth);
                session.lines.iter().map(move |line| Analysis { mv: line.first, depth, score: line.score })
            })
            .collect();
        let turn = record.position.turn();
        let labels = soft_labels(&analyses, turn, TEMPERATURE_CP);
        let Some(&(best, _)) = labels.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else { return };
        if self.is_loud(&record.position, best) {
            return;
        }
        let depth = analyses.iter().map(|analysis| analysis.depth).max().unwrap_or(0);
        let value = match self.value {
            Some((kind, view)) => {
                let score = analyses.iter().find(|a| a.depth == depth && a.mv == best).map(|a| a.score);
                let Some(value) = self.value_target(kind, view_of(view, turn, turn), score, None) else {
                    return;
                };
                Some(value)
            }
            None => None,
        };
        self.push(&Situation::of(&record.position), best, &labels, value, ABSENT);
        self.examples.weights.push(1.0);
        self.examples.think.push(ABSENT);
        self.examples.facts.push(Facts {
            men: record.position.board().occupied().count() as u8,
            depth: depth as u8,
            ..Facts::default()
        });
    }

    fn is_loud(&self, position: &Chess, played: Move) -> bool {
        self.data.quiet_only == QuietOnly::Yes
            && (position.is_check() || played.is_capture() || played.is_promotion())
    }

    /// What the network may see: what is known, less what dropout hides.
    fn situation<'a>(&mut self, moment: &Moment<'a>, context: Option<&'a Chess>) -> Situation<'a> {
        let Dropout { rating, opponent_rating, pool, pace, clocks, history } = self.data.dropout;
        let turn = moment.position.turn();
        // One draw for each, whatever is known, so that the sequence does not depend on the data.
        let [rating, opponent_rating, pool, pace, clocks, history] =
            [rating, opponent_rating, pool, pace, clocks, history].map(|p| self.random.f32() < p);
        let head = moment.head;
        let seat = |color: Color, hidden: bool| Seat {
            rating: head.ratings.get(color).filter(|_| !hidden && !pool),
            time_left: moment.clocks.get(color).filter(|_| !clocks),
        };
        Situation {
            position: moment.position,
            earlier: if history { &[] } else { moment.earlier },
            last_moves: if history { &[] } else { moment.last_moves },
            mover: seat(turn, rating),
            opponent: seat(!turn, opponent_rating),
            pool: if pool { RatingPool::Unknown } else { head.pool },
            pace: head.pace.filter(|_| !pace),
            context,
        }
    }

    fn outcome(&self, result: Option<Option<Color>>, turn: Color) -> u8 {
        match result {
            Some(winner) if self.wants_outcome => {
                winner.map_or(1, |winner| if winner == turn { 0 } else { 2 })
            }
            _ => ABSENT,
        }
    }

    /// The target in the units of the loss, as `viewer` sees it.
    fn value_target(
        &self,
        kind: ValueLoss,
        viewer: Color,
        evaluation: Option<ForWhite<Score>>,
        result: Option<Option<Color>>,
    ) -> Option<f32> {
        let limit = self.data.value_limit_cp;
        let centipawns = evaluation.map(|score| match score.for_mover(viewer).0 {
            Score::Centipawns(cp) => (cp as f32).clamp(-limit, limit),
            Score::Mate(moves) => limit * moves.get().signum() as f32,
        });
        let won = result.map(|winner| winner.map_or(0.5, |winner| if winner == viewer { 1.0 } else { 0.0 }));
        match kind {
            ValueLoss::L1 | ValueLoss::Squared => Some(centipawns? / 100.0),
            ValueLoss::Chance | ValueLoss::CrossEntropy => {
                let chance = centipawns.map(|cp| 1.0 / (1.0 + (-cp / self.data.cp_scale).exp()));
                match (chance, won) {
                    (Some(chance), Some(won)) => Some(chance + self.data.result_share * (won - chance)),
                    (Some(chance), None) => Some(chance),
                    (None, won) if self.data.value_source == ValueSource::Result => won,
                    (None, _) => None,
                }
            }
        }
    }

    /// The columns every example has.
    fn push(
        &mut self,
        situation: &Situation<'_>,
        played: Move,
        labels: &[(Move, f32)],
        value: Option<f32>,
        outcome: u8,
    ) {
        self.examples.inputs.push(situation);
        self.examples.outcomes.push(outcome);
        self.examples.values.extend(value);
        if let (Some(policy), Some(vocabulary)) = (&mut self.examples.policy, self.vocabulary) {
            push_policy(policy, vocabulary, situation.position, played, labels);
        }
    }
}

fn view_of(view: View, turn: Color, context_turn: Color) -> Color {
    match view {
        View::White => Color::White,
        View::Mover => turn,
        View::ContextMover => context_turn,
    }
}

fn think_bin(moment: &Moment<'_>) -> u8 {
    let took = || {
        let before = (*moment.clocks.get(moment.position.turn()))?;
        let after = moment.clock_after?;
        let increment = moment.head.pace?.increment;
        Some((before + increment).saturating_sub(after).as_secs_f32())
    };
    took().map_or(ABSENT, |seconds| time_bin(seconds) as u8)
}

fn push_policy(
    policy: &mut PolicyTargets,
    vocabulary: &dyn MoveVocabulary,
    position: &Chess,
    played: Move,
    labels: &[(Move, f32)],
) {
    let turn = position.turn();
    let slot = vocabulary.slot(turn, played);
    policy.played.push(slot.index.0);
    if vocabulary.promotion_width() > 0 {
        policy.promotions.push(slot.promotion.unwrap_or(ABSENT));
    }
    let start = policy.legal.len();
    policy.legal.resize(start + policy.mask_stride(), 0);
    for m in position.legal_moves() {
        let index = usize::from(vocabulary.slot(turn, m).index.0);
        policy.legal[start + index / 8] |= 1 << (index % 8);
    }
    let soft = &mut policy.soft;
    if labels.is_empty() && soft.starts.is_empty() {
        return;
    }
    // The first row with soft targets gives those before it empty lists.
    let rows_before = policy.played.len() - 1;
    soft.starts.resize(soft.starts.len().max(rows_before + 1), soft.indices.len() as u32);
    for &(mv, probability) in labels {
        soft.indices.push(vocabulary.slot(turn, mv).index.0);
        soft.probabilities.push(probability);
    }
    soft.starts.push(soft.indices.len() as u32);
}
