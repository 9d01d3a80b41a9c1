//! From chess to examples: the inputs of an encoding, and the targets a network can learn from them.

use std::sync::Arc;

use shakmaty::{CastlingMode, Chess, Color, EnPassantMode, FromSetup, Move, Position, Square};
use tabia_data::stats::Phase;
use tabia_data::{EvaluationRecord, GameHead, GameSample, LineSample, Sample, Target};
use tabia_encoding::{
    Batch, Elo, Encoding, ForMover, ForWhite, MoveSubset, MoveVocabulary, OwnedSituation, Perspective,
    PlayerInfo, RatingPool, Score, Situation, encoding, time_bin, vocabulary,
};

use crate::choices::{complete_session, moves};
use crate::teacher::Distillation;
use crate::{
    ABSENT, DataConfig, Dropout, Examples, Facts, PolicyTargets, QuietOnly, Reading, Root, Teacher, Teaching,
    TrainConfig, ValueLoss, ValueSource,
};

/// How far back the context of a two-input network may lie.
const CONTEXT_PLIES: usize = 8;

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
    /// The moves that the head has, if not all.
    known: Option<MoveSubset>,
    data: DataConfig,
    value: Option<(ValueLoss, View)>,
    balance: RatingBalance,
    examples: Examples,
    /// The situations behind the rows of `examples`, where they are kept.
    kept: Option<Vec<OwnedSituation>>,
    distillation: Distillation,
    random: fastrand::Rng,
}

/// One row of a batch: what the network sees, and what it is to learn from that.
struct ExampleRow<'a> {
    situation: &'a Situation<'a>,
    weight: f32,
    facts: Facts,
    target: RowTarget<'a>,
}

enum RowTarget<'a> {
    Policy(PolicyRow<'a>),
    /// In the units of the loss; NaN for none.
    Value(f32),
}

/// The targets of a policy network.
struct PolicyRow<'a> {
    played: Move,
    /// Probabilities to learn instead of `played`.
    labels: &'a [(Move, f32)],
    /// Whether the piece promoted to is a target as well.
    promotion: bool,
    outcome: u8,
    think: u8,
}

impl PolicyRow<'_> {
    /// The move alone.
    fn of_move(played: Move) -> Self {
        PolicyRow { played, labels: &[], promotion: true, outcome: ABSENT, think: ABSENT }
    }
}

/// How much each rating counts: bands with few games count more.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RatingBalance(Vec<f32>);

const BANDS: usize = 20;

