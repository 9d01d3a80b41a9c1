//! Reviews of whole games, by the hand-written evaluation and a small network.

use std::sync::Arc;

use shakmaty::{ByColor, Color};
use tabia_encoding::Elo;
use tabia_game::{Game, History, NodeId, read_game};
use tabia_model::Model;
use tabia_players::{EnginePlayer, Limits, NoControl};
use tabia_search::{BaselineEvaluator, EngineOptions};

use crate::{CardSubject, GameFigures, GameReview, Mark, Place, ReviewSettings, Reviewer, Summary, game_key};

const NETWORK: &[u8] = include_bytes!("../../../fixtures/models/human.safetensors");

fn reviewer() -> Reviewer {
    let engine =
        EnginePlayer::new("engine".to_owned(), EngineOptions::default(), Box::new(BaselineEvaluator));
    Reviewer::new(Box::new(engine), Arc::new(Model::from_bytes(NETWORK).unwrap())).unwrap()
}

/// A game that White wins by a mate on move 4.
fn mate(date: &str) -> Game {
    let pgn = format!(
        "[White \"Ann\"]\n[Black \"Bob\"]\n[Date \"{date}\"]\n[WhiteElo \"1500\"]\n[BlackElo \"1400\"]\n\
         [TimeControl \"300+3\"]\n\n1. e4 {{[%clk 0:05:00]}} e5 {{[%clk 0:05:00]}} 2. Qh5 {{[%clk 0:04:50]}} \
         Nc6 {{[%clk 0:04:40]}} 3. Bc4 Nf6 4. Qxf7# 1-0"
    );
    read_game(pgn.as_bytes()).unwrap()
}

fn quiet(date: &str) -> Game {
    let pgn = format!(
        "[White \"Bob\"]\n[Black \"Ann\"]\n[Date \"{date}\"]\n\n1. d4 d5 2. Nf3 Nf6 3. a3 a6 1/2-1/2"
    );
    read_game(pgn.as_bytes()).unwrap()
}

fn settings() -> ReviewSettings {
    let both = ByColor { white: true, black: true };
    ReviewSettings {
        limits: Limits { nodes: Some(500), ..Limits::default() },
        peers: both,
        evidence: both,
        ..ReviewSettings::default()
    }
}

fn review(reviewer: &mut Reviewer, game: &Game) -> GameReview {
    reviewer.review(game, &settings(), &|| Box::new(NoControl)).unwrap()
}

#[test]
fn a_review_marks_the_blunder_and_knows_clocks_and_phases() {
    let game = review(&mut reviewer(), &mate("2024.05.06"));
    assert_eq!(game.moves.len(), 7);
    let blunder = &game.moves[5];
    assert_eq!((blunder.san.as_str(), blunder.mark, blunder.color), ("Nf6", Mark::Blunder, Color::Black));
    assert!(blunder.loss() > 0.3 && blunder.accuracy < 40.0, "{blunder:?}");
    let last = &game.moves[6];
    assert_eq!((last.after.mate, last.win_after, last.loss()), (Some(1), 1.0, 0.0));
    assert_eq!((game.moves[2].clock, game.moves[2].think_time), (Some(300.0), Some(13.0)));
    assert_eq!((game.moves[4].clock, game.moves[6].clock), (Some(290.0), None));
    for reviewed in &game.moves {
        let peers = reviewed.peers.unwrap();
        assert!((0.0..=1.0).contains(&peers.loss) && (0.0..=1.0 + 1e-6).contains(&peers.errs), "{peers:?}");
        assert!(reviewed.expected_score.is_some_and(|score| (0.0..=1.0).contains(&score)));
        assert!(!reviewed.line.is_empty());
    }
    assert_eq!([0, 1, 2].map(|phase| game.white_side.evidence[phase].moves), [4, 0, 0]);
    assert_eq!(game.black_side.evidence[0].moves, 3);
    assert!(game.white_side.played_like(game.pool, None).is_some());
    assert_eq!(game.white_side.played_like(game.pool, Some(2)), None, "there was no endgame");
    assert!(game.white_side.accuracy > game.black_side.accuracy);
}

#[test]
fn a_review_does_not_depend_on_the_games_before_it() {
    let (first, second) = (quiet("2024.01.01"), mate("2024.01.02"));
    let mut reviewer = reviewer();
    let alone = review(&mut reviewer, &second);
    review(&mut reviewer, &first);
    assert_eq!(review(&mut reviewer, &second), alone);
}

#[test]
fn reviews_are_stored_and_read_back() {
    let game = review(&mut reviewer(), &mate("2024.05.06"));
    let text = serde_json::to_string(&game).unwrap();
    assert!(text.contains("\"winBefore\"") && text.contains("\"color\":\"white\""));
    // Reading may round the last digit of a number.
    let read: GameReview = serde_json::from_str(&text).unwrap();
    assert_eq!((&read.key, read.pool, read.time_class), (&game.key, game.pool, game.time_class));
    assert_eq!(read.moves.len(), game.moves.len());
    for (read, written) in read.moves.iter().zip(&game.moves) {
        assert_eq!((&read.uci, read.mark, read.after), (&written.uci, written.mark, written.after));
        assert!((read.loss() - written.loss()).abs() < 1e-12);
    }
}

