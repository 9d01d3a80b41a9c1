//! Plain alpha-beta to a fixed depth, then quiescence: the lower levels of the Chess Challenge.

use shakmaty::{Chess, Move, Position};
use tabia_game::{History, Repetitions};
use tabia_search::baseline;

use crate::{
    ending::{MATE, ending, ending_of_board, repetitions},
    move_order,
};

/// The first of the best moves, its score for the side to move, and the nodes searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) mv: Move,
    pub(crate) score: i32,
    pub(crate) nodes: u64,
}

/// The first of the best `candidates` at this depth; `None` without candidates.
pub(crate) fn search(game: &History, candidates: &[Move], depth: u32) -> Option<Found> {
    let mut search = Classic { repetitions: repetitions(game), nodes: 0 };
    let mut best: Option<(Move, i32)> = None;
    for &mv in candidates {
        let alpha = best.map_or(-MATE, |(_, score)| score);
        let score = search.child(game.current(), mv, depth, 0, alpha, MATE);
        if best.is_none_or(|(_, most)| score > most) {
            best = Some((mv, score));
        }
    }
    best.map(|(mv, score)| Found { mv, score, nodes: search.nodes })
}

struct Classic {
    /// The game and the current line.
    repetitions: Repetitions,
    nodes: u64,
}

impl Classic {
    /// The score of a move, for the side that makes it; exact between `alpha` and `beta`, otherwise a bound.
    fn child(&mut self, position: &Chess, m: Move, depth: u32, ply: i32, alpha: i32, beta: i32) -> i32 {
        let mut after = position.clone();
        after.play_unchecked(m);
        self.repetitions.push(&after);
        let score = -self.node(&after, depth - 1, ply + 1, -beta, -alpha);
        self.repetitions.pop();
        score
    }

    fn node(&mut self, position: &Chess, depth: u32, ply: i32, mut alpha: i32, beta: i32) -> i32 {
        self.nodes += 1;
        let legal = move_order::legal_moves(position);
        if let Some(end) = ending(position, &legal, &self.repetitions) {
            return end.score(ply);
        }
        if depth == 0 {
            return self.quiescence(position, &legal, ply, alpha, beta);
        }
        let mut best = -MATE;
        for &m in &legal {
            best = best.max(self.child(position, m, depth, ply, alpha, beta));
            alpha = alpha.max(best);
            if alpha >= beta {
                break;
            }
        }
        best
    }

    /// A node after a capture or promotion, beyond the depth.
    fn quiesce(&mut self, position: &Chess, ply: i32, alpha: i32, beta: i32) -> i32 {
        self.nodes += 1;
        let legal = move_order::legal_moves(position);
        match ending_of_board(position, &legal) {
            Some(end) => end.score(ply),
            None => self.quiescence(position, &legal, ply, alpha, beta),
        }
    }

    /// Quiescence search of captures and promotions, with stand pat.
    fn quiescence(&mut self, position: &Chess, legal: &[Move], ply: i32, mut alpha: i32, beta: i32) -> i32 {
        let mut best = baseline::evaluate(position).0;
        alpha = alpha.max(best);
        for &m in legal.iter().filter(|&&m| move_order::is_tactical(m)) {
            if alpha >= beta {
                break;
            }
            let mut after = position.clone();
            after.play_unchecked(m);
            best = best.max(-self.quiesce(&after, ply + 1, -beta, -alpha));
            alpha = alpha.max(best);
        }
        best
    }
}
