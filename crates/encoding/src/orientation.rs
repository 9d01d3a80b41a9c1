use shakmaty::{Color, Square};

/// How the board is transformed when Black is to move. White's view is always the plain board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Orientation {
    /// Not at all.
    Absolute,
    /// Ranks flipped for Black (a1 <-> a8), files kept: own pawns always move up.
    Mirrored,
    /// The board turned by 180 degrees for Black (a1 <-> h8): own pawns move up and files are reversed.
    Rotated,
}

impl Orientation {
    /// `square` as seen from `viewer`'s side. An involution.
    pub fn square(self, viewer: Color, square: Square) -> Square {
        match (self, viewer) {
            (Orientation::Absolute, _) | (_, Color::White) => square,
            (Orientation::Mirrored, Color::Black) => square.flip_vertical(),
            (Orientation::Rotated, Color::Black) => square.rotate_180(),
        }
    }
}
