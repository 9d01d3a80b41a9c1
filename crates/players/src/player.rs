use std::time::Duration;

use shakmaty::Chess;
use tabia_encoding::{ForMover, Score};
use tabia_game::History;
use tabia_runtime::RunError;
use tabia_search::{Choice, Limits, SearchControl, SearchError};

/// Plies before which programs accept no draw.
const FIRST_DRAW: usize = 29;

/// Anything that chooses moves.
pub trait Player: Send {
    /// Its display name.
    fn name(&self) -> String;

    /// Starts a new game: forgets what it learnt from the last one.
    fn new_game(&mut self) {}

    /// Whether it plays games that start here. A venue asks before the first move; what a player cannot do is known then, such
    /// as castling in Chess960.
    ///
    /// # Errors
    /// Why it does not.
    fn check_start(&self, start: &Chess) -> Result<(), PlayerError> {
        let _ = start;
        Ok(())
    }

    /// Decides for the side to move.
    ///
    /// # Errors
    /// If there is no legal move, or if the player's network or process fails.
    fn decide(
        &mut self,
        game: &History,
        limits: &Limits,
        control: &dyn SearchControl,
    ) -> Result<Decision, PlayerError>;

    /// The move of [`decide`](Player::decide), for callers without a use for resignations and draw offers.
    ///
    /// # Errors
    /// As [`decide`](Player::decide).
    fn choose(
        &mut self,
        game: &History,
        limits: &Limits,
        control: &dyn SearchControl,
    ) -> Result<Choice, PlayerError> {
        Ok(self.decide(game, limits, control)?.choice)
    }
}

/// What a player does on its turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The move. Also set when the player resigns, for callers that play on.
    pub choice: Choice,
    /// What it does with the move.
    pub action: Action,
    /// Whether it accepts a draw offered by the opponent.
    pub accepts_draw: bool,
    /// How long a person would take for the move, within what the clock allows; zero where the player does not say.
    pub think_time: Duration,
}

/// What a player does with its move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Plays it.
    #[default]
    Move,
    /// Plays it and offers a draw.
    OfferDraw,
    /// Resigns instead.
    Resign,
}

impl Decision {
    /// Plays the move, and accepts a draw if its score is not positive: for players without human behaviour.
    pub fn by_score(game: &History, choice: Choice) -> Decision {
        let score = choice.lines.first().and_then(|line| line.score);
        let not_better = matches!(score, Some(ForMover(Score::Centipawns(cp))) if cp <= 0);
        let accepts_draw = not_better && game.situation().last_moves.len() >= FIRST_DRAW;
        Decision { accepts_draw, ..choice.into() }
    }
}

impl From<Choice> for Decision {
    /// Plays the move at once.
    fn from(choice: Choice) -> Decision {
        Decision { choice, action: Action::Move, accepts_draw: false, think_time: Duration::ZERO }
    }
}

/// Why a player returned no move.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlayerError {
    /// The search failed.
    #[error(transparent)]
    Search(#[from] SearchError),
    /// An external player failed: a crashed engine, an illegal move, no answer.
    #[error("{0}")]
    External(String),
}

impl From<RunError> for PlayerError {
    fn from(error: RunError) -> PlayerError {
        SearchError::from(error).into()
    }
}
