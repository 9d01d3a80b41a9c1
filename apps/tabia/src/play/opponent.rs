//! The other side of the board: a network that chooses moves.

use anyhow::{Context, Result};
use fastrand::Rng;
use shakmaty::{Color, Move, Position};
use tabia_encoding::{Elo, Situation};
use tabia_game::History;
use tabia_model::{Candidate, Evaluation, Model};

use crate::cli::{Mode, PlayArgs};
use crate::shipped;

/// How many moves a hint shows.
const HINTS: usize = 5;

/// A network at the board. Networks with a move head play from it; others look one move ahead.
pub(super) struct Opponent {
    model: Model,
    label: String,
    elo: Elo,
    mode: Mode,
    temperature: f32,
    rng: Rng,
}

impl Opponent {
    pub(super) fn new(args: &PlayArgs) -> Result<Opponent> {
        let (model, label) = match &args.model {
            Some(path) => {
                let model = Model::open(path).with_context(|| path.display().to_string())?;
                let stem = path.file_name().map_or("network".into(), |n| n.to_string_lossy().into_owned());
                let label = model.card().name.clone().unwrap_or(stem);
                (model, label)
            }
            None => (shipped::human().context("the network that comes with tabia")?, "Tabia".to_owned()),
        };
        let rng = args.seed.map_or_else(Rng::new, Rng::with_seed);
        let temperature = args.temperature;
        Ok(Opponent { model, label, elo: Elo(args.elo), mode: args.mode, temperature, rng })
    }

    /// Who it is, with the rating it was asked for when it listens to one.
    pub(super) fn name(&self) -> String {
        if self.model.card().encoding.starts_with("humchess") {
            format!("{} {}", self.label, self.elo.0)
        } else {
            self.label.clone()
        }
    }

    pub(super) fn set_elo(&mut self, elo: Elo) {
        self.elo = elo;
    }

    pub(super) fn toss(&mut self) -> Color {
        if self.rng.bool() { Color::White } else { Color::Black }
    }

    /// A move for the side to move; the game must not be over.
    pub(super) fn choose(&mut self, history: &History) -> Result<Move> {
        let evaluation = self.evaluate(history)?;
        if let Some(policy) = &evaluation.policy {
            let candidates = policy.candidates();
            return Ok(match self.mode {
                Mode::Argmax => candidates[0].mv,
                Mode::Sample => sampled(candidates, self.temperature, &mut self.rng),
            });
        }
        Ok(self.look_ahead(history)?[0].0)
    }

    /// The network's own view of the position: likeliest moves, or the best by one move of looking ahead.
    pub(super) fn hint(&self, history: &History) -> Result<Vec<(Move, String)>> {
        if let Some(policy) = &self.evaluate(history)?.policy {
            let shown = policy.candidates().iter().take(HINTS);
            return Ok(shown.map(|c| (c.mv, format!("{:.1}%", 100.0 * c.probability))).collect());
        }
        let ranked = self.look_ahead(history)?.into_iter().take(HINTS);
        Ok(ranked.map(|(m, score)| (m, format!("{:+.2}", score / 100.0))).collect())
    }

    fn evaluate(&self, history: &History) -> Result<Evaluation> {
        let mut situation = history.situation();
        situation.mover.rating = Some(self.elo);
        Ok(self.model.evaluate(&[situation])?.remove(0))
    }

    /// Every move with the centipawns it leads to for the side to move, best first; ties keep the move order.
    fn look_ahead(&self, history: &History) -> Result<Vec<(Move, f32)>> {
        let root = history.current();
        let moves = root.legal_moves();
        let children: Vec<_> = moves
            .iter()
            .map(|&m| {
                let mut child = root.clone();
                child.play_unchecked(m);
                child
            })
            .collect();
        let situations: Vec<_> =
            children.iter().map(|c| Situation { context: Some(root), ..Situation::of(c) }).collect();
        let evaluations = self.model.evaluate(&situations)?;
        let mut ranked: Vec<_> = moves
            .iter()
            .zip(&children)
            .zip(&evaluations)
            .map(|((&m, child), evaluation)| (m, -worth(child, evaluation)))
            .collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        Ok(ranked)
    }
}

/// What a position is worth to its side to move, in centipawns; the rules come before the network.
fn worth(position: &shakmaty::Chess, evaluation: &Evaluation) -> f32 {
    const MATE: f32 = 1e6;
    if position.is_checkmate() {
        return -MATE;
    }
    if position.is_stalemate() || position.is_insufficient_material() {
        return 0.0;
    }
    match (evaluation.score, evaluation.wdl) {
        (Some(score), _) => score.0,
        (None, Some(wdl)) => 1000.0 * (wdl.expected() - 0.5),
        (None, None) => 0.0,
    }
}

/// A move drawn with the probabilities of the policy, sharpened (below 1) or flattened (above 1) by `temperature`.
fn sampled(candidates: &[Candidate], temperature: f32, rng: &mut Rng) -> Move {
    let top = candidates[0].probability;
    let weights: Vec<f32> =
        candidates.iter().map(|c| (c.probability / top).powf(1.0 / temperature.max(1e-3))).collect();
    let mut rest = rng.f32() * weights.iter().sum::<f32>();
    for (candidate, weight) in candidates.iter().zip(weights) {
        rest -= weight;
        if rest < 0.0 {
            return candidate.mv;
        }
    }
    candidates[0].mv
}

#[cfg(test)]
mod tests {
    use shakmaty::Chess;

    use super::*;

    #[test]
    fn sampling_follows_the_probabilities() {
        let moves = Chess::default().legal_moves();
        let candidates = [
            Candidate { mv: moves[0], probability: 0.75 },
            Candidate { mv: moves[1], probability: 0.25 },
            Candidate { mv: moves[2], probability: 0.0 },
        ];
        let mut rng = Rng::with_seed(1);
        let mut counts = [0; 3];
        for _ in 0..4000 {
            let m = sampled(&candidates, 1.0, &mut rng);
            counts[moves.iter().position(|&x| x == m).unwrap()] += 1;
        }
        assert!((2850..3150).contains(&counts[0]), "{counts:?}");
        assert_eq!(counts[2], 0);
        let mut cold = Rng::with_seed(1);
        assert!((0..100).all(|_| sampled(&candidates, 0.05, &mut cold) == moves[0]));
    }
}
