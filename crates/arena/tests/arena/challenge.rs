//! The challenge ladder and its leaderboard.

use std::{fs, num::NonZeroUsize};

use tabia_arena::{
    Entrant, Openings, Stop, StopRequest,
    challenge::{Ladder, Leaderboard, LeaderboardEntry, LeaderboardErrorKind, Scorecard, passes},
    statistics::Tally,
};
use tabia_players::ChallengeRules;

use crate::scripted::{FakeTimer, Script, Scripted, folder, scripted};

#[test]
fn levels_are_passed_with_35_of_50_points() {
    let tally = |wins, draws| Tally { wins, draws, losses: 50 - wins - draws };
    assert!(passes(tally(35, 0)) && passes(tally(30, 10)) && passes(tally(50, 0)));
    assert!(!passes(tally(34, 1)) && !passes(tally(0, 50)) && !passes(Tally::default()));
}

fn climb(challenger: Script, levels: &[Scripted], jobs: usize, stop: &Stop, keep: Option<&str>) -> Scorecard {
    let challenger = scripted("challenger", challenger);
    let openings = Openings::challenge(ChallengeRules::Original, 0);
    let ladder = Ladder {
        challenger: &challenger,
        parameters: 1234,
        rules: ChallengeRules::Original,
        seed: 0,
        levels: (1..).zip(levels.iter().map(|level| level as &dyn Entrant)).collect(),
        openings: &openings,
        jobs: NonZeroUsize::new(jobs).unwrap(),
        folder: keep.map(folder),
        date: String::new(),
    };
    ladder.climb(&FakeTimer::default(), stop, &mut |_| {}).unwrap()
}

fn levels() -> Vec<Scripted> {
    vec![
        scripted("one", Script::Cheats(5)),
        scripted("two", Script::Fails(3)),
        scripted("three", Script::Hashed(7)),
        scripted("four", Script::Cheats(1)),
    ]
}

#[test]
fn ladder_ends_at_the_first_failed_level() {
    let card = climb(Script::Hashed(1), &levels(), 2, &Stop::new(), None);
    let played: Vec<(u32, bool, u64)> =
        card.levels.iter().map(|score| (score.level, score.passed, score.games.games())).collect();
    assert_eq!(played, [(1, true, 50), (2, true, 50), (3, false, 50)]);
    assert_eq!((card.passed, card.climbed(), card.interrupted), (Some(2), 2, false));
    let only_second = Scorecard { levels: card.levels[1..2].to_vec(), ..card.clone() };
    assert_eq!(only_second.climbed(), 0, "the level below was not played");
    assert_eq!(card.levels[0].as_white, Tally { wins: 25, ..Tally::default() });
    assert_eq!(card.diversity.games, 150);
    assert!(card.diversity.first_moves > 5 && card.diversity.four_move_entropy > 4.0, "{:?}", card.diversity);
    let text = card.to_string();
    assert!(text.contains("highest level passed: 2"), "{text}");
    assert!(text.contains("50/50"), "{text}");
    let json = serde_json::to_value(&card).unwrap();
    assert_eq!(json["levels"][0]["records"][49]["result"], "0-1");
    assert!(json["levels"][2]["records"].as_array().unwrap().iter().all(|game| game["moves"].is_array()));
    assert_eq!(climb(Script::Hashed(1), &levels(), 1, &Stop::new(), None), card, "the same to the move");
    let lost = climb(Script::Cheats(2), &levels()[2..3], 1, &Stop::new(), None);
    assert_eq!((lost.passed, lost.levels.len()), (None, 1));
}

#[test]
fn unfinished_level_is_not_passed() {
    let stop = Stop::new();
    stop.request(StopRequest::AfterGames);
    let card = climb(Script::Hashed(1), &levels(), 1, &stop, Some("ladder"));
    assert_eq!((card.passed, card.interrupted, card.levels.len()), (None, true, 1));
}

#[test]
fn leaderboard_file_is_updated() {
    let path = folder("leaderboard").join("board.json");
    let entry = |id: &str, level, parameters| LeaderboardEntry {
        id: id.into(),
        name: format!("net {id}"),
        rules: "original".into(),
        level,
        parameters,
        points: 40.0,
        games: 50,
        date: "2026.01.31".into(),
    };
    Leaderboard::record(&path, entry("a", 1, 500)).unwrap();
    Leaderboard::record(&path, entry("b", 2, 900)).unwrap();
    let board = Leaderboard::record(&path, entry("a", 2, 500)).unwrap();
    assert_eq!(board, Leaderboard::read(&path).unwrap());
    let ids: Vec<&str> = board.entries().iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["a", "b"]);
    let other = LeaderboardEntry { rules: "2026".into(), ..entry("d", 1, 1) };
    let error = Leaderboard::record(&path, other).unwrap_err();
    assert!(matches!(error.kind, LeaderboardErrorKind::OtherRules { .. }), "{error}");
    let earlier = r#"{"leaderboard":"tabia challenge","version":1,"entries":[{"id":"a","name":"a","level":2,
        "parameters":5,"points":40.0,"games":50,"date":""}]}"#;
    fs::write(&path, earlier).unwrap();
    assert_eq!(Leaderboard::read(&path).unwrap().entries()[0].rules, "tabia");
    assert!(Leaderboard::record(&path, entry("a", 2, 5)).is_err());
    fs::write(&path, "{\"leaderboard\":\"chess\",\"version\":1,\"entries\":[]}").unwrap();
    let error = Leaderboard::record(&path, entry("c", 1, 1)).unwrap_err();
    assert!(matches!(error.kind, LeaderboardErrorKind::NotALeaderboard), "{error}");
}
