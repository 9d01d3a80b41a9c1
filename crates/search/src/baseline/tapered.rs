use std::ops::{Add, AddAssign, Mul, Sub};

/// The [`phase`](super::material::phase) of a full middlegame.
pub(super) const FULL_MIDDLEGAME: i32 = 24;

/// A tapered score in centipawns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tapered {
    /// In the middlegame.
    pub(super) middlegame: i32,
    /// In the endgame.
    pub(super) endgame: i32,
}

impl Tapered {
    /// The middlegame and the endgame value.
    pub(super) const fn new(middlegame: i32, endgame: i32) -> Tapered {
        Tapered { middlegame, endgame }
    }

    /// The value at a phase from 0 to [`FULL_MIDDLEGAME`]; rounded towards zero, for symmetry.
    pub(super) fn blend(self, phase: i32) -> i32 {
        (self.middlegame * phase + self.endgame * (FULL_MIDDLEGAME - phase)) / FULL_MIDDLEGAME
    }
}

impl Add for Tapered {
    type Output = Tapered;

    fn add(self, other: Tapered) -> Tapered {
        Tapered::new(self.middlegame + other.middlegame, self.endgame + other.endgame)
    }
}

impl AddAssign for Tapered {
    fn add_assign(&mut self, other: Tapered) {
        *self = *self + other;
    }
}

impl Sub for Tapered {
    type Output = Tapered;

    fn sub(self, other: Tapered) -> Tapered {
        Tapered::new(self.middlegame - other.middlegame, self.endgame - other.endgame)
    }
}

impl Mul<i32> for Tapered {
    type Output = Tapered;

    fn mul(self, times: i32) -> Tapered {
        Tapered::new(self.middlegame * times, self.endgame * times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_phase_moves_from_one_value_to_the_other() {
        let score = Tapered::new(48, -24);
        assert_eq!([0, 12, 24].map(|phase| score.blend(phase)), [-24, 12, 48]);
        let odd = Tapered::new(5, 2);
        for phase in 0..=FULL_MIDDLEGAME {
            assert_eq!((Tapered::default() - odd).blend(phase), -odd.blend(phase));
        }
    }
}
