use shakmaty::{ByColor, Color};
use tabia_encoding::{ForMover, Score};
use tabia_game::{DrawReason, Outcome, WinReason};

use crate::rules::{Adjudication, Agreement, DrawAdjudication, ResignAdjudication};

/// Adjudicates a game by the players' scores.
#[derive(Debug)]
pub(crate) struct Adjudicator {
    rules: Adjudication,
    /// Consecutive moves with a losing score.
    losing: ByColor<u32>,
    /// Consecutive moves with a winning score.
    winning: ByColor<u32>,
    /// Consecutive plies with a drawish score.
    drawish: u32,
}

/// A move with its score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScoredMove {
    pub(crate) mover: Color,
    pub(crate) score: Option<ForMover<Score>>,
    /// Full move number.
    pub(crate) number: u32,
    /// Capture or pawn move.
    pub(crate) zeroing: bool,
}

impl Adjudicator {
    pub(crate) fn new(rules: Adjudication) -> Adjudicator {
        Adjudicator { rules, losing: ByColor::default(), winning: ByColor::default(), drawish: 0 }
    }

    /// Adds a move; returns the outcome if it ends the game.
    pub(crate) fn add(&mut self, scored: ScoredMove) -> Option<Outcome> {
        let centipawns = scored.score.map(|ForMover(score)| match score {
            Score::Centipawns(cp) => cp,
            Score::Mate(moves) if moves.get() > 0 => i32::MAX,
            Score::Mate(_) => -i32::MAX,
        });
        let mover = scored.mover;
        if let Some(ResignAdjudication { move_count, score, agreement }) = self.rules.resign {
            count(&mut self.losing[mover], centipawns.is_some_and(|cp| cp <= -score));
            count(&mut self.winning[mover], centipawns.is_some_and(|cp| cp >= score));
            for loser in [mover, !mover] {
                let agreed = agreement == Agreement::OneSided || self.winning[!loser] >= move_count;
                if self.losing[loser] >= move_count && agreed {
                    return Some(Outcome::Win { winner: !loser, by: WinReason::Adjudication });
                }
            }
        }
        if let Some(DrawAdjudication { move_number, move_count, score }) = self.rules.draw {
            if scored.zeroing {
                self.drawish = 0;
            }
            count(&mut self.drawish, centipawns.is_some_and(|cp| cp.abs() <= score));
            if scored.number >= move_number && self.drawish >= 2 * move_count {
                return Some(Outcome::Draw(DrawReason::Adjudication));
            }
        }
        None
    }
}

fn count(row: &mut u32, holds: bool) {
    *row = if holds { *row + 1 } else { 0 };
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroI32;

    use super::*;

    /// Adds scores of White and Black in turn; returns the ply that ended the game.
    fn ends(rules: Adjudication, scores: &[Option<Score>]) -> Option<(usize, Outcome)> {
        let mut adjudicator = Adjudicator::new(rules);
        scores.iter().enumerate().find_map(|(ply, score)| {
            let mover = if ply % 2 == 0 { Color::White } else { Color::Black };
            let number = ply as u32 / 2 + 1;
            let scored = ScoredMove { mover, score: score.map(ForMover), number, zeroing: false };
            adjudicator.add(scored).map(|outcome| (ply, outcome))
        })
    }

    fn cp(score: i32) -> Option<Score> {
        Some(Score::Centipawns(score))
    }

    #[test]
    fn resignation_after_consecutive_losing_scores() {
        let resign = |agreement| Adjudication {
            resign: Some(ResignAdjudication { move_count: 2, score: 500, agreement }),
            draw: None,
        };
        let black_wins = Outcome::Win { winner: Color::Black, by: WinReason::Adjudication };
        let interrupted = [cp(-500), cp(0), cp(-499), cp(0), cp(-900), cp(0), cp(-900)];
        assert_eq!(ends(resign(Agreement::OneSided), &interrupted), Some((6, black_wins)));
        assert_eq!(ends(resign(Agreement::TwoSided), &interrupted), None);
        let mated = Some(Score::Mate(NonZeroI32::new(-3).unwrap()));
        let agreed = [mated, cp(0), mated, cp(600), mated, cp(600)];
        assert_eq!(ends(resign(Agreement::TwoSided), &agreed), Some((5, black_wins)));
        assert_eq!(ends(Adjudication::default(), &[mated; 50]), None, "off by default");
        let silent = [mated, cp(0), None, cp(0), mated, cp(0)];
        assert_eq!(ends(resign(Agreement::OneSided), &silent), None);
    }

    #[test]
    fn draw_after_consecutive_drawish_scores() {
        let draw = DrawAdjudication { move_number: 4, move_count: 2, score: 10 };
        let rules = Adjudication { resign: None, draw: Some(draw) };
        let drawn = Outcome::Draw(DrawReason::Adjudication);
        assert_eq!(ends(rules, &[cp(0); 20]), Some((6, drawn)), "the fourth move");
        let late = [cp(0), cp(0), cp(0), cp(0), cp(11), cp(0), cp(0), cp(-10), cp(10)];
        assert_eq!(ends(rules, &late), Some((8, drawn)));
    }
}
