use std::fmt;

use fastrand::Rng;
use tabia_game::History;
use tabia_search::{Choice, Limits, Line, SearchControl};

use super::super::{
    BuildError, Determinism, ParseKind, PlayerContext, PlayerKind, SpecProblem, settings::Settings,
    write::Setting,
};
use crate::{Decision, Player, PlayerError, move_order};

/// `random`: any legal move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RandomSpec {
    /// The random seed; `None` takes that of the [context](PlayerContext::seed).
    pub seed: Option<u64>,
}

impl ParseKind for RandomSpec {
    const NAME: &'static str = "random";
    const USAGE: &'static str = "random";

    fn parse(subject: Option<String>, settings: &mut Settings) -> Result<RandomSpec, SpecProblem> {
        settings.known(&["seed"]);
        match subject {
            None => Ok(RandomSpec { seed: settings.seed()? }),
            Some(_) => Err(SpecProblem::Usage(Self::USAGE)),
        }
    }
}

impl PlayerKind for RandomSpec {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Setting("seed", self.seed))
    }

    fn build(&self, context: &PlayerContext<'_>) -> Result<Box<dyn Player>, BuildError> {
        Ok(Box::new(RandomPlayer::new(self.seed.unwrap_or(context.seed))))
    }

    fn determinism(&self) -> Determinism {
        Determinism::Seeded
    }
}

/// Plays any legal move with equal probability. The same seed and the same calls give the same moves.
#[derive(Clone, Debug)]
pub struct RandomPlayer {
    rng: Rng,
}

impl RandomPlayer {
    /// A player with this random seed.
    pub fn new(seed: u64) -> RandomPlayer {
        RandomPlayer { rng: Rng::with_seed(seed) }
    }
}

impl Player for RandomPlayer {
    fn name(&self) -> String {
        "Random".to_owned()
    }

    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        _: &dyn SearchControl,
    ) -> Result<Decision, PlayerError> {
        let moves = move_order::candidates(game, limits)?;
        let mv = moves[self.rng.usize(..moves.len())];
        let probability = Some(1.0 / moves.len() as f32);
        let line = Line { rank: 1, probability, moves: vec![mv], ..Line::default() };
        Ok(Choice { mv, ponder: None, lines: vec![line], nodes: 0 }.into())
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::{ByColor, Chess, Move};
    use tabia_search::NoControl;

    use super::*;

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
    fn the_seed_determines_the_game() {
        assert_eq!(played(7), played(7));
        assert_ne!(played(7), played(8));
    }

    #[test]
    fn moves_are_equally_likely() {
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
