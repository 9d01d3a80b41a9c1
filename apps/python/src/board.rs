//! Boards as pictures.

use std::collections::BTreeMap;

use pyo3::prelude::*;
use shakmaty::{Chess, Position as _, Square, uci::UciMove};
use tabia_report::{Arrow, BoardPicture};

use crate::error::invalid;
use crate::positions::{parse_move, single};

/// The squares of a move in UCI notation.
pub(crate) fn squares(uci: &str) -> Option<(Square, Square)> {
    match uci.parse().ok()? {
        UciMove::Normal { from, to, .. } => Some((from, to)),
        UciMove::Put { .. } | UciMove::Null => None,
    }
}

/// A position as SVG. Arrows have a strength from 0 to 1.
pub(crate) fn draw(
    position: &Chess,
    flipped: bool,
    last: Option<(Square, Square)>,
    arrows: Vec<((Square, Square), f32)>,
) -> String {
    let number = |square: Square| square as u8;
    let mut picture = BoardPicture { flipped, ..BoardPicture::default() };
    for square in position.board().occupied() {
        picture.pieces[usize::from(square)] = position.board().piece_at(square).map(shakmaty::Piece::char);
    }
    picture.last = last.map(|(from, to)| (number(from), number(to)));
    picture.check =
        position.is_check().then(|| position.board().king_of(position.turn()).map(number)).flatten();
    let arrow = |((from, to), strength)| Arrow { from: number(from), to: number(to), strength };
    picture.arrows = arrows.into_iter().map(arrow).collect();
    picture.svg(&tabia_game::fen_of(position))
}

/// A position as a picture.
#[pyclass(frozen, module = "tabia")]
pub(crate) struct Board {
    #[pyo3(get)]
    svg: String,
    #[pyo3(get)]
    fen: String,
}

#[pymethods]
impl Board {
    fn _repr_svg_(&self) -> &str {
        &self.svg
    }

    fn __repr__(&self) -> String {
        format!("<tabia.Board {}>", self.fen)
    }
}

/// A position as a picture, seen by White unless `flipped`, with its last move, and arrows by move and strength from 0 to 1.
///
/// >>> import tabia
/// >>> tabia.board("1. e4 e5", arrows={"g1f3": 1.0}).svg.startswith("<svg")
/// True
#[pyfunction]
#[pyo3(signature = (position, *, flipped = false, arrows = None))]
pub(crate) fn board(
    position: &Bound<'_, PyAny>,
    flipped: bool,
    arrows: Option<BTreeMap<String, f32>>,
) -> PyResult<Board> {
    let history = single(position)?;
    let current = history.current();
    let mut drawn = Vec::new();
    for (text, strength) in arrows.unwrap_or_default() {
        let played = parse_move(current, &text)?;
        let from = played.from().ok_or_else(|| invalid(format!("{text:?} starts nowhere")))?;
        drawn.push(((from, played.to()), strength));
    }
    let last = history.situation().last_moves.first().and_then(|played| Some((played.from()?, played.to())));
    Ok(Board { svg: draw(current, flipped, last, drawn), fen: tabia_game::fen_of(current) })
}
