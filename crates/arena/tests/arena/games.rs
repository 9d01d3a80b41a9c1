//! Single games: outcomes and PGN.

use std::time::Duration;

use crate::scripted::{FakeTimer, Script, scripted};
use shakmaty::{ByColor, Color, Square};
use tabia_arena::{
    Adjudication, Budget, DrawAdjudication, Forfeit, ForfeitReason, Opening, Openings, PgnTags, PlayedGame,
    Rules, Stop, StopRequest, play_game,
};
use tabia_encoding::{ForWhite, Score};
use tabia_game::{DrawReason, Outcome, TimeControl, WinReason, read_game, write_game};
use tabia_players::Limits;

fn opening(fen: &str) -> Opening {
    Opening::try_from(fen).unwrap()
}

fn start() -> Opening {
    Openings::start_position().list()[0].clone()
}

fn play(white: Script, black: Script, opening: &Opening, rules: &Rules, timer: &FakeTimer) -> PlayedGame {
    let mut white = scripted("white", white).player(1);
    let mut black = scripted("black", black).player(2);
    let players = ByColor { white: white.as_mut(), black: black.as_mut() };
    play_game(players, opening, rules, timer, &Stop::new()).unwrap()
}

fn shuffle() -> (Script, Script) {
    use Square::{F3, F6, G1, G8};
    (Script::Squares(vec![(G1, F3, 0), (F3, G1, 0)]), Script::Squares(vec![(G8, F6, 5), (F6, G8, 5)]))
}

#[test]
fn checkmate_ends_the_game() {
    use Square::{D8, E5, E7, F2, F3, G2, G4, H4};
    let white = Script::Squares(vec![(F2, F3, 0), (G2, G4, -500)]);
    let black = Script::Squares(vec![(E7, E5, 80), (D8, H4, 900)]);
    let game = play(white, black, &start(), &Rules::default(), &FakeTimer::default());
    assert_eq!(game.outcome, Outcome::Win { winner: Color::Black, by: WinReason::Checkmate });
    assert_eq!((game.reason().as_str(), game.forfeit.as_ref()), ("checkmate", None));
    assert_eq!(game.uci_moves(), ["f2f3", "e7e5", "g2g4", "d8h4"]);
}

#[test]
fn repetition_is_claimed() {
    let (white, black) = shuffle();
    let game = play(white, black, &start(), &Rules::default(), &FakeTimer::default());
    assert_eq!(game.outcome, Outcome::Draw(DrawReason::ThreefoldRepetition));
    assert_eq!(game.moves.len(), 8);
}

#[test]
fn book_moves_count_for_repetition_but_not_for_length() {
    let book = Openings::from_pgn("1. Nf3 Nf6 2. Ng1 Ng8 *".as_bytes(), "book").unwrap();
    let (white, black) = shuffle();
    let game = play(white, black, &book.list()[0], &Rules::default(), &FakeTimer::default());
    assert_eq!(game.outcome, Outcome::Draw(DrawReason::ThreefoldRepetition));
    assert_eq!(game.moves.len(), 4);
    let rules = Rules { max_plies: Some(3), ..Rules::default() };
    let (white, black) = shuffle();
    let game = play(white, black, &book.list()[0], &rules, &FakeTimer::default());
    assert_eq!((game.outcome, game.moves.len()), (Outcome::Draw(DrawReason::PlyLimit), 3));
}

#[test]
fn fifty_move_rule_and_ply_limit() {
    let rooks = "8/8/4k3/8/8/3RK3/8/8 w - - 98 120";
    let game =
        play(Script::Hashed(1), Script::Hashed(2), &opening(rooks), &Rules::default(), &FakeTimer::default());
    assert_eq!((game.outcome, game.moves.len()), (Outcome::Draw(DrawReason::FiftyMoves), 2));
    // Mate on the last ply counts.
    let mate = opening("7k/5Q2/5K2/8/8/8/8/8 w - - 0 1");
    let rules = Rules { max_plies: Some(1), ..Rules::default() };
    let game = play(Script::Greedy(1), Script::Hashed(2), &mate, &rules, &FakeTimer::default());
    assert_eq!(game.outcome, Outcome::Win { winner: Color::White, by: WinReason::Checkmate });
}

