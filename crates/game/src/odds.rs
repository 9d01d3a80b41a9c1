use std::{fmt, str::FromStr};

use shakmaty::{CastlingMode, Chess, Color, File, FromSetup, PositionError, Rank, Setup, Square};

/// Material that the stronger player gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Odds {
    /// The pawn in front of the king's bishop; the other side moves first.
    PawnAndMove,
    /// The queen's knight.
    Knight,
    /// The queen's rook.
    Rook,
    /// The queen.
    Queen,
}

/// A name that is not of any [`Odds`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown odds {0:?} (expected pawn-and-move, knight, rook or queen)")]
pub struct UnknownOdds(pub String);

impl Odds {
    /// All, the smallest first.
    pub const ALL: [Odds; 4] = [Odds::PawnAndMove, Odds::Knight, Odds::Rook, Odds::Queen];

    /// The name in commands and links.
    pub fn name(self) -> &'static str {
        match self {
            Odds::PawnAndMove => "pawn-and-move",
            Odds::Knight => "knight",
            Odds::Rook => "rook",
            Odds::Queen => "queen",
        }
    }

    /// The initial position without what `giver` gives. White moves first, but in pawn and move the side that does not give.
    pub fn start(self, giver: Color) -> Chess {
        let mut setup = Setup::initial();
        let home = giver.fold_wb(Rank::First, Rank::Eighth);
        let square = match self {
            Odds::PawnAndMove => Square::from_coords(File::F, giver.fold_wb(Rank::Second, Rank::Seventh)),
            Odds::Knight => Square::from_coords(File::B, home),
            Odds::Rook => Square::from_coords(File::A, home),
            Odds::Queen => Square::from_coords(File::D, home),
        };
        setup.board.discard_piece_at(square);
        setup.castling_rights.discard(square);
        if self == Odds::PawnAndMove {
            setup.turn = !giver;
        }
        Chess::from_setup(setup, CastlingMode::Standard)
            .or_else(PositionError::ignore_invalid_castling_rights)
            .unwrap_or_default()
    }
}

impl fmt::Display for Odds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Odds {
    type Err = UnknownOdds;

    fn from_str(text: &str) -> Result<Odds, UnknownOdds> {
        Odds::ALL.into_iter().find(|odds| odds.name() == text).ok_or_else(|| UnknownOdds(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::{CastlingSide, Position as _, Role};

    use super::*;

    #[test]
    fn the_giver_lacks_exactly_the_piece() {
        let counts = |position: &Chess, color, role| {
            position.board().by_color(color).intersect(position.board().by_role(role)).count()
        };
        for (odds, role) in [
            (Odds::PawnAndMove, Role::Pawn),
            (Odds::Knight, Role::Knight),
            (Odds::Rook, Role::Rook),
            (Odds::Queen, Role::Queen),
        ] {
            for giver in Color::ALL {
                let position = odds.start(giver);
                assert_eq!(position.board().occupied().count(), 31, "{odds} {giver}");
                assert_eq!(
                    counts(&position, giver, role) + 1,
                    counts(&position, !giver, role),
                    "{odds} {giver}"
                );
                let first = if odds == Odds::PawnAndMove { !giver } else { Color::White };
                assert_eq!(position.turn(), first, "{odds} {giver}");
            }
        }
    }

    #[test]
    fn a_side_without_its_rook_castles_on_the_other_side_only() {
        let position = Odds::Rook.start(Color::White);
        assert!(!position.castles().has(Color::White, CastlingSide::QueenSide));
        assert!(position.castles().has(Color::White, CastlingSide::KingSide));
        assert!(position.castles().has(Color::Black, CastlingSide::QueenSide));
    }

    #[test]
    fn names_are_read_back() {
        for odds in Odds::ALL {
            assert_eq!(odds.name().parse(), Ok(odds));
        }
        assert_eq!("bishop".parse::<Odds>(), Err(UnknownOdds("bishop".to_owned())));
    }
}
