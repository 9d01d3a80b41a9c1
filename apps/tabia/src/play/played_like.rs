//! "You played like N", after a game.

use anyhow::Result;
use shakmaty::Color;
use tabia_game::Game;
use tabia_model::Model;
use tabia_practice::{MIN_MOVES, RatingEvidence, RatingModel};

use super::live_game::Sides;

/// How strongly both sides played, in words; `None` if it was stopped.
///
/// # Errors
/// If the network fails.
pub(super) fn played_like(
    game: &Game,
    sides: &Sides,
    human: &Model,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Option<String>> {
    let moves = game.moves().count() as u32;
    if moves.div_ceil(2) < MIN_MOVES {
        return Ok(Some(format!("Too short to say how you played: an estimate needs {MIN_MOVES} moves.")));
    }
    let Some(evidence) = RatingEvidence::of_game(game, human, goes_on)? else { return Ok(None) };
    let model = RatingModel::of(game.rating_pool());
    // The user first.
    let first = sides.you.unwrap_or(Color::White);
    let said = [first, !first].map(|color| {
        let (name, all) = (&sides.names[color], RatingEvidence::sum(&evidence[color]));
        match all.estimate(&model).filter(|_| all.moves >= MIN_MOVES) {
            Some(estimate) => format!("{name} played like {estimate}."),
            None => {
                format!("{name}: too few moves to estimate a rating ({} of {MIN_MOVES}).", all.moves)
            }
        }
    });
    Ok(Some(said.join(" ")))
}

#[cfg(test)]
mod tests {
    use tabia_game::read_game;

    use super::*;

    const NETWORK: &[u8] = include_bytes!("../../../../fixtures/models/human.safetensors");

    fn said(pgn: &str, goes_on: &mut dyn FnMut() -> bool) -> Option<String> {
        let (game, human) = (read_game(pgn.as_bytes()).unwrap(), Model::from_bytes(NETWORK).unwrap());
        played_like(&game, &Sides::against("Rival", Color::Black), &human, goes_on).unwrap()
    }

    const QUIET: &str =
        "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. c3 Nf6 5. d3 d6 6. O-O O-O 7. Re1 a6 8. Bb3 Ba7 9. h3 h6 10. Nbd2";

    #[test]
    fn both_sides_are_estimated_and_the_user_comes_first() {
        let text = said(&format!("{QUIET} Re8 *"), &mut || true).unwrap();
        let (you, rival) = text.split_once(". ").unwrap();
        assert!(you.starts_with("You played like ") && you.contains(" (95%: "), "{text}");
        assert!(rival.starts_with("Rival played like "), "{text}");
    }

    #[test]
    fn too_few_moves_give_no_number() {
        let text = said("1. e4 e5 2. Nf3 *", &mut || true).unwrap();
        assert!(text.starts_with("Too short"), "{text}");
        let text = said(&format!("{QUIET} *"), &mut || true).unwrap();
        assert!(
            text.contains("You: too few moves to estimate a rating (9 of 10). Rival played like"),
            "{text}"
        );
    }

    #[test]
    fn it_can_be_stopped() {
        let mut left = 5;
        let stopped = said(&format!("{QUIET} Re8 *"), &mut || {
            left -= 1;
            left > 0
        });
        assert_eq!((stopped, left), (None, 0));
    }
}
