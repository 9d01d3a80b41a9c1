use crate::{ForWhite, Score};

/// Rusty Chess's targets for the positions of a game, in pawns, from the evaluation after each move. They end at the first
/// missing evaluation or mate score.
pub fn pawn_labels(
    evaluations: impl IntoIterator<Item = Option<ForWhite<Score>>>,
) -> impl Iterator<Item = ForWhite<f32>> {
    evaluations.into_iter().map_while(|evaluation| match evaluation?.0 {
        Score::Centipawns(cp) => Some(ForWhite(cp as f32 / 100.0)),
        Score::Mate(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroI32;

    use super::*;

    fn cp(cp: i32) -> Option<ForWhite<Score>> {
        Some(ForWhite(Score::Centipawns(cp)))
    }

    #[test]
    fn labels_end_at_the_first_gap_or_mate() {
        let gap: Vec<_> = pawn_labels([cp(30), cp(-125), None, cp(10)]).collect();
        assert_eq!(gap, [ForWhite(0.3), ForWhite(-1.25)]);
        let mate = Some(ForWhite(Score::Mate(NonZeroI32::new(3).unwrap())));
        assert_eq!(pawn_labels([cp(0), mate, cp(10)]).count(), 1);
    }
}
