//! Synthetic examples: positions of random games with random targets of every kind, for checks and benchmarks.

use fastrand::Rng;
use shakmaty::{Chess, Position};
use tabia_encoding::{Batch, Elo, MoveVocabulary, PlayerInfo, RatingPool, Situation, encoding, vocabulary};

use crate::{ABSENT, Examples, Facts, NetConfig, PolicyTargets};

/// `rows` examples for a network. The same seed gives the same examples.
///
/// # Panics
/// If the network's encoding is not known.
pub fn examples(net: &NetConfig, rows: usize, seed: u64) -> Examples {
    let encoding = encoding(net.encoding()).expect("a network names a known encoding");
    let moves = net.vocabulary().and_then(vocabulary);
    let mut random = Rng::with_seed(seed);
    let mut examples = Examples::new(Batch::new(encoding));
    let mut policy = moves.map(|moves| PolicyTargets { width: moves.width(), ..PolicyTargets::default() });
    if let Some(policy) = &mut policy {
        policy.soft.starts.push(0);
    }
    let mut position = Chess::default();
    let mut ply = 0;
    while examples.rows() < rows {
        let legal = position.legal_moves();
        if legal.is_empty() || ply > 120 {
            (position, ply) = (Chess::default(), 0);
            continue;
        }
        let played = legal[random.usize(..legal.len())];
        let mut player = || PlayerInfo { rating: Some(Elo(random.u16(600..2800))), time_left: None };
        let (mover, opponent) = (player(), player());
        let pool = RatingPool::Online;
        examples.inputs.push(&Situation { mover, opponent, pool, ..Situation::of(&position) });
        push_targets(&mut examples, &mut random);
        if let (Some(policy), Some(moves)) = (&mut policy, moves) {
            push_moves(policy, &mut random, moves, &position, played);
        }
        position.play_unchecked(played);
        ply += 1;
    }
    examples.policy = policy;
    examples.facts = vec![Facts::default(); rows];
    examples
}

/// A class out of so many, or none.
fn class(random: &mut Rng, count: u8) -> u8 {
    if random.u8(..4) == 0 { ABSENT } else { random.u8(..count) }
}

fn push_targets(examples: &mut Examples, random: &mut Rng) {
    examples.outcomes.push(class(random, 3));
    examples.think.push(class(random, tabia_encoding::TIME_BINS as u8));
    examples.weights.push(if random.u8(..8) == 0 { 0.0 } else { 0.25 + random.f32() });
    examples.values.push(if random.u8(..8) == 0 { f32::NAN } else { random.f32() });
}

fn push_moves(
    policy: &mut PolicyTargets,
    random: &mut Rng,
    moves: &dyn MoveVocabulary,
    position: &Chess,
    played: shakmaty::Move,
) {
    policy.promotions.push(if random.bool() { class(random, 4) } else { ABSENT });
    let index = |m: shakmaty::Move| moves.slot(position.turn(), m).index.0;
    policy.played.push(index(played));
    let start = policy.legal.len();
    policy.legal.resize(start + policy.mask_stride(), 0);
    let mut legal: Vec<u16> = position.legal_moves().into_iter().map(index).collect();
    legal.sort_unstable();
    legal.dedup(); // the pieces a pawn may become share an index
    for &index in &legal {
        policy.legal[start + usize::from(index) / 8] |= 1 << (index % 8);
    }
    if random.bool() {
        let probabilities: Vec<f32> = legal.iter().map(|_| random.f32()).collect();
        let sum: f32 = probabilities.iter().sum();
        policy.soft.indices.extend(&legal);
        policy.soft.probabilities.extend(probabilities.iter().map(|p| p / sum));
    }
    policy.soft.starts.push(policy.soft.indices.len() as u32);
}
