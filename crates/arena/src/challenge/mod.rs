//! The ladder: a network plays levels of rising strength and stands where it first fails.

mod diversity;
mod ladder;
mod leaderboard;

pub use diversity::Diversity;
pub use ladder::{
    CHALLENGE_PLIES, Ladder, LadderError, LevelProgress, LevelScore, Scorecard, level_games, passes,
};
pub use leaderboard::{Leaderboard, LeaderboardEntry, LeaderboardError};
