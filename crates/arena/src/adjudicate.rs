use shakmaty::{ByColor, Color};
use tabia_encoding::{ForMover, Score};
use tabia_game::{DrawReason, Outcome, WinReason};

use crate::rules::{Adjudication, LevelDraw, Opinion, Resign};

/// Counts what the players say and ends the game when the rules are met.
#[derive(Debug)]
pub(crate) struct Adjudicator {
    rules: Adjudication,
    /// Moves in a row on which a player thought it was losing.
    losing: ByColor<u32>,
    /// Moves in a row on which a player thought it was winning.
    winning: ByColor<u32>,
    /// Plies in a row on which the mover thought the game level.
    level: u32,
}

/// A move as far as adjudication goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    pub(crate) mover: Color,
    /// The mover's opinion.
    pub(crate) score: Option<ForMover<Score>>,
    /// The number of the move.
    pub(crate) number: u32,
    /// Whether it was a capture or a pawn move.
    pub(crate) irreversible: bool,
}

impl Adjudicator {
    pub(crate) fn new(rules: Adjudication) -> Adjudicator {
        Adjudicator { rules, losing: ByColor::default(), winning: ByColor::default(), level: 0 }
    }

    /// A move was made; how the game ends by it, if it does.
    pub(crate) fn judge(&mut self, judged: Judged) -> Option<Outcome> {
        let centipawns = judged.score.map(|ForMover(score)| match score {
            Score::Centipawns(cp) => cp,
            Score::Mate(moves) if moves.get() > 0 => i32::MAX,
            Score::Mate(_) => -i32::MAX,
        });
        let mover = judged.mover;
        if let Some(Resign { moves, score, opinion }) = self.rules.resign {
            count(&mut self.losing[mover], centipawns.is_some_and(|cp| cp <= -score));
            count(&mut self.winning[mover], centipawns.is_some_and(|cp| cp >= score));
            for loser in [mover, !mover] {
                let agreed = opinion == Opinion::Loser || self.winning[!loser] >= moves;
                if self.losing[loser] >= moves && agreed {
                    return Some(Outcome::Win { winner: !loser, by: WinReason::Adjudication });
                }
            }
        }
        if let Some(LevelDraw { from_move, moves, score }) = self.rules.draw {
            if judged.irreversible {
                self.level = 0;
            }
            count(&mut self.level, centipawns.is_some_and(|cp| cp.abs() <= score));
            if judged.number >= from_move && self.level >= 2 * moves {
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

    /// Feeds scores of White and Black in turn and gives the ply that ended the game.
    fn ends(rules: Adjudication, scores: &[Option<Score>]) -> Option<(usize, Outcome)> {
        let mut adjudicator = Adjudicator::new(rules);
        scores.iter().enumerate().find_map(|(ply, score)| {
            let mover = if ply % 2 == 0 { Color::White } else { Color::Black };
            let number = ply as u32 / 2 + 1;
            let judged = Judged { mover, score: score.map(ForMover), number, irreversible: false };
            adjudicator.judge(judged).map(|outcome| (ply, outcome))
        })
    }

    fn cp(score: i32) -> Option<Score> {
        Some(Score::Centipawns(score))
    }

    #[test]
    fn a_player_resigns_after_enough_bad_moves_in_a_row() {
        let resign =
            |opinion| Adjudication { resign: Some(Resign { moves: 2, score: 500, opinion }), draw: None };
        let black_wins = Outcome::Win { winner: Color::Black, by: WinReason::Adjudication };
        let interrupted = [cp(-500), cp(0), cp(-499), cp(0), cp(-900), cp(0), cp(-900)];
        assert_eq!(ends(resign(Opinion::Loser), &interrupted), Some((6, black_wins)));
        assert_eq!(ends(resign(Opinion::Both), &interrupted), None);
        let mated = Some(Score::Mate(NonZeroI32::new(-3).unwrap()));
        let agreed = [mated, cp(0), mated, cp(600), mated, cp(600)];
        assert_eq!(ends(resign(Opinion::Both), &agreed), Some((5, black_wins)));
        assert_eq!(ends(Adjudication::default(), &[mated; 50]), None, "off by default");
        let silent = [mated, cp(0), None, cp(0), mated, cp(0)];
        assert_eq!(ends(resign(Opinion::Loser), &silent), None);
    }

    #[test]
    fn a_level_game_is_drawn_when_both_agree_long_enough() {
        let rules =
            Adjudication { resign: None, draw: Some(LevelDraw { from_move: 4, moves: 2, score: 10 }) };
        let drawn = Outcome::Draw(DrawReason::Adjudication);
        assert_eq!(ends(rules, &[cp(0); 20]), Some((6, drawn)), "the fourth move");
        let late = [cp(0), cp(0), cp(0), cp(0), cp(11), cp(0), cp(0), cp(-10), cp(10)];
        assert_eq!(ends(rules, &late), Some((8, drawn)));
    }
}
