//! One network, its first weights, and a batch of positions of random games with targets at random.

use std::path::Path;

use fastrand::Rng;
use shakmaty::{Chess, Position};
use tabia_encoding::{
    Batch, Elo, MoveVocabulary, PlayerInfo, RatingPool, Situation, TIME_BINS, encoding, vocabulary,
};
use tabia_train::{Examples, Facts, ParameterTable, PolicyTargets, TrainConfig, ValueLoss};

/// What the first weights and the positions come from.
pub(crate) const SEED: u64 = 1;
const LONGEST_GAME: usize = 120;

/// What the contenders are given.
pub(crate) struct Case {
    pub(crate) config: TrainConfig,
    pub(crate) table: ParameterTable,
    /// An arena of `table`.
    pub(crate) weights: Vec<f32>,
    /// Every example weighs one and has a target for every head.
    pub(crate) examples: Examples,
}

impl Case {
    /// The network of `configs/{name}.toml` with a batch of so many positions.
    pub(crate) fn new(name: &str, batch: usize) -> Result<Self, String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../configs/{name}.toml"));
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let config = TrainConfig::parse(&text).map_err(|error| error.to_string())?;
        let table = config.net.table();
        let weights = table.initial(SEED);
        let examples = examples(&config, batch)?;
        Ok(Case { config, table, weights, examples })
    }

    /// One unit of a value network's output times this is the logit of its chance to win.
    pub(crate) fn logit_scale(&self) -> f32 {
        100.0 / self.config.data.cp_scale
    }
}

fn examples(config: &TrainConfig, rows: usize) -> Result<Examples, String> {
    let id = config.net.encoding();
    let encoding = encoding(id).ok_or_else(|| format!("there is no encoding {id}"))?;
    let vocabulary = config.net.vocabulary().and_then(vocabulary);
    let mut random = Rng::with_seed(SEED);
    let mut examples = Examples::new(Batch::new(encoding));
    let mut policy = vocabulary.map(|v| PolicyTargets { width: v.width(), ..PolicyTargets::default() });
    let (mut position, mut ply) = (Chess::default(), 0);
    while examples.rows() < rows {
        let legal = position.legal_moves();
        if legal.is_empty() || ply > LONGEST_GAME {
            (position, ply) = (Chess::default(), 0);
            continue;
        }
        let played = legal[random.usize(..legal.len())];
        let mut seat = || PlayerInfo { rating: Some(Elo(random.u16(600..2800))), time_left: None };
        let (mover, opponent) = (seat(), seat());
        let pool = RatingPool::Online;
        examples.inputs.push(&Situation { mover, opponent, pool, ..Situation::of(&position) });
        match (&mut policy, vocabulary) {
            (Some(policy), Some(vocabulary)) => {
                push_moves(policy, vocabulary, &position, played, &mut random);
            }
            _ => examples.values.push(value(config.loss.value_kind, &mut random)),
        }
        examples.outcomes.push(random.u8(..3));
        examples.think.push(random.u8(..TIME_BINS as u8));
        position.play_unchecked(played);
        ply += 1;
    }
    examples.policy = policy;
    examples.weights = vec![1.0; rows];
    examples.facts = vec![Facts::default(); rows];
    Ok(examples)
}

fn push_moves(
    policy: &mut PolicyTargets,
    vocabulary: &dyn MoveVocabulary,
    position: &Chess,
    played: shakmaty::Move,
    random: &mut Rng,
) {
    let index = |m: shakmaty::Move| vocabulary.slot(position.turn(), m).index.0;
    policy.played.push(index(played));
    policy.promotions.push(random.u8(..4));
    let start = policy.legal.len();
    policy.legal.resize(start + policy.mask_stride(), 0);
    for m in position.legal_moves() {
        let index = usize::from(index(m));
        policy.legal[start + index / 8] |= 1 << (index % 8);
    }
}

/// A target in the units of the loss.
fn value(kind: ValueLoss, random: &mut Rng) -> f32 {
    match kind {
        ValueLoss::L1 | ValueLoss::Squared => 6.0 * random.f32() - 3.0,
        ValueLoss::Chance | ValueLoss::CrossEntropy => random.f32(),
    }
}
