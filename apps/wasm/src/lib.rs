//! Games, models and players for TypeScript.
//!
//! The module is instantiated twice: on the page's main thread for the rules ([`GameTree`] and the free functions,
//! all fast), and in a worker for searches ([`Engine`] and what it serves). In a build with threads, workers that [`help`] share
//! the memory of the latter. The TypeScript types are generated from the types
//! here. Invalid input never panics: it throws an `Error` that says what and where.
#![forbid(unsafe_code)]

mod adapter;
mod contest;
mod difficulty;
mod drills;
mod engine;
mod fault;
mod games;
mod ladder;
mod notation;
mod openings;
mod practice;
mod puzzles;
mod repertoire;
mod review;
mod rules;
mod side;
mod stopwatch;
mod tree;

pub use adapter::{AdapterFacts, AdapterLearning, Habit, LearnEvent, PlayerNames, adapter_facts};
pub use contest::{ColourResult, Match, MatchEvent, MatchResults, MatchSetup, OpeningResult};
pub use difficulty::{DifficultySearch, MoveDifficulty, PositionDifficulty};
pub use drills::{DrillGame, built_in_drills, drill_achieved, with_attempt};
#[cfg(any(feature = "embed", test))]
pub use engine::embedded_model;
pub use engine::{
    ContextScores, Engine, GameInput, HumanMove, HumanView, LimitsInput, MeasuredRating, ModelFacts,
    PauseChance, PendingEvaluation, PlayerInput, PoolInput, Thought, ThoughtLine,
};
pub use fault::Fault;
pub use games::{
    GameLibrary, GameReviewSettings, GameReviewTask, GamesImport, ImportPart, ImportPlace, ImportedGame,
    ReviewedGame, game_head, is_learnable, review_key, stored_review, stored_summary,
};
pub use ladder::{Challenge, ChallengeEvent};
pub use notation::Opinion;
pub use practice::{AddedCard, AllRepertoires, PracticeDeck, odds_fen};
pub use puzzles::{PuzzleFacts, PuzzlePart, PuzzleScan, PuzzleSolving, read_puzzles};
pub use repertoire::{
    CoverageInput, CoverageStep, OpeningRepertoire, RepertoireCoverage, RepertoireFacts, named_openings,
};
pub use review::{
    MoveMark, PhaseSummary, PlayedLike, Review, ReviewSummary, ReviewedMove, SideSummary, moves_for_estimate,
};
pub use rules::{
    CheckedFen, OpeningEntry, Pacing, check_fen, chess960_fen, empty_fen, opening_book, time_control,
};
pub use side::Side;
pub use tree::{
    Destinations, GameStatus, GameTree, GameView, MoveNode, NodeEvaluation, PgnEntry, PgnGames, PgnPart,
    PgnScan,
};

use wasm_bindgen::prelude::wasm_bindgen;

/// Runs when the module is instantiated: panics are logged to the console.
#[wasm_bindgen(start)]
pub fn start() {
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|panic| console_error(&panic.to_string())));
}

#[cfg(target_family = "wasm")]
#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    fn console_error(text: &str);
}

/// Makes the calling worker help with the work of the others that share its memory. It never returns: end the worker instead.
#[wasm_bindgen]
pub fn help() {
    tabia_threads::help();
}

/// The version of Tabia.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}
