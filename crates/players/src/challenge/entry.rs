//! The player of a network in the Chess Challenge: one ply and quiescence, as its harness searches.

use std::sync::Arc;

use shakmaty::{Chess, Move, Position};
use tabia_encoding::ForMover;
use tabia_game::History;
use tabia_model::Model;
use tabia_search::{
    Choice, Evaluator, Limits, Line, NoEvaluation, SearchControl, SearchError, exact_evaluator_for,
};

use super::{
    ChallengeRules,
    board::{Ending, ending, generated},
    search::quiescence_moves,
};
use crate::{Decision, Player, PlayerError, move_order::best_first, one_ply::report};

/// A network that plays in the Chess Challenge. Of equally good moves it plays the first that is generated. It knows
/// neither repetitions nor dead positions.
///
/// Of the limits only [`Limits::search_moves`] and [`Limits::lines`] count.
pub struct ChallengeEntry {
    name: String,
    rules: ChallengeRules,
    evaluator: Box<dyn Evaluator>,
}

impl ChallengeEntry {
    /// A player called `name` over the network `model`.
    ///
    /// # Errors
    /// If the network has no head that says who is better.
    pub fn new(
        name: String,
        model: &Arc<Model>,
        rules: ChallengeRules,
    ) -> Result<ChallengeEntry, NoEvaluation> {
        Ok(ChallengeEntry { name, rules, evaluator: exact_evaluator_for(model)? })
    }

    /// The moves the player may choose from, as generated, with the positions after them.
    fn children(&self, game: &History, limits: &Limits) -> Result<Vec<(Move, Chess)>, SearchError> {
        let legal = generated(game.current());
        if legal.is_empty() {
            return Err(SearchError::GameOver);
        }
        let wanted = |m: &Move| limits.search_moves.is_empty() || limits.search_moves.contains(m);
        let children: Vec<_> =
            legal.into_iter().filter(wanted).map(|m| (m, after(game.current(), m))).collect();
        if children.is_empty() { Err(SearchError::NoSuchMove) } else { Ok(children) }
    }
}

impl Player for ChallengeEntry {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        _: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        let children = self.children(game, limits)?;
        self.evaluator.set_root(game);
        self.evaluator.prefetch(&children);
        let mut search = Quiescence { rules: self.rules, evaluator: &mut *self.evaluator, nodes: 0 };
        let mut scored: Vec<(Move, f32)> = Vec::with_capacity(children.len());
        let mut best = f32::NEG_INFINITY;
        for (mv, child) in &children {
            // Only the best move's score must be exact, unless others are asked for.
            let alpha = if limits.lines > 1 { f32::NEG_INFINITY } else { best };
            search.evaluator.push(*mv, child);
            let score = -search.node(child, f32::NEG_INFINITY, -alpha);
            search.evaluator.pop();
            best = best.max(score);
            scored.push((*mv, score));
        }
        let nodes = search.nodes;
        if let Some(failure) = self.evaluator.failure() {
            return Err(failure.into());
        }
        best_first(&mut scored);
        let line = |(place, &(mv, score)): (usize, &(Move, f32))| Line {
            rank: place + 1,
            depth: 1,
            seldepth: 1,
            score: Some(ForMover(report(score))),
            nodes,
            moves: vec![mv],
            ..Line::default()
        };
        let lines = scored.iter().take(limits.lines.max(1)).enumerate().map(line).collect();
        Ok(Decision::by_score(game, Choice { mv: scored[0].0, ponder: None, lines, nodes }))
    }
}

fn after(position: &Chess, m: Move) -> Chess {
    let mut after = position.clone();
    after.play_unchecked(m);
    after
}

struct Quiescence<'a> {
    rules: ChallengeRules,
    evaluator: &'a mut dyn Evaluator,
    nodes: u64,
}

impl Quiescence<'_> {
    fn node(&mut self, position: &Chess, mut alpha: f32, beta: f32) -> f32 {
        let legal = position.legal_moves();
        match ending(position, &legal) {
            // A mate outweighs any evaluation.
            Some(Ending::Mated) => return f32::NEG_INFINITY,
            Some(Ending::Drawn) => return 0.0,
            None => {}
        }
        self.nodes += 1;
        let evades = self.rules.evades_checks() && position.is_check();
        if !evades {
            let standing = self.evaluator.evaluate_f32(position).0;
            if standing >= beta {
                return beta;
            }
            alpha = alpha.max(standing);
        }
        let moves = if evades { legal } else { quiescence_moves(self.rules, position, legal) };
        for m in moves {
            let child = after(position, m);
            self.evaluator.push(m, &child);
            let score = -self.node(&child, -beta, -alpha);
            self.evaluator.pop();
            if score >= beta {
                return beta;
            }
            alpha = alpha.max(score);
        }
        alpha
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::ByColor;
    use tabia_encoding::{Score, parse_uci};
    use tabia_game::position_from_fen;
    use tabia_search::NoControl;

    use super::*;
    use crate::one_ply::NEXT_MOVE;
    use crate::test_networks;

    fn game(fen: &str) -> History {
        History::new(position_from_fen(fen).unwrap(), ByColor::default())
    }

    fn entry(rules: ChallengeRules) -> ChallengeEntry {
        ChallengeEntry::new("net".to_owned(), &test_networks::challenge(), rules).unwrap()
    }

    #[test]
    fn all_moves_or_the_best_alone_give_the_same_move() {
        let fens = include_str!("../../../../fixtures/positions.fen");
        let fens = fens.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        for (number, fen) in fens.step_by(23).enumerate() {
            let game = game(fen);
            let mut entry = entry(ChallengeRules::ALL[number % 2]);
            let best = entry.choose(&game, &Limits::default(), &NoControl).unwrap();
            let all = entry.choose(&game, &Limits { lines: 300, ..Limits::default() }, &NoControl).unwrap();
            assert_eq!((best.mv, best.lines[0].score), (all.mv, all.lines[0].score), "{fen}");
            assert_eq!(all.lines.len(), game.current().legal_moves().len());
        }
    }

    #[test]
    fn mate_outweighs_any_evaluation() {
        for rules in ChallengeRules::ALL {
            let game = game("k2r4/8/8/8/8/8/5PPP/6K1 b - - 0 1");
            let choice = entry(rules).choose(&game, &Limits::default(), &NoControl).unwrap();
            assert_eq!(choice.mv, parse_uci(game.current(), "d8d1").unwrap());
            assert_eq!(choice.lines[0].score, Some(ForMover(Score::Mate(NEXT_MOVE))));
        }
    }

    #[test]
    fn repetitions_are_not_seen() {
        let mut game = History::new(Chess::default(), ByColor::default());
        let mut entry = entry(ChallengeRules::Original);
        let all = Limits { lines: 300, ..Limits::default() };
        let of = |entry: &mut ChallengeEntry, game: &History| {
            let choice = entry.choose(game, &all, &NoControl).unwrap();
            let line = choice.lines.into_iter().find(|line| line.moves[0].to() == shakmaty::Square::F3);
            line.unwrap().score
        };
        let before = of(&mut entry, &game);
        for m in ["g1f3", "g8f6", "f3g1", "f6g8", "g1f3", "g8f6", "f3g1", "f6g8"] {
            let m = parse_uci(game.current(), m).unwrap();
            game.push(m, None);
        }
        assert_eq!(of(&mut entry, &game), before);
    }
}
