//! Endgame tables: which root moves to search, and the values of positions in the tree.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use shakmaty::{Chess, Move, Position};
use tabia_game::History;
use tabia_syzygy::{Tables, TablesError, Verdict};

use super::{
    root::RootMove,
    value::{DRAW, table_win_at},
};

/// How an engine uses endgame tables.
#[derive(Clone, Debug, PartialEq)]
pub struct TableUse {
    /// The tables.
    pub tables: Arc<Tables>,
    /// Positions with more pieces are not looked up.
    pub most_pieces: usize,
    /// Whether the fifty-move rule counts.
    pub fifty_moves: bool,
}

impl TableUse {
    /// All of these tables, with the fifty-move rule.
    pub fn all(tables: Arc<Tables>) -> TableUse {
        TableUse { tables, most_pieces: Tables::MOST_PIECES, fifty_moves: true }
    }

    fn may_have(&self, position: &Chess) -> bool {
        position.board().occupied().count() <= self.most_pieces && self.tables.may_have(position)
    }
}

/// The tables of an engine.
#[derive(Clone, Default)]
pub(super) struct Tablebase(Option<TableUse>);

/// The tables during a search.
pub(super) struct TreeProbe {
    tables: Option<TableUse>,
    /// Whether positions of the tree are looked up.
    in_tree: bool,
    hits: AtomicU64,
}

impl Tablebase {
    pub(super) fn of(tables: Option<TableUse>) -> Tablebase {
        Tablebase(tables)
    }

    /// Keeps the best of the root moves by the tables, all of them where several lines are wanted, and notes what they lead to.
    pub(super) fn rank_root(&self, game: &History, moves: &mut Vec<RootMove>, lines: usize) -> TreeProbe {
        let mut probe =
            TreeProbe { tables: self.0.clone(), in_tree: self.0.is_some(), hits: AtomicU64::new(0) };
        let position = game.current();
        let Some(tables) = self.0.as_ref().filter(|tables| tables.may_have(position)) else { return probe };
        let legal: Vec<Move> = moves.iter().map(|candidate| candidate.m).collect();
        let ranks = tables.tables.rank(position, &legal, tables.fifty_moves, has_repeated(game));
        let Some(ranks) = ranks else { return probe };
        probe.hits = AtomicU64::new(moves.len() as u64);
        let Some(best) = ranks.moves.iter().map(|ranked| ranked.rank).max() else { return probe };
        let mut rank_of = ranks.moves.iter();
        moves.retain_mut(|candidate| {
            let Some(ranked) = rank_of.next() else { return false };
            candidate.table = Some(match ranked.verdict {
                Verdict::Win => table_win_at(1),
                Verdict::Draw => DRAW,
                Verdict::Loss => -table_win_at(1),
            });
            lines > 1 || ranked.rank == best
        });
        // Every move left keeps the result, so the search looks for the mate; without distances it is led by the tables.
        let wins = ranks.moves.iter().any(|ranked| ranked.rank == best && ranked.verdict == Verdict::Win);
        probe.in_tree = !ranks.by_distance && wins;
        probe
    }

    /// The first table that could not be read.
    pub(super) fn failure(&self) -> Option<TablesError> {
        self.0.as_ref().and_then(|tables| tables.tables.take_failure())
    }
}

impl TreeProbe {
    /// Looks nothing up.
    #[cfg(test)]
    pub(super) fn none() -> TreeProbe {
        TreeProbe { tables: None, in_tree: false, hits: AtomicU64::default() }
    }

    /// The value of a position after a capture or pawn move.
    #[inline]
    pub(super) fn value(&self, position: &Chess, ply: usize) -> Option<i32> {
        let tables = self.tables.as_ref().filter(|_| self.in_tree)?;
        if position.halfmoves() > 0 || !tables.may_have(position) {
            return None;
        }
        let verdict = tables.tables.verdict(position, tables.fifty_moves)?;
        // A mate on the board is worth more than a table's win.
        if verdict == Verdict::Loss && position.is_checkmate() {
            return None;
        }
        self.hits.fetch_add(1, Relaxed);
        Some(match verdict {
            Verdict::Win => table_win_at(ply),
            Verdict::Draw => DRAW,
            Verdict::Loss => -table_win_at(ply),
        })
    }

    /// How many positions were found.
    pub(super) fn hits(&self) -> Option<u64> {
        self.tables.as_ref().map(|_| self.hits.load(Relaxed))
    }
}

/// Whether a position of the game occurred twice since the last capture or pawn move.
fn has_repeated(game: &History) -> bool {
    let situation = game.situation();
    let reversible = (situation.position.halfmoves() as usize).min(situation.earlier.len());
    let recent: Vec<&Chess> =
        std::iter::once(situation.position).chain(situation.earlier.iter().take(reversible)).collect();
    recent.iter().enumerate().any(|(at, position)| recent.iter().skip(at + 1).any(|other| other == position))
}