#[test]
fn forfeits_lose_with_a_reason() {
    let infraction = Outcome::Win { winner: Color::White, by: WinReason::RulesInfraction };
    for (script, reason) in [
        (Script::Cheats(3), "Black made an illegal move: a1h8"),
        (Script::Fails(3), "Black failed: the engine is gone"),
        (Script::Panics(3), "Black crashed: out of ideas"),
    ] {
        let game = play(Script::Hashed(1), script, &start(), &Rules::default(), &FakeTimer::default());
        assert_eq!((game.outcome, game.reason().as_str(), game.moves.len()), (infraction, reason, 5));
        let mut text = Vec::new();
        write_game(&game.to_pgn(&PgnTags::default()), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.contains("[Termination \"rules infraction\"]"), "{text}");
        assert!(text.replace('\n', " ").contains(reason), "{text}");
    }
}

#[test]
fn clocks_use_the_timer() {
    let seconds = Duration::from_secs_f64;
    let timed = |time: &str, margin: f64| Rules {
        budget: Budget { control: Some(time.parse().unwrap()), margin: seconds(margin), ..Budget::default() },
        max_plies: Some(6),
        ..Rules::default()
    };
    let timer = FakeTimer::default();
    let slow = |time: f64| Script::Slow(timer.clone(), seconds(time));
    let game = play(slow(2.0), slow(1.0), &start(), &timed("10+0.5", 0.0), &timer);
    let clocks: Vec<f64> = game.moves.iter().map(|played| played.clock.unwrap().as_secs_f64()).collect();
    assert_eq!(clocks, [8.5, 9.5, 7.0, 9.0, 5.5, 8.5]);
    assert_eq!(game.moves[0].elapsed, seconds(2.0));

    let game = play(slow(2.0), slow(4.0), &start(), &timed("10", 0.0), &timer);
    assert_eq!(game.outcome, Outcome::Win { winner: Color::White, by: WinReason::Timeout });
    assert_eq!((game.reason().as_str(), game.moves.len()), ("Black ran out of time", 5));
    assert_eq!(game.forfeit, Some(Forfeit { by: Color::Black, reason: ForfeitReason::Timeout }));

    let bare = opening("8/8/4k3/8/8/3QK3/8/8 w - - 0 1");
    let game = play(slow(11.0), slow(1.0), &bare, &timed("10", 0.0), &timer);
    assert_eq!(game.outcome, Outcome::Draw(DrawReason::TimeoutVsInsufficientMaterial));

    let movetime = |margin: f64| Rules {
        budget: Budget {
            limits: Limits { movetime: Some(seconds(1.0)), ..Limits::default() },
            margin: seconds(margin),
            ..Budget::default()
        },
        max_plies: Some(6),
        ..Rules::default()
    };
    let game = play(slow(1.0), slow(1.2), &start(), &movetime(0.0), &timer);
    assert_eq!((game.reason().as_str(), game.moves.len()), ("Black ran out of time", 1));
    let game = play(slow(1.0), slow(1.2), &start(), &movetime(0.3), &timer);
    assert_eq!(game.moves.len(), 6);
}

#[test]
fn at_time_odds_each_side_has_its_own_clock() {
    let seconds = Duration::from_secs_f64;
    let control = |text: &str| Some(text.parse::<TimeControl>().unwrap());
    let rules = Rules {
        budget: Budget { control: control("10+0.5"), other_control: control("3"), ..Budget::default() },
        max_plies: Some(8),
        ..Rules::default()
    };
    let timer = FakeTimer::default();
    let slow = |time: f64| Script::Slow(timer.clone(), seconds(time));
    let game = play(slow(1.0), slow(1.0), &start(), &rules, &timer);
    let clocks: Vec<f64> = game.moves.iter().map(|played| played.clock.unwrap().as_secs_f64()).collect();
    assert_eq!(clocks, [9.5, 2.0, 9.0, 1.0, 8.5]);
    assert_eq!(game.forfeit, Some(Forfeit { by: Color::Black, reason: ForfeitReason::Timeout }));
}

