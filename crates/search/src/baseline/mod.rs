//! The Chess Challenge's hand-written evaluation, the one its levels play by.
//!
//! Every term scores a middlegame and an endgame value for one colour; the difference between the colours is
//! blended by how many pieces are left. There is one file for each group of terms. Everything is a whole number and
//! the same for both colours.

mod material;
mod tapered;

use shakmaty::{Chess, Color, Position};
use tabia_encoding::{ForMover, ForWhite};

pub use tapered::Tapered;

/// Who is better, in centipawns.
pub fn evaluate(position: &Chess) -> ForMover<i32> {
    let board = position.board();
    let side = |color: Color| material::material(board, color);
    let score = side(Color::White) - side(Color::Black);
    ForWhite(score.blend(material::phase(board))).for_mover(position.turn())
}
