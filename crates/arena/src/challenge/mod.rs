//! The challenge ladder: a network plays levels of increasing strength until it fails one.

mod diversity;
mod ladder;
mod leaderboard;

pub use diversity::Diversity;
pub use ladder::{
    CHALLENGE_PLIES, Edition, Ladder, LadderError, LevelProgress, LevelScore, Scorecard, level_games, passes,
};
pub use leaderboard::{Leaderboard, LeaderboardEntry, LeaderboardError, LeaderboardErrorKind};
