//! Moves as indices of policy heads.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use shakmaty::{CastlingMode, Color, Move, Position as _, Rank, Role, Square, attacks, uci::UciMove};
use tabia_encoding::{MoveVocabulary, PolicyIndex, PolicySlot, vocabulary};

use crate::arrays::owned;
use crate::error::invalid;
use crate::positions::{Given, parse_move, single};

/// A vocabulary by its name.
pub(crate) fn named(name: &str) -> PyResult<&'static dyn MoveVocabulary> {
    vocabulary(name).ok_or_else(|| {
        let known = vocabularies().join(", ");
        invalid(format!("unknown vocabulary {name:?} (expected {known})"))
    })
}

/// The pieces of a promotion head, in its order.
const PROMOTIONS: [Role; 4] = [Role::Queen, Role::Rook, Role::Bishop, Role::Knight];

/// Moves as indices of a policy head, see `tabia.moves`.
#[pyclass(frozen, module = "tabia")]
pub(crate) struct Vocabulary {
    moves: &'static dyn MoveVocabulary,
}

#[pymethods]
impl Vocabulary {
    #[getter]
    fn name(&self) -> &'static str {
        self.moves.id().0
    }

    #[getter]
    fn size(&self) -> usize {
        self.moves.width()
    }

    #[getter]
    fn promotion_size(&self) -> usize {
        self.moves.promotion_width()
    }

    fn __len__(&self) -> usize {
        self.moves.width()
    }

    /// From, to and promotion of each index, numbered as in python-chess: 0 for no promotion, -1 for an index that no move has.
    /// Where the board is turned for Black, moves are White's.
    #[getter]
    fn table<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let rows = table(self.moves);
        let numbers = rows.iter().flat_map(|row| match row {
            Some((from, to, promotion)) => {
                [i8::from(*from), i8::from(*to), promotion.map_or(0, |role| role as i8)]
            }
            None => [-1, -1, 0],
        });
        Ok(owned(py, numbers.collect(), &[rows.len(), 3])?.into_any())
    }

    /// The moves in UCI notation; an index that no move has is None. Where the board is turned for Black, moves are White's.
    #[getter]
    fn uci(&self) -> Vec<Option<String>> {
        let text = |(from, to, promotion)| UciMove::Normal { from, to, promotion }.to_string();
        table(self.moves).into_iter().map(|row| row.map(text)).collect()
    }

    /// The index of a move.
    fn index(&self, position: &Bound<'_, PyAny>, played: &str) -> PyResult<usize> {
        let history = single(position)?;
        let turn = history.current().turn();
        let played = parse_move(history.current(), played)?;
        Ok(usize::from(self.moves.slot(turn, played).index.0))
    }

    /// The legal move at an index.
    #[pyo3(signature = (position, index, promotion = None))]
    fn find(
        &self,
        position: &Bound<'_, PyAny>,
        index: i64,
        promotion: Option<u8>,
    ) -> PyResult<Option<String>> {
        let history = single(position)?;
        let at = u16::try_from(index).ok().filter(|at| usize::from(*at) < self.moves.width());
        let at = at.ok_or_else(|| {
            PyIndexError::new_err(format!("index {index} of {} moves in {}", self.moves.width(), self.name()))
        })?;
        let position = history.current();
        let queen = (self.moves.promotion_width() > 0).then_some(0);
        // Where promotions share an index, a move that does not promote has none.
        let slots =
            [None, promotion.or(queen)].map(|promotion| PolicySlot { index: PolicyIndex(at), promotion });
        let found = slots.into_iter().find_map(|slot| self.moves.find(position, slot));
        Ok(found.map(|played| played.to_uci(CastlingMode::Standard).to_string()))
    }

    /// Which indices are legal, a row for each position.
    fn legal<'py>(&self, py: Python<'py>, positions: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let given = Given::of(positions)?;
        let (histories, width) = (given.as_slice(), self.moves.width());
        let moves = self.moves;
        let mask = py.detach(|| {
            let mut mask = vec![false; histories.len() * width];
            for (history, row) in histories.iter().zip(mask.chunks_exact_mut(width)) {
                let position = history.current();
                for m in position.legal_moves() {
                    row[usize::from(moves.slot(position.turn(), m).index.0)] = true;
                }
            }
            mask
        });
        Ok(owned(py, mask, &[histories.len(), width])?.into_any())
    }

    fn __repr__(&self) -> String {
        format!("<tabia.Vocabulary {}, {} moves>", self.name(), self.size())
    }
}

type TableRow = (Square, Square, Option<Role>);

/// The move at each index; White's where the board is turned for Black.
fn table(vocabulary: &dyn MoveVocabulary) -> Vec<Option<TableRow>> {
    let mut rows = vec![None; vocabulary.width()];
    let mut add = |turn: Color, m: Move, row: TableRow| {
        let slot = vocabulary.slot(turn, m);
        if let Some(place) = rows.get_mut(usize::from(slot.index.0)) {
            place.get_or_insert(row);
        }
    };
    for from in Square::ALL {
        for (role, targets) in [
            (Role::Queen, attacks::queen_attacks(from, shakmaty::Bitboard::EMPTY)),
            (Role::Knight, attacks::knight_attacks(from)),
        ] {
            for to in targets {
                let m = Move::Normal { role, from, capture: None, to, promotion: None };
                add(Color::White, m, (from, to, None));
            }
        }
    }
    // Where the board is turned for Black, these are White's again.
    for turn in [Color::White, Color::Black] {
        let seventh = turn.fold_wb(Rank::Seventh, Rank::Second);
        for from in Square::ALL.into_iter().filter(|square| square.rank() == seventh) {
            let ahead = from.offset(turn.fold_wb(8, -8)).map(|to| (to, None));
            let beside = attacks::pawn_attacks(turn, from).into_iter().map(|to| (to, Some(Role::Rook)));
            for (to, capture) in ahead.into_iter().chain(beside) {
                for role in PROMOTIONS {
                    // Without a promotion head a piece has an index of its own.
                    let shown = (vocabulary.promotion_width() == 0).then_some(role);
                    let m = Move::Normal { role: Role::Pawn, from, capture, to, promotion: Some(role) };
                    add(turn, m, (from, to, shown));
                }
            }
        }
    }
    rows
}

/// A vocabulary of moves: the indices of a policy head.
///
/// >>> import tabia
/// >>> vocabulary = tabia.moves("canonical-1968")
/// >>> vocabulary.index("e2e4", "e7e5"), vocabulary.table.shape
/// (1630, (1968, 3))
#[pyfunction]
pub(crate) fn moves(name: &str) -> PyResult<Vocabulary> {
    Ok(Vocabulary { moves: named(name)? })
}

/// The names of all vocabularies.
///
/// >>> import tabia
/// >>> "lc0-1858" in tabia.vocabularies()
/// True
#[pyfunction]
pub(crate) fn vocabularies() -> Vec<&'static str> {
    tabia_encoding::vocabularies().map(|vocabulary| vocabulary.id().0).collect()
}
