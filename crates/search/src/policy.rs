//! Players that move as their network's move head says.

use std::sync::Arc;

use fastrand::Rng;
use shakmaty::Position;
use tabia_encoding::{Elo, ForMover, Score};
use tabia_game::History;
use tabia_model::{Candidate, Model, Policy};

use crate::{Choice, Limits, Line, Player, PlayerError, Watch, order};

/// A network that plays from its move head alone: human-like networks, Maia and other Leela networks without search.
///
/// With the same seed and the same calls it makes the same choices.
pub struct PolicyPlayer {
    name: String,
    model: Arc<Model>,
    rating: Option<Elo>,
    pick: Pick,
    rng: Rng,
}

/// How a move is picked from the probabilities of all moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pick {
    /// The likeliest move.
    Likeliest,
    /// At random.
    Sampled {
        /// Probabilities are raised to one over this: 1 leaves them, less makes likely moves likelier. At 0 only
        /// the likeliest is left.
        temperature: f32,
        /// Of the likeliest moves, as many are kept as it takes to reach this probability; 1 keeps all.
        top_p: f32,
    },
}

impl Pick {
    /// At random, each move as often as the network says.
    pub const AS_THE_NETWORK_SAYS: Pick = Pick::Sampled { temperature: 1.0, top_p: 1.0 };
}

/// A network without a move head: it cannot say which moves are likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the network has no move head")]
pub struct NoPolicy;

impl PolicyPlayer {
    /// A player called `name`. It plays at `rating` if its network listens to one; without, at the game's rating of
    /// whoever it plays for.
    ///
    /// # Errors
    /// If the network has no move head.
    pub fn new(
        name: String,
        model: Arc<Model>,
        rating: Option<Elo>,
        pick: Pick,
        seed: u64,
    ) -> Result<PolicyPlayer, NoPolicy> {
        if model.card().policy.is_none() {
            return Err(NoPolicy);
        }
        Ok(PolicyPlayer { name, model, rating, pick, rng: Rng::with_seed(seed) })
    }
}

impl Player for PolicyPlayer {
    fn name(&self) -> String {
        self.name.clone()
    }

    /// The lines hold the candidates with their probabilities: those the player picks by, or the network's own if it
    /// always takes the likeliest. What the network says of the position itself is told with the first line.
    fn choose(&mut self, game: &History, limits: &Limits, _: &dyn Watch) -> Result<Choice, PlayerError> {
        let allowed = order::candidates(game, limits)?;
        let mut situation = game.situation();
        situation.mover.rating = self.rating.or(situation.mover.rating);
        if let Some(clocks) = &limits.clocks {
            let turn = situation.position.turn();
            situation.mover.time_left = Some(clocks[turn].remaining);
            situation.opponent.time_left = Some(clocks[!turn].remaining);
        }
        let evaluation = self.model.evaluate(&[situation])?.remove(0);
        let policy: Policy =
            evaluation.policy.expect("a network without a move head is refused at the start");
        let mut candidates: Vec<Candidate> =
            policy.candidates().iter().filter(|candidate| allowed.contains(&candidate.mv)).copied().collect();
        normalise(&mut candidates);
        let mv = match self.pick {
            Pick::Likeliest => candidates[0].mv,
            Pick::Sampled { temperature, top_p } => {
                sharpen(&mut candidates, temperature);
                keep_nucleus(&mut candidates, top_p);
                draw(&candidates, self.rng.f32())
            }
        };
        let mut lines: Vec<Line> = candidates
            .iter()
            .take(limits.lines.max(1))
            .enumerate()
            .map(|(place, candidate)| Line {
                rank: place + 1,
                probability: Some(candidate.probability),
                nodes: 1,
                moves: vec![candidate.mv],
                ..Line::default()
            })
            .collect();
        lines[0].wdl = evaluation.wdl;
        lines[0].score = evaluation.score.map(|score| ForMover(Score::Centipawns(score.0.round() as i32)));
        Ok(Choice { mv, ponder: None, lines, nodes: 1 })
    }
}

/// Makes the probabilities add up to one. Where nothing is left of them, all candidates are as likely.
fn normalise(candidates: &mut [Candidate]) {
    let total: f32 = candidates.iter().map(|candidate| candidate.probability).sum();
    let even = 1.0 / candidates.len() as f32;
    for candidate in candidates {
        candidate.probability = if total > 0.0 { candidate.probability / total } else { even };
    }
}

/// Applies a temperature to probabilities that are sorted, likeliest first.
fn sharpen(candidates: &mut [Candidate], temperature: f32) {
    let Some(top) = candidates.first().map(|candidate| candidate.probability) else { return };
    for (place, candidate) in candidates.iter_mut().enumerate() {
        // Relative to the likeliest, so that nothing is lost to underflow but what is out of the question.
        candidate.probability = if temperature > 0.0 {
            (candidate.probability / top).powf(1.0 / temperature)
        } else {
            f32::from(u8::from(place == 0))
        };
    }
    normalise(candidates);
}

/// Leaves as many of the likeliest as it takes to reach `top_p`; at least one.
fn keep_nucleus(candidates: &mut Vec<Candidate>, top_p: f32) {
    let mut sum = 0.0;
    let kept = candidates.iter().take_while(|candidate| {
        let needed = sum < top_p;
        sum += candidate.probability;
        needed
    });
    let kept = kept.count().max(1);
    if top_p < 1.0 {
        candidates.truncate(kept);
        normalise(candidates);
    }
}

/// The candidate at `point`, from 0 to 1, when they are laid side by side.
fn draw(candidates: &[Candidate], point: f32) -> shakmaty::Move {
    let mut left = point;
    let hit = candidates.iter().find(|candidate| {
        left -= candidate.probability;
        left < 0.0
    });
    // Rounding may leave a little after the last that is possible at all.
    let last = || candidates.iter().rev().find(|candidate| candidate.probability > 0.0);
    hit.or_else(last).unwrap_or(&candidates[0]).mv
}
