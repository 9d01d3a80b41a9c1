//! A player without a plan.

use fastrand::Rng;
use tabia_game::History;

use crate::{Choice, Limits, Line, Player, PlayerError, SearchControl, order};

/// Plays any legal move, all as likely. With the same seed and the same calls it makes the same choices.
#[derive(Clone, Debug)]
pub struct RandomPlayer {
    rng: Rng,
}

impl RandomPlayer {
    /// A player whose moves the seed decides.
    pub fn new(seed: u64) -> RandomPlayer {
        RandomPlayer { rng: Rng::with_seed(seed) }
    }
}

impl Player for RandomPlayer {
    fn name(&self) -> String {
        "Random".to_owned()
    }

    fn choose(
        &mut self,
        game: &History,
        limits: &Limits,
        _: &dyn SearchControl,
    ) -> Result<Choice, PlayerError> {
        let moves = order::candidates(game, limits)?;
        let mv = moves[self.rng.usize(..moves.len())];
        let probability = Some(1.0 / moves.len() as f32);
        let line = Line { rank: 1, probability, moves: vec![mv], ..Line::default() };
        Ok(Choice { mv, ponder: None, lines: vec![line], nodes: 0 })
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::{ByColor, Chess, Move};

    use super::*;
    use crate::NoControl;

    fn played(seed: u64) -> Vec<Move> {
        let mut game = History::new(Chess::default(), ByColor::default());
        let mut player = RandomPlayer::new(seed);
        (0..60)
            .map_while(|_| {
                let mv = player.choose(&game, &Limits::default(), &NoControl).ok()?.mv;
                game.push(mv, None);
                Some(mv)
            })
            .collect()
    }

    #[test]
    fn a_seed_decides_the_game() {
        assert_eq!(played(7), played(7));
        assert_ne!(played(7), played(8));
    }

    #[test]
    fn every_move_is_played_about_as_often() {
        let game = History::new(Chess::default(), ByColor::default());
        let mut player = RandomPlayer::new(1);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..2000 {
            let mv = player.choose(&game, &Limits::default(), &NoControl).unwrap().mv;
            *counts.entry(mv).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 20);
        assert!(counts.values().all(|n| (50..150).contains(n)), "{counts:?}");
    }
}