fn band(pool: RatingPool, rating: Option<Elo>) -> Option<usize> {
    let rating = usize::from(rating?.0);
    Some(pool.index() * BANDS + (rating / 200).min(BANDS - 1))
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

fn blank(encoding: &'static dyn Encoding, vocabulary: Option<&'static dyn MoveVocabulary>) -> Examples {
    let mut examples = Examples::new(Batch::new(encoding));
    let width = vocabulary.map(MoveVocabulary::width);
    examples.policy = width.map(|width| PolicyTargets { width, ..PolicyTargets::default() });
    examples
}

impl ExampleBuilder {
    /// A builder for the network of `config`; `None` if its encoding or vocabulary is not known.
    pub fn new(config: &TrainConfig, balance: RatingBalance) -> Option<Self> {
        let encoding = encoding(config.net.encoding())?;
        let vocabulary = match config.net.vocabulary() {
            Some(id) => Some(vocabulary(id)?),
            None => None,
        };
        let view = match encoding.value_convention().perspective {
            Perspective::ContextMover => View::ContextMover,
            Perspective::White => View::White,
            Perspective::Mover | Perspective::Comparison => View::Mover,
        };
        let value = vocabulary.is_none().then_some((config.loss.value_kind, view));
        Some(ExampleBuilder {
            encoding,
            vocabulary,
            known: config.net.known_moves().copied(),
            data: config.data,
            value,
            balance,
            examples: blank(encoding, vocabulary),
            kept: None,
            distillation: Distillation::default(),
            random: fastrand::Rng::with_seed(0),
        })
    }

    /// The same, keeping what each row was made from.
    pub(crate) fn keeping_situations(mut self) -> Self {
        self.kept = Some(Vec::new());
        self
    }

    /// The same, with teachers. A value network does not use them.
    pub(crate) fn taught_by(mut self, teachers: Arc<[Teacher]>) -> Self {
        self.distillation = Distillation::new(teachers);
        self
    }

    /// Fills in the teachers' policies of the rows that wait for them. Call before [`take`](ExampleBuilder::take).
    ///
    /// # Errors
    /// If a teacher fails.
    pub(crate) fn hold_distillation(&mut self) -> Result<(), String> {
        match (&mut self.examples.policy, self.vocabulary) {
            (Some(policy), Some(vocabulary)) => {
                self.distillation.hold(policy, vocabulary, self.known.as_ref())
            }
            _ => Ok(()),
        }
    }

    /// The situations behind the collected rows, in order. Call with [`take`](ExampleBuilder::take).
    pub(crate) fn take_situations(&mut self) -> Vec<OwnedSituation> {
        self.kept.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Examples collected.
    pub fn rows(&self) -> usize {
        self.examples.rows()
    }

    /// Takes the collected examples out.
    pub fn take(&mut self) -> Examples {
        std::mem::replace(&mut self.examples, blank(self.encoding, self.vocabulary))
    }

    /// Adds a sample, if there is something to learn from it. Its random choices follow from the sample and `seed` alone.
    pub fn push(&mut self, sample: &Sample<'_>, seed: u64) {
        let ply = match &sample.target {
            Target::Game(game) => game.ply,
            Target::Evaluation(_) => 0,
            Target::Line(line) => 1 + u32::from(line.number),
        };
        let place = [u64::from(sample.set), sample.record.0, u64::from(ply), u64::from(sample.epoch)];
        self.random.seed(
            place
                .into_iter()
                .fold(seed, |mixed, part| (mixed ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)),
        );
        match &sample.target {
            Target::Game(game) => match self.value {
                Some((kind, view)) => self.push_game_value(sample, game, kind, view),
                None => self.push_game_move(sample, game),
            },
            Target::Evaluation(record) if self.data.siblings > 0 => self.push_siblings(record),
            Target::Evaluation(record) => self.push_evaluation(record),
            Target::Line(line) => self.push_line(sample.situation.position, line),
        }
    }

    /// Whether the head has a move of `position`.
    fn knows(&self, position: &Chess, m: Move) -> bool {
        match (&self.known, self.vocabulary) {
            (Some(known), Some(vocabulary)) => known.contains(vocabulary.slot(position.turn(), m).index),
            _ => true,
        }
    }

    /// A move of a game, for policy networks.
    fn push_game_move(&mut self, sample: &Sample<'_>, game: &GameSample<'_>) {
        if !self.knows(sample.situation.position, game.played) {
            return;
        }
        if !self.distillation.is_empty() && self.is_to_be_taught(game) {
            return self.push_taught(sample, game);
        }
        let situation = self.with_dropout(&sample.situation);
        let turn = situation.position.turn();
        let outcome = match game.head.result {
            Some(winner) => winner.map_or(1, |winner| if winner == turn { 0 } else { 2 }),
            None => ABSENT,
        };
        let think = game.thought.map_or(ABSENT, |time| time_bin(time.as_secs_f32()) as u8);
        let target = PolicyRow { outcome, think, ..PolicyRow::of_move(game.played) };
        self.push_of_game(&situation, game.head, game.ply, RowTarget::Policy(target));
    }

    fn is_to_be_taught(&mut self, game: &GameSample<'_>) -> bool {
        let Teaching { rated, unrated } = self.data.teaching;
        let share = match game.head.pool {
            // A puzzle has one right move, whatever people play.
            RatingPool::Puzzle => return false,
            _ if game.head.ratings.white.is_some() && game.head.ratings.black.is_some() => rated,
            _ => unrated,
        };
        self.random.f32() < share
    }

    /// A position of a game, to learn the teacher's policy there. How the game went on says nothing about the teacher.
    fn push_taught(&mut self, sample: &Sample<'_>, game: &GameSample<'_>) {
        let situation = self.distillation.ask(self.examples.rows(), &sample.situation, &mut self.random);
        self.push_row(&ExampleRow {
            situation: &situation,
            weight: 1.0,
            facts: facts(situation.pool, situation.mover.rating, situation.position, game.ply),
            target: RowTarget::Policy(PolicyRow { promotion: false, ..PolicyRow::of_move(game.played) }),
        });
    }

    /// A position of a game, for value networks: the one after the move, which is the one that engine annotations evaluate.
    fn push_game_value(&mut self, sample: &Sample<'_>, game: &GameSample<'_>, kind: ValueLoss, view: View) {
        let before = sample.situation.position;
        let mut after = before.clone();
        after.play_unchecked(game.played);
        if self.skips_tactical(&after, game.played) || after.legal_moves().is_empty() {
            return;
        }
        let back = match view {
            View::ContextMover => {
                self.random.usize(0..=CONTEXT_PLIES.min(1 + sample.situation.earlier.len()))
            }
            View::White | View::Mover => 0,
        };
        let context = match back {
            0 => None,
            1 => Some(before),
            _ => Some(&sample.situation.earlier[back - 2]),
        };
        let viewer = view.color(after.turn(), context.map_or(after.turn(), Position::turn));
        let Some(value) = self.value_target(kind, viewer, game.evaluation, game.head.result) else { return };
        let after = if context.is_none() { self.mirrored(after) } else { after };
        let situation = Situation { context, ..Situation::of(&after) };
        self.push_of_game(&situation, game.head, game.ply + 1, RowTarget::Value(value));
    }

    fn push_evaluation(&mut self, record: &EvaluationRecord) {
        let mut labels = self.data.labels.labels(record);
        if self.known.is_some() {
            labels.retain(|(m, _)| self.knows(&record.position, *m));
            let total: f32 = labels.iter().map(|(_, probability)| probability).sum();
            labels.iter_mut().for_each(|(_, probability)| *probability /= total);
        }
        let best = labels.iter().copied().reduce(|best, label| if label.1 > best.1 { label } else { best });
        let (Some((best, _)), Some(deepest)) = (best, record.sessions.first()) else { return };
        if self.value.is_some() && self.skips_tactical(&record.position, best) {
            return;
        }
        if let Some((kind, view)) = self.value {
            let turn = record.position.turn();
            let score = deepest.lines.first().map(|line| line.score);
            let Some(value) = self.value_target(kind, view.color(turn, turn), score, None) else { return };
            let position = self.mirrored(record.position.clone());
            self.push_analysed(&position, deepest.depth, RowTarget::Value(value));
        } else {
            let target = PolicyRow { labels: &labels, ..PolicyRow::of_move(best) };
            self.push_analysed(&record.position, deepest.depth, RowTarget::Policy(target));
        }
    }

    /// The position after a move of an analysed one, for value networks.
    fn push_line(&mut self, position: &Chess, sample: &LineSample) {
        let Some((kind, view)) = self.value else { return };
        let LineSample { line, depth, .. } = *sample;
        let mut after = position.clone();
        after.play_unchecked(line.first);
        if after.legal_moves().is_empty() || self.skips_tactical(&after, line.first) {
            return;
        }
        let viewer = view.color(after.turn(), after.turn());
        let score = Some(line.score.after_move(position.turn()));
        let Some(value) = self.value_target(kind, viewer, score, None) else { return };
        let after = self.mirrored(after);
        self.push_analysed(&after, depth, RowTarget::Value(value));
    }

    /// The positions after the best move of an analysed position and after some others, as a group.
    fn push_siblings(&mut self, record: &EvaluationRecord) {
        let Some((_, view)) = self.value else { return };
        let Some(deepest) = record.sessions.first() else { return };
        let size = self.data.siblings as usize;
        let first = self.rows();
        let mut numbers: Vec<u16> = (0..u16::try_from(deepest.lines.len()).unwrap_or(u16::MAX)).collect();
        // The best line comes first.
        if let Some(others) = numbers.get_mut(1..) {
            self.random.shuffle(others);
        }
        for number in numbers {
            let Some(&line) = deepest.lines.get(usize::from(number)) else { continue };
            if self.rows() < first + size {
                self.push_line(&record.position, &LineSample { line, depth: deepest.depth, number });
            }
        }
        if self.rows() == first {
            return;
        }
        let chooser = record.position.turn();
        let sign = if view.color(!chooser, !chooser) == chooser { 1.0 } else { -1.0 };
        self.examples.siblings.resize(self.rows(), sign);
        self.pad(first + size);
    }

    /// The position or, with the configured probability and only without castling rights, its mirror image.
    fn mirrored(&mut self, position: Chess) -> Chess {
        if self.random.f32() >= self.data.mirror || position.castles().any() {
            return position;
        }
        let mut setup = position.to_setup(EnPassantMode::Always);
        setup.board.flip_horizontal();
        setup.ep_square = setup.ep_square.map(Square::flip_horizontal);
        // The mirror image of a legal position is legal.
        Chess::from_setup(setup, CastlingMode::Standard).unwrap_or(position)
    }

    /// A position that an engine analysed.
    fn push_analysed(&mut self, position: &Chess, depth: u8, target: RowTarget<'_>) {
        let situation = &Situation::of(position);
        self.push_row(&ExampleRow { situation, weight: 1.0, facts: analysed_facts(position, depth), target });
    }

    /// Adds the positions after every move of an analysed one, without targets. `None`, and nothing is added, if not every
    /// move was evaluated or the network has no value head.
    pub(crate) fn push_root(&mut self, record: &EvaluationRecord) -> Option<Root> {
        let (_, view) = self.value?;
        let depth = complete_session(record)?.depth;
        let moves = moves(record, |after| {
            self.push_analysed(after, depth, RowTarget::Value(f32::NAN));
            self.rows() - 1
        })?;
        let turn = record.position.turn();
        let facts = analysed_facts(&record.position, depth);
        Some(Root { facts, reading: Reading::of(turn, view.color(!turn, !turn)), moves })
    }

    /// Adds a position without a target; returns whose point of view its value takes.
    pub(crate) fn push_position(&mut self, position: &Chess) -> Color {
        let turn = position.turn();
        self.push_analysed(position, 0, RowTarget::Value(f32::NAN));
        self.value.map_or(turn, |(_, view)| view.color(turn, turn))
    }

    /// Adds rows of weight zero until there are `rows`.
    pub fn pad(&mut self, rows: usize) {
        let start = Chess::default();
        let Some(&first) = start.legal_moves().first() else { return };
        while self.rows() < rows {
            let target = match self.vocabulary {
                Some(_) => RowTarget::Policy(PolicyRow::of_move(first)),
                None => RowTarget::Value(f32::NAN),
            };
            let situation = &Situation::of(&start);
            self.push_row(&ExampleRow { situation, weight: 0.0, facts: Facts::default(), target });
        }
        if self.data.siblings > 0 {
            self.examples.siblings.resize(self.rows(), 0.0);
        }
    }

    /// A position of a game, weighted by the mover's rating.
    fn push_of_game(&mut self, situation: &Situation<'_>, head: &GameHead, ply: u32, target: RowTarget<'_>) {
        let rating = *head.ratings.get(situation.position.turn());
        self.push_row(&ExampleRow {
            situation,
            weight: self.balance.weight(head.pool, rating),
            facts: facts(head.pool, rating, situation.position, ply),
            target,
        });
    }

    /// Adds one row to every column.
    fn push_row(&mut self, row: &ExampleRow<'_>) {
        let Examples { inputs, weights, policy, outcomes, think, values, facts, .. } = &mut self.examples;
        inputs.push(row.situation);
        weights.push(row.weight);
        facts.push(row.facts);
        match (&row.target, policy, self.vocabulary) {
            (RowTarget::Policy(target), Some(policy), Some(vocabulary)) => {
                push_policy(policy, vocabulary, row.situation.position, target);
                outcomes.push(target.outcome);
                think.push(target.think);
            }
            (RowTarget::Value(value), ..) => values.push(*value),
            (RowTarget::Policy(_), ..) => {}
        }
        if let Some(kept) = &mut self.kept {
            kept.push(OwnedSituation::of(row.situation));
        }
    }

    /// Whether a value network is not to learn a position, which `m` led to or which has `m` as its best move.
    fn skips_tactical(&self, position: &Chess, m: Move) -> bool {
        match self.data.quiet_only {
            QuietOnly::No => false,
            QuietOnly::Yes => position.is_check() || m.is_capture() || m.is_promotion(),
            QuietOnly::Exchanges => !tabia_search::is_quiet(position),
        }
    }

    /// The situation as the network sees it: without what dropout hides.
    fn with_dropout<'a>(&mut self, known: &Situation<'a>) -> Situation<'a> {
        let Dropout { rating, opponent_rating, pool, site, pace, clocks, history } = self.data.dropout;
        // One draw for each, whatever is known, so that the sequence does not depend on the data.
        let [rating, opponent_rating, pool, pace, clocks, history] =
            [rating, opponent_rating, pool, pace, clocks, history].map(|p| self.random.f32() < p);
        // Runs without it began before there was one.
        let site = site > 0.0 && self.random.f32() < site;
        let player = |player: PlayerInfo, hidden: bool| PlayerInfo {
            rating: player.rating.filter(|_| !hidden && !pool),
            time_left: player.time_left.filter(|_| !clocks),
        };
        Situation {
            position: known.position,
            earlier: if history { &[] } else { known.earlier },
            last_moves: if history { &[] } else { known.last_moves },
            mover: player(known.mover, rating),
            opponent: player(known.opponent, opponent_rating),
            pool: match known.pool {
                _ if pool => RatingPool::Unknown,
                server if site && server.is_online() => RatingPool::Online,
                known => known,
            },
            pace: known.pace.filter(|_| !pace),
            context: known.context,
        }
    }

    /// The value target in the units of the loss, from `viewer`'s point of view.
    fn value_target(
        &self,
        kind: ValueLoss,
        viewer: Color,
        evaluation: Option<ForWhite<Score>>,
        result: Option<Option<Color>>,
    ) -> Option<f32> {
        let evaluation = match self.data.value_source {
            ValueSource::Evaluation => evaluation,
            ValueSource::EvaluationWithoutMates => {
                evaluation.filter(|score| matches!(score.0, Score::Centipawns(_)))
            }
            ValueSource::Result => None,
        };
        let centipawns = evaluation.map(|score| self.centipawns(score.for_mover(viewer)));
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

    fn centipawns(&self, score: ForMover<Score>) -> f32 {
        let limit = self.data.value_limit_cp;
        match (self.data.value_curve, score.0) {
            (Some(curve), _) => curve.centipawns(score),
            (None, Score::Centipawns(cp)) => (cp as f32).clamp(-limit, limit),
            (None, Score::Mate(moves)) => limit * moves.get().signum() as f32,
        }
    }
}

fn facts(pool: RatingPool, rating: Option<Elo>, position: &Chess, ply: u32) -> Facts {
    Facts {
        rating: rating.map_or(0, |elo| elo.0),
        ply: u16::try_from(ply).unwrap_or(u16::MAX),
        pool: pool.index() as u8,
        phase: Phase::of(position.board()),
        depth: 0,
    }
}

fn analysed_facts(position: &Chess, depth: u8) -> Facts {
    Facts { phase: Phase::of(position.board()), depth, ..Facts::default() }
}

impl View {
    fn color(self, turn: Color, context_turn: Color) -> Color {
        match self {
            View::White => Color::White,
            View::Mover => turn,
            View::ContextMover => context_turn,
        }
    }
}

fn push_policy(
    policy: &mut PolicyTargets,
    vocabulary: &dyn MoveVocabulary,
    position: &Chess,
    &PolicyRow { played, labels, promotion, .. }: &PolicyRow<'_>,
) {
    let turn = position.turn();
    let slot = vocabulary.slot(turn, played);
    policy.played.push(slot.index.0);
    if vocabulary.promotion_width() > 0 {
        policy.promotions.push(slot.promotion.filter(|_| promotion).unwrap_or(ABSENT));
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