#[test]
fn time_within_the_margin_does_not_lose() {
    let seconds = Duration::from_secs_f64;
    let timer = FakeTimer::default();
    let rules = Rules {
        budget: Budget {
            control: Some(TimeControl::sudden_death(seconds(1.0), seconds(0.5))),
            margin: seconds(0.2),
            ..Budget::default()
        },
        max_plies: Some(2),
        ..Rules::default()
    };
    // Unlike `Script::Slow`, does not check the flag, which ignores the margin.
    struct Late(FakeTimer);
    impl tabia_players::Player for Late {
        fn name(&self) -> String {
            "late".into()
        }
        fn decide(
            &mut self,
            game: &tabia_game::History,
            _: &Limits,
            watch: &dyn tabia_players::SearchControl,
        ) -> Result<tabia_players::Decision, tabia_players::PlayerError> {
            self.0.advance(Duration::from_secs_f64(1.1));
            assert!(!watch.stopped());
            let mv = shakmaty::Position::legal_moves(game.current())[0];
            Ok(tabia_players::Choice { mv, ponder: None, lines: Vec::new(), nodes: 0 }.into())
        }
    }
    let (mut white, mut black) = (Late(timer.clone()), Late(timer.clone()));
    let players = ByColor { white: &mut white as &mut dyn tabia_players::Player, black: &mut black };
    let game = play_game(players, &start(), &rules, &timer, &Stop::new()).unwrap();
    assert_eq!(game.outcome, Outcome::Draw(DrawReason::PlyLimit));
    let left = game.moves[0].clock.unwrap();
    assert!(left > seconds(0.5) && left < seconds(0.51), "only the increment: {left:?}");
}

#[test]
fn games_are_adjudicated() {
    let draw = Rules {
        adjudication: Adjudication {
            draw: Some(DrawAdjudication { move_number: 2, move_count: 1, score: 5 }),
            resign: None,
        },
        ..Rules::default()
    };
    let (white, black) = shuffle();
    let game = play(white, black, &start(), &draw, &FakeTimer::default());
    assert_eq!((game.outcome, game.moves.len()), (Outcome::Draw(DrawReason::Adjudication), 3));
    assert_eq!(game.reason(), "adjudication");
}

#[test]
fn stop_request_aborts_the_game() {
    let mut white = scripted("white", Script::Hashed(1)).player(1);
    let mut black = scripted("black", Script::Hashed(2)).player(2);
    let stop = Stop::new();
    stop.request(StopRequest::AfterGames);
    let rules = Rules { max_plies: Some(4), ..Rules::default() };
    let players = ByColor { white: white.as_mut(), black: black.as_mut() };
    assert!(play_game(players, &start(), &rules, &FakeTimer::default(), &stop).is_some());
    stop.request(StopRequest::Now);
    stop.request(StopRequest::Continue);
    assert_eq!(stop.requested(), StopRequest::Now, "requests cannot be withdrawn");
    let players = ByColor { white: white.as_mut(), black: black.as_mut() };
    assert!(play_game(players, &start(), &rules, &FakeTimer::default(), &stop).is_none());
}

#[test]
fn pgn_contains_scores_clocks_and_nodes() {
    use Square::{D8, F2, F3, G2, G4, H4};
    let book = Openings::from_pgn("[ECO \"C20\"]\n\n1. e4 e5 *".as_bytes(), "book").unwrap();
    let white = Script::Squares(vec![(F2, F3, 20), (G2, G4, -500)]);
    let black = Script::Squares(vec![(D8, H4, 90)]);
    let rules = Rules {
        budget: Budget { control: Some("60+1".parse().unwrap()), ..Budget::default() },
        max_plies: Some(3),
        ..Rules::default()
    };
    let game = play(white, black, &book.list()[0], &rules, &FakeTimer::default());
    // White is in check after Qh4 and g2g4 is illegal: the script panics.
    assert!(
        matches!(game.forfeit, Some(Forfeit { by: Color::White, reason: ForfeitReason::Panicked(_) })),
        "{:?}",
        game.forfeit
    );
    let tags = PgnTags {
        event: "a test".into(),
        date: "2026.01.31".into(),
        round: "1.1".into(),
        names: ByColor { white: "one".into(), black: "two".into() },
        time_controls: ByColor { white: "60+1".into(), black: "60+1".into() },
    };
    let pgn = game.to_pgn(&tags);
    let mut text = Vec::new();
    write_game(&pgn, &mut text).unwrap();
    let again = read_game(&text).unwrap();
    assert_eq!((again.result, again.moves().count()), (pgn.result, 4));
    let nodes: Vec<_> = again.mainline().collect();
    assert_eq!(again.notes(nodes[1]).after, "end of book");
    let notes = again.notes(nodes[2]);
    let evaluation = notes.evaluation.unwrap();
    assert_eq!((evaluation.score, evaluation.depth), (ForWhite(Score::Centipawns(20)), Some(3)));
    assert_eq!((notes.after.as_str(), notes.clock), ("nodes 17", Some(Duration::from_secs(61))));
    let reply = again.notes(nodes[3]).evaluation.unwrap();
    assert_eq!(reply.score, ForWhite(Score::Centipawns(-90)), "White's point of view");
    assert_eq!((again.headers.get("Opening"), again.headers.get("TimeControl")), (Some("C20"), Some("60+1")));
}