#[test]
fn summaries_merge_to_the_summary_of_all_games() {
    let mut reviewer = reviewer();
    let games = [mate("2024.05.06"), quiet("2024.06.07"), mate("2024.06.08")];
    let games = games.map(|game| review(&mut reviewer, &game));
    let add = |summary: &mut Summary, game: &GameReview| summary.add(game, game.color_of("ann").unwrap());
    let mut whole = Summary::default();
    games.iter().for_each(|game| add(&mut whole, game));
    let (mut one, mut other) = (Summary::default(), Summary::default());
    add(&mut one, &games[0]);
    games[1..].iter().for_each(|game| add(&mut other, game));
    one.merge(other);
    let (merged, report) = (one.report(), whole.report());
    assert_eq!(merged.places, report.places);
    assert_eq!(merged.months, report.months);
    assert_eq!((report.games, report.wins, report.draws, report.losses), (3, 2, 1, 0));
    let labels: Vec<&str> = report.places.iter().map(|of| of.label.as_str()).collect();
    for label in ["all moves", "opening", "White", "Black", "blitz", "3 to 10 minutes"] {
        assert!(labels.contains(&label), "{label} in {labels:?}");
    }
    let all = report.places.iter().find(|of| of.place == Place::All).unwrap();
    assert_eq!((all.games, all.moves), (3, 4 + 3 + 4));
    assert!((all.excess.value - (all.loss.value - all.peers.value)).abs() < 1e-12);
    assert_eq!(report.months.iter().map(|month| month.games).collect::<Vec<_>>(), [1, 2]);
    assert!(report.weaknesses.len() <= 3);
}

#[test]
fn figures_hold_what_a_summary_needs_of_a_review() {
    let game = review(&mut reviewer(), &mate("2024.05.06"));
    let figures = GameFigures::of(&game, Color::Black);
    assert_eq!((figures.name.as_str(), figures.opponent.as_str(), figures.moves.len()), ("Bob", "Ann", 3));
    assert_eq!(figures.evidence, game.black_side.evidence);
    assert_eq!(figures.played_like(), None, "three moves are too few");
    let text = serde_json::to_string(&figures).unwrap();
    let stored: GameFigures = serde_json::from_str(&text).unwrap();
    let (mut whole, mut short) = (Summary::default(), Summary::default());
    whole.add(&game, Color::Black);
    short.add_figures(&stored);
    let (whole, short) = (whole.report(), short.report());
    assert_eq!((short.games, short.losses, short.places.len()), (1, 1, whole.places.len()));
    for (short, whole) in short.places.iter().zip(&whole.places) {
        assert!((short.loss.value - whole.loss.value).abs() < 1e-9, "{short:?}");
        assert!((short.peers.value - whole.peers.value).abs() < 1e-9, "{short:?}");
    }
}

#[test]
fn a_card_accepts_the_moves_that_keep_the_winning_chance() {
    let game = mate("2024.05.06");
    let mut reviewer = reviewer();
    let limits = Limits { nodes: Some(5000), ..Limits::default() };
    let (before, subject) = CardSubject::of_mistake(&game, 6, 0.5).unwrap();
    assert_eq!((subject.rating, subject.played.as_deref()), (Some(1400), Some("g8f6")));
    let card = reviewer.new_card(&before, subject, &limits, &|| Box::new(NoControl)).unwrap().unwrap();
    assert!(card.answers.iter().all(|answer| answer.uci != "g8f6"), "{card:?}");
    assert!(
        card.answers.iter().any(|answer| ["g7g6", "d8e7", "d8f6"].contains(&answer.uci.as_str())),
        "{card:?}"
    );
    assert_eq!((card.peers.len(), card.stronger.len()), (4, 4));
    let mut deck = crate::deck::Deck::default();
    assert!(deck.add(card, 0).unwrap().1);
    assert!(CardSubject::of_mistake(&game, 8, 0.5).is_none(), "the game is over");
    assert!(CardSubject::of_mistake(&game, 0, 0.5).is_none());
}

#[test]
fn a_game_has_one_key_whatever_its_annotations() {
    let plain = read_game(b"[White \"A\"]\n[Black \"B\"]\n\n1. e4 e5 *").unwrap();
    let noted =
        read_game(b"[Event \"x\"]\n[White \"A\"]\n[Black \"B\"]\n\n1. e4! {good} e5 (1... c5) 1-0").unwrap();
    assert_eq!(game_key(&plain), game_key(&noted));
    let other = read_game(b"[White \"A\"]\n[Black \"B\"]\n\n1. e4 c5 *").unwrap();
    assert_ne!(game_key(&plain), game_key(&other));
}

#[test]
fn difficulty_lists_moves_best_first_and_ends_with_the_game() {
    let mut reviewer = reviewer();
    let game = mate("2024.05.06");
    let before_the_blunder = game.mainline().nth(4).unwrap();
    let limits = Limits { nodes: Some(500), ..Limits::default() };
    let mut ask = |node: NodeId| {
        let history: History = game.history(node);
        reviewer.difficulty(&history, Some(Elo(1200)), &limits, &|| Box::new(NoControl)).unwrap()
    };
    let hard = ask(before_the_blunder).unwrap();
    assert!(hard.moves.len() >= 2 && hard.moves.is_sorted_by(|one, other| one.win >= other.win));
    assert!((hard.moves[0].loss, hard.moves[0].win) == (0.0, hard.win) || hard.moves[0].win > hard.win);
    assert!(hard.peers.errs > 0.0 && hard.expected_score.is_some());
    assert_eq!(ask(game.last()), None, "mate");
}
