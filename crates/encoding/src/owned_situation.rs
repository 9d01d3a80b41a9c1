use shakmaty::{Chess, Move};

use crate::{Pace, PlayerInfo, RatingPool, Situation};

/// An owned [`Situation`].
#[derive(Clone, Debug)]
pub struct OwnedSituation {
    position: Chess,
    earlier: Vec<Chess>,
    last_moves: Vec<Move>,
    mover: PlayerInfo,
    opponent: PlayerInfo,
    pool: RatingPool,
    pace: Option<Pace>,
    context: Option<Chess>,
}

impl OwnedSituation {
    /// Copies a situation.
    pub fn of(situation: &Situation<'_>) -> Self {
        let Situation { position, earlier, last_moves, mover, opponent, pool, pace, context } = *situation;
        OwnedSituation {
            position: position.clone(),
            earlier: earlier.to_vec(),
            last_moves: last_moves.to_vec(),
            mover,
            opponent,
            pool,
            pace,
            context: context.cloned(),
        }
    }

    /// Borrows it.
    pub fn get(&self) -> Situation<'_> {
        Situation {
            position: &self.position,
            earlier: &self.earlier,
            last_moves: &self.last_moves,
            mover: self.mover,
            opponent: self.opponent,
            pool: self.pool,
            pace: self.pace,
            context: self.context.as_ref(),
        }
    }
}
