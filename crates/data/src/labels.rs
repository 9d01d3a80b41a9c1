use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use shakmaty::{Color, Move, Position};
use tabia_encoding::{Analysis, Score, TEMPERATURE_CP, soft_labels};

use crate::{EvaluationRecord, Session};

/// How engine sessions become a probability for each move.
///
/// As text: `deepest`, `sessions`, `best` or `win-chance`, with an optional temperature: `deepest:80`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LabelStrategy {
    /// A softmax over the scores at the greatest depth: the labels of Learning a Chess Policy.
    Deepest {
        /// Temperature in centipawns.
        temperature_cp: f64,
    },
    /// The average of the labels of all sessions, weighted by depth.
    Sessions {
        /// Temperature in centipawns.
        temperature_cp: f64,
    },
    /// Probability 1 for the best move of the deepest session.
    Best,
    /// A softmax over win probabilities at the greatest depth, so that centipawns count for less in decided positions.
    WinChance {
        /// Temperature as a win probability, from 0 to 1.
        temperature: f64,
    },
}

/// Default temperature of [`LabelStrategy::WinChance`]: about 50 centipawns in an equal position.
const TEMPERATURE_WIN_CHANCE: f64 = 0.045;

impl Default for LabelStrategy {
    fn default() -> Self {
        LabelStrategy::Deepest { temperature_cp: TEMPERATURE_CP }
    }
}

impl LabelStrategy {
    /// The probability of each analysed move. They sum to 1, or are empty without lines.
    pub fn labels(&self, record: &EvaluationRecord) -> Vec<(Move, f32)> {
        let turn = record.position.turn();
        match *self {
            LabelStrategy::Deepest { temperature_cp } => {
                soft_labels(&analyses(&record.sessions), turn, temperature_cp)
            }
            LabelStrategy::Sessions { temperature_cp } => average(&record.sessions, turn, temperature_cp),
            LabelStrategy::Best => {
                let deepest = soft_labels(&analyses(&record.sessions), turn, TEMPERATURE_CP);
                let best =
                    deepest.into_iter().reduce(|best, label| if label.1 > best.1 { label } else { best });
                best.map(|(best, _)| vec![(best, 1.0)]).unwrap_or_default()
            }
            LabelStrategy::WinChance { temperature } => by_win_chance(&record.sessions, turn, temperature),
        }
    }
}

fn analyses(sessions: &[Session]) -> Vec<Analysis<Move>> {
    let lines = sessions.iter().flat_map(|session| session.lines.iter().map(move |line| (session, line)));
    lines
        .map(|(session, line)| Analysis {
            mv: line.first,
            depth: u32::from(session.depth),
            score: line.score,
        })
        .collect()
}

fn average(sessions: &[Session], turn: Color, temperature_cp: f64) -> Vec<(Move, f32)> {
    let mut labels: Vec<(Move, f64)> = Vec::new();
    let mut total = 0.0;
    for session in sessions.iter().filter(|session| !session.lines.is_empty()) {
        // Depth 0 still counts.
        let weight = f64::from(session.depth) + 1.0;
        total += weight;
        for (m, share) in soft_labels(&analyses(std::slice::from_ref(session)), turn, temperature_cp) {
            let share = weight * f64::from(share);
            match labels.iter_mut().find(|(known, _)| *known == m) {
                Some((_, sum)) => *sum += share,
                None => labels.push((m, share)),
            }
        }
    }
    labels.into_iter().map(|(m, sum)| (m, (sum / total) as f32)).collect()
}

