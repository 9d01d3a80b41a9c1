//! The beginnings of the shared collections.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use tabia_data::{BytesRead, Chunks, FaultKind, Faults, GameRecord, GameRules, SourceFile};
use tabia_encoding::RatingPool;

/// The records of a file's first chunks.
fn beginning(name: &str, chunks: usize) -> Option<(Vec<GameRecord>, Faults)> {
    let mut found = SourceFile::find(&tabia_requires::shared_data(name)?).unwrap();
    let (mut games, mut faults) = (Vec::new(), Faults::default());
    for chunk in Chunks::open(&found.remove(0), &BytesRead::default()).unwrap().take(chunks) {
        let parsed = chunk.read(&GameRules::default());
        games.extend(parsed.games);
        faults.merge(parsed.faults);
    }
    Some((games, faults))
}

#[test]
fn unbalanced_braces_skip_three_games() {
    let Some((games, faults)) = beginning("games/otb-rated.pgn.zst", 2) else { return };
    assert_eq!(faults.count(FaultKind::Unbalanced), 3, "{faults}");
    assert!(games.len() > 3_000, "{}", games.len());
    assert!(games.iter().all(|game| game.head.ratings.white.is_some()));
    // The beginning of the collection has many blitz games that do not say where they were played.
    let otb = games.iter().filter(|game| game.head.pool == RatingPool::OverTheBoard).count();
    assert!(otb * 2 > games.len(), "{otb} of {}", games.len());
}

#[test]
fn online_games_have_clocks_and_time_controls() {
    let Some((games, faults)) = beginning("games/online-clock.pgn.zst", 1) else { return };
    assert!(faults.is_empty(), "{faults}");
    assert!(games.iter().all(|game| game.head.pool.is_online() && game.head.pace.is_some()));
    let clocks = games.iter().flat_map(|game| &game.plies).filter(|ply| ply.clock.is_some()).count();
    let plies: usize = games.iter().map(|game| game.plies.len()).sum();
    assert!(clocks * 100 > plies * 99, "{clocks} of {plies}");
}

#[test]
fn puzzles_have_solutions_and_ratings() {
    let Some((games, faults)) = beginning("puzzles/puzzles.epd.zst", 1) else { return };
    assert!(faults.is_empty(), "{faults}");
    // The solver moves first and last.
    assert!(games.iter().all(|game| game.head.ratings.black.is_some() && game.plies.len() % 2 == 1));
    assert!(games.iter().all(|game| game.head.pool == RatingPool::Puzzle));
}
