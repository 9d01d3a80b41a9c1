//! Candidate moves for display.

use shakmaty::Chess;
use shakmaty::san::SanPlus;
use tabia_encoding::Score;
use tabia_players::Line;

/// One candidate of a player.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) san: String,
    /// Its probability or score; empty if there is neither.
    pub(super) note: String,
    /// The same from 0 to 1: the probability, or the expected score.
    pub(super) share: f64,
}

/// The candidates of a player in `position`, best first.
pub(super) fn candidates(position: &Chess, lines: &[Line]) -> Vec<Candidate> {
    let candidate = |line: &Line| {
        let m = *line.moves.first()?;
        let (note, share) = match (line.probability, line.score) {
            (Some(p), _) => (format!("{:.1}%", 100.0 * p), f64::from(p)),
            (None, Some(score)) => match score.0 {
                Score::Centipawns(cp) => {
                    let pawns = f64::from(cp) / 100.0;
                    (format!("{pawns:+.2}"), 1.0 / (1.0 + 10f64.powf(-pawns / 4.0)))
                }
                Score::Mate(moves) => (format!("mate in {moves}"), if moves.get() > 0 { 1.0 } else { 0.0 }),
            },
            (None, None) => (String::new(), 0.0),
        };
        Some(Candidate { san: SanPlus::from_move(position.clone(), m).to_string(), note, share })
    };
    lines.iter().filter_map(candidate).collect()
}