/// Like `soft_labels`, on win probabilities.
fn by_win_chance(sessions: &[Session], turn: Color, temperature: f64) -> Vec<(Move, f32)> {
    let lines = analyses(sessions);
    let deepest = lines.iter().map(|line| line.depth).max().unwrap_or(0);
    let mut chances: Vec<(Move, f64)> = Vec::new();
    for line in lines.iter().filter(|line| line.depth == deepest) {
        let chance = win_chance(line.score.for_mover(turn).0);
        match chances.iter_mut().find(|(known, _)| *known == line.mv) {
            Some((_, best)) => *best = best.max(chance),
            None => chances.push((line.mv, chance)),
        }
    }
    let best = chances.iter().map(|&(_, chance)| chance).fold(f64::NEG_INFINITY, f64::max);
    let weight = |chance: f64| ((chance - best) / temperature).exp();
    let total: f64 = chances.iter().map(|&(_, chance)| weight(chance)).sum();
    chances.into_iter().map(|(m, chance)| (m, (weight(chance) / total) as f32)).collect()
}

/// Win probability of the mover, by the curve that Lichess fits to its games. Mates are beyond all centipawn scores;
/// shorter mates are better.
fn win_chance(score: Score) -> f64 {
    match score {
        Score::Centipawns(cp) => 1.0 / (1.0 + (-0.003_682_08 * f64::from(cp.clamp(-1000, 1000))).exp()),
        Score::Mate(moves) => {
            let decided = win_chance(Score::Centipawns(1000));
            let left = (1.0 - decided) / (1.0 + f64::from(moves.get().unsigned_abs()));
            if moves.get() > 0 { 1.0 - left } else { left }
        }
    }
}

/// Entropy of the labels in nats.
pub fn entropy(labels: &[(Move, f32)]) -> f32 {
    let terms = labels.iter().map(|&(_, p)| f64::from(p)).filter(|&p| p > 0.0).map(|p| -p * p.ln());
    terms.sum::<f64>().max(0.0) as f32
}

impl fmt::Display for LabelStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, temperature, usual) = match *self {
            LabelStrategy::Deepest { temperature_cp } => ("deepest", temperature_cp, TEMPERATURE_CP),
            LabelStrategy::Sessions { temperature_cp } => ("sessions", temperature_cp, TEMPERATURE_CP),
            LabelStrategy::Best => return f.write_str("best"),
            LabelStrategy::WinChance { temperature } => ("win-chance", temperature, TEMPERATURE_WIN_CHANCE),
        };
        if temperature == usual { f.write_str(name) } else { write!(f, "{name}:{temperature}") }
    }
}

/// Not the name of a [`LabelStrategy`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no way to label: deepest, sessions, best or win-chance, with a temperature like deepest:80"
)]
pub struct UnknownStrategy(pub String);

impl FromStr for LabelStrategy {
    type Err = UnknownStrategy;

    fn from_str(text: &str) -> Result<Self, UnknownStrategy> {
        let unknown = || UnknownStrategy(text.to_owned());
        let (name, temperature) = match text.split_once(':') {
            None => (text, None),
            Some((name, temperature)) => {
                let temperature: f64 = temperature.parse().map_err(|_| unknown())?;
                if !(temperature.is_finite() && temperature > 0.0) {
                    return Err(unknown());
                }
                (name, Some(temperature))
            }
        };
        let temperature_cp = temperature.unwrap_or(TEMPERATURE_CP);
        match name {
            "deepest" => Ok(LabelStrategy::Deepest { temperature_cp }),
            "sessions" => Ok(LabelStrategy::Sessions { temperature_cp }),
            "best" if temperature.is_none() => Ok(LabelStrategy::Best),
            "win-chance" => {
                Ok(LabelStrategy::WinChance { temperature: temperature.unwrap_or(TEMPERATURE_WIN_CHANCE) })
            }
            _ => Err(unknown()),
        }
    }
}

impl TryFrom<String> for LabelStrategy {
    type Error = UnknownStrategy;

    fn try_from(text: String) -> Result<Self, UnknownStrategy> {
        text.parse()
    }
}

impl From<LabelStrategy> for String {
    fn from(strategy: LabelStrategy) -> String {
        strategy.to_string()
    }
}
