//! What a bot tells its operator.

use std::{fmt, time::Duration};

use shakmaty::Color;
use tabia_game::{Game, Outcome};

use crate::{DeclineReason, RequestError, events::Challenge, events::ChallengeClock};

/// Who is told what happens. Called from several threads.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn notice(&self, notice: &Notice);

    /// A game has ended; aborted ones are not reported.
    fn finished(&self, game: &Game);
}

/// Something that happened. Its text is one line.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// The bot is connected, or again.
    Connected,
    /// The connection for events was lost.
    Disconnected {
        /// Why.
        error: Option<RequestError>,
        /// When it is tried again.
        retry: Duration,
    },
    /// A line of the server was skipped.
    Skipped(String),
    /// A challenge was accepted.
    Accepted(Box<Challenge>),
    /// A challenge was declined.
    Declined(Box<Challenge>, DeclineReason),
    /// A challenge could not be answered.
    NotAnswered(Box<Challenge>, RequestError),
    /// A game has begun, or is gone on with.
    Started {
        /// Its id.
        game: String,
        /// The opponent.
        opponent: String,
        /// The opponent's rating.
        rating: Option<u16>,
        /// The bot's colour.
        color: Color,
        /// The moves made by then.
        plies: usize,
    },
    /// A request about a game failed.
    Failed {
        /// The game.
        game: String,
        /// What was tried.
        what: String,
        /// Why it failed.
        error: RequestError,
    },
    /// The connection of a game was lost.
    GameDisconnected {
        /// The game.
        game: String,
        /// Why.
        error: Option<RequestError>,
    },
    /// The player failed.
    PlayerFailed {
        /// The game.
        game: String,
        /// How.
        error: String,
    },
    /// A game was left before its end.
    Left {
        /// The game.
        game: String,
        /// Why.
        reason: String,
    },
    /// A game has ended.
    Ended {
        /// The game.
        game: String,
        /// The opponent.
        opponent: String,
        /// How.
        outcome: Outcome,
        /// The bot's colour.
        color: Color,
        /// The moves made.
        plies: usize,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let because = |error: &Option<RequestError>| {
            error.as_ref().map_or("closed by the server".to_owned(), ToString::to_string)
        };
        match self {
            Notice::Connected => f.write_str("connected, waiting for challenges"),
            Notice::Disconnected { error, retry } => {
                write!(
                    f,
                    "connection lost ({}): trying again in {:.1} s",
                    because(error),
                    retry.as_secs_f64()
                )
            }
            Notice::Skipped(error) => f.write_str(error),
            Notice::Accepted(challenge) => write!(f, "challenge {}: accepted", terms(challenge)),
            Notice::Declined(challenge, reason) => {
                write!(f, "challenge {}: declined ({reason})", terms(challenge))
            }
            Notice::NotAnswered(challenge, error) => write!(f, "challenge {}: {error}", terms(challenge)),
            Notice::Started { game, opponent, rating, color, plies } => {
                let rating = rating.map_or_else(String::new, |rating| format!(" ({rating})"));
                let color = color.fold_wb("White", "Black");
                let going_on = match plies {
                    0 | 1 => String::new(),
                    _ => format!(", going on at move {}", plies / 2 + 1),
                };
                write!(f, "game {game}: {color} against {opponent}{rating}{going_on}")
            }
            Notice::Failed { game, what, error } => write!(f, "game {game}: {what}: {error}"),
            Notice::GameDisconnected { game, error } => {
                write!(f, "game {game}: connection lost ({})", because(error))
            }
            Notice::PlayerFailed { game, error } => write!(f, "game {game}: the player failed: {error}"),
            Notice::Left { game, reason } => write!(f, "game {game}: left: {reason}"),
            Notice::Ended { game, opponent, outcome, color, plies } => {
                let result = match outcome {
                    Outcome::Win { winner, .. } if winner == color => format!("won against {opponent}"),
                    Outcome::Win { .. } => format!("lost against {opponent}"),
                    Outcome::Draw(_) => format!("drawn with {opponent}"),
                    Outcome::Abandoned => return write!(f, "game {game}: aborted"),
                };
                let moves = plies.div_ceil(2);
                let s = if moves == 1 { "" } else { "s" };
                write!(f, "game {game}: {result} by {} after {moves} move{s}", outcome.reason())
            }
        }
    }
}

/// `by Mary (1021): rated 3+2 standard`.
fn terms(challenge: &Challenge) -> String {
    let challenger = challenge.challenger.as_ref();
    let name = challenger.map_or("Anonymous".to_owned(), crate::events::Person::shown);
    let rating = challenger.and_then(|person| person.rating);
    let rating = rating.map_or_else(String::new, |rating| format!(" ({rating})"));
    let rated = if challenge.rated { "rated" } else { "casual" };
    let clock = match challenge.time_control {
        ChallengeClock::Clock { limit, increment } if limit % 60 == 0 => {
            format!("{}+{increment}", limit / 60)
        }
        ChallengeClock::Clock { limit, increment } => format!("{limit}s+{increment}"),
        ChallengeClock::None => "correspondence".to_owned(),
    };
    let variant: String = challenge.variant.key.chars().filter(|c| !c.is_control()).collect();
    format!("by {name}{rating}: {rated} {clock} {variant}")
}
