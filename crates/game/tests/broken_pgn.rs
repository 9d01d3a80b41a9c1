//! Broken games are reported with their place, and the games around them are read.

use std::mem::discriminant;

use tabia_game::{
    BrokenGame, FenError, Game, MissingResult, PgnReader, Problem, RawGames, ReadOptions, Variations,
    read_game,
};

const GOOD: &[u8] = b"[Event \"good\"]\n\n1. e4 e5 2. Nf3 1-0\n\n";

/// The error of `broken` between two good games, which are checked, too.
fn fault(broken: &[u8]) -> BrokenGame {
    let stream = [GOOD, broken, b"\n\n", GOOD].concat();
    let mut items: Vec<_> = PgnReader::new(stream.as_slice()).collect();
    assert_eq!(items.len(), 3, "{:?}", String::from_utf8_lossy(broken));
    for item in [items.pop(), items.swap_remove(0).into()] {
        let neighbour = item.expect("three items").expect("a good game");
        assert_eq!(neighbour.mainline().count(), 3);
    }
    let fault = items.pop().expect("one item left").expect_err("a broken game");
    assert_eq!((fault.place.game, fault.place.offset, fault.place.line), (2, GOOD.len() as u64, 5));
    fault
}

fn with_tags(movetext: &str) -> Vec<u8> {
    format!("[Event \"broken\"]\n\n{movetext}").into_bytes()
}

#[test]
fn faults_have_a_kind_and_a_place() {
    let begin = GOOD.len() + "[Event \"broken\"]\n\n".len();
    for (movetext, ply, at, token, problem) in [
        ("1. e4 e5 2. Nf4 Nc6 1-0", 3, 12, "Nf4", Problem::IllegalMove),
        ("1. e4 (1. d4) {Nf3} e5 2. Ke3 *", 3, 26, "Ke3", Problem::IllegalMove),
        ("1. e4 e5 2. -- *", 3, 12, "--", Problem::IllegalMove),
        ("1. e4 e5 2. Nf3 e8Q 1-0", 4, 16, "e8Q", Problem::UnreadableMove),
        ("1. e4 e5 2. N", 3, 12, "N", Problem::UnreadableMove),
        ("1. e4 { e5 2. Nf3 1-0", 2, 6, "{", Problem::UnclosedComment),
        ("1. e4 { a { b } e5 } 2. Nf3 1-0", 2, 19, "}", Problem::StrayBrace),
        ("1. e4 (1. d4 e5 2. Nf3 1-0", 2, 6, "(", Problem::UnclosedVariation),
        ("1. e4 1-0 1. d4 0-1", 2, 13, "d4", Problem::AfterResult),
        ("1. e4 0-1</pre> <p>a b4 {unclosed", 2, 21, "b4", Problem::AfterResult),
    ] {
        let fault = fault(&with_tags(movetext));
        assert_eq!(
            (fault.ply, fault.offset, fault.token.as_str()),
            (ply, Some((begin + at) as u64), token),
            "{movetext}"
        );
        assert_eq!(discriminant(&fault.problem), discriminant(&problem), "{movetext}: {fault}");
    }
}

#[test]
fn an_ambiguous_move_is_not_guessed() {
    let pinned = "1. d4 e6 2. Nf3 Bb4+ 3. Nc3 a6 4. Nd2 *"; // the knight on c3 is pinned
    assert!(read_game(pinned.as_bytes()).is_ok());
    let free = "1. Nf3 a6 2. d4 a5 3. Nd2 *";
    assert!(matches!(read_game(free.as_bytes()).unwrap_err().problem, Problem::AmbiguousMove));
}

#[test]
fn a_broken_variation_leaves_the_main_line() {
    let error = read_game(b"1. e4 e5 (1... c5 2. Nf7 {lost} d6) (1... e6 {kept}) 2. Nf3 1-0").unwrap_err();
    assert!(matches!(error.problem, Problem::IllegalVariation), "{error}");
    assert_eq!((error.ply, error.offset, error.token.as_str()), (3, None, "Nf7"));
    let game = *error.readable.unwrap();
    assert_eq!(game.mainline().count(), 3);
    let first = game.mainline().next().unwrap();
    assert_eq!(game.children(first).count(), 3);
    assert_eq!(game.result.to_string(), "1-0");
}

#[test]
fn skipped_variations_cannot_break_a_game() {
    let pgn = b"1. e4 e5 (1... c5 2. Nf7 (2. x)) 2. Nf3! {good} 1-0".as_slice();
    let options = ReadOptions { variations: Variations::Skip, ..ReadOptions::default() };
    let game = PgnReader::with_options(RawGames::new(pgn), options).next().unwrap().unwrap();
    assert!(game.mainline().all(|node| game.children(node).count() <= 1));
    let notes = game.notes(game.last());
    assert_eq!((notes.after.as_str(), notes.nags.len()), ("good", 1));
}

#[test]
fn moves_before_the_fault_are_readable() {
    let error = read_game(b"[White \"A\"]\n\n1. e4 {b} e5 2. Nf3 Nf3 3. Bb5 1-0").unwrap_err();
    let game = error.readable.unwrap();
    assert_eq!((game.mainline().count(), game.headers.get("White")), (3, Some("A")));
}

#[test]
fn invalid_fen_and_variant_tags_are_errors() {
    let illegal = fault(b"[Event \"x\"]\n[FEN \"8/8/8/8/8/8/8/8 w - - 0 1\"]\n\n1. e4 *");
    assert!(matches!(illegal.problem, Problem::BadFen(FenError::Position(_))), "{illegal}");
    assert_eq!(illegal.token, "8/8/8/8/8/8/8/8 w - - 0 1");
    let rubbish = fault(b"[Event \"x\"]\n[FEN \"rubbish\"]\n\n1. e4 *");
    assert!(matches!(rubbish.problem, Problem::BadFen(FenError::Syntax(_))), "{rubbish}");
    let variant = fault(b"[Event \"x\"]\n[Variant \"Atomic\"]\n\n1. e4 *");
    assert!(matches!(variant.problem, Problem::UnsupportedVariant) && variant.token == "Atomic", "{variant}");
}

#[test]
fn junk_is_an_error() {
    let junk = fault(b"\x00\x01\xff\xfe junk \x7f");
    assert!(matches!(junk.problem, Problem::NoGame) && junk.token == "··ÿþ junk ·", "{junk}");
}

#[test]
fn tags_with_unescaped_quotes_or_no_bracket_do_not_lose_the_game() {
    let game =
        read_game(b"[Event \"the \"best\" game\"]\n[White \"A\"\n[Black \"B\"]\n\n\n1. e4 e5 1-0").unwrap();
    assert_eq!((game.headers.get("White"), game.headers.get("Black")), (Some("A"), Some("B")));
    assert_eq!(game.mainline().count(), 2);
}

#[test]
fn giant_comments_and_tags_are_complete() {
    let long = "word ".repeat(60_000);
    let game = read_game(format!("[Annotator \"{}\"]\n\n1. e4 {{{long}}} e5 *", &long[..10_000]).as_bytes())
        .unwrap();
    let first = game.mainline().next().unwrap();
    assert_eq!(game.notes(first).after, long.trim());
    assert_eq!(game.headers.get("Annotator").map(str::len), Some(10_000));
    let error = read_game(format!("[Annotator \"{}", "x".repeat(200_000)).as_bytes()).unwrap_err();
    assert!(matches!(error.problem, Problem::UnclosedTag));
}

#[test]
fn blank_lines_inside_a_game_do_not_end_it() {
    let pgn = b"[Event \"a\"]\n\n{Intro}\n\n1. e4 e5\n\n2. Nf3 (2. f4\n\nexf4) 2... Nc6\r\n\r\n3. Bb5 1-0\n";
    let games: Vec<Game> = PgnReader::new(pgn.as_slice()).map(Result::unwrap).collect();
    assert_eq!(games.len(), 1);
    assert_eq!(games[0].mainline().count(), 5);
    assert_eq!(games[0].notes(tabia_game::NodeId::ROOT).after, "Intro");
}

#[test]
fn a_missing_result_can_be_accepted_or_rejected() {
    let pgn = b"[Result \"0-1\"]\n\n1. e4 e5".as_slice();
    assert_eq!(read_game(pgn).unwrap().result.to_string(), "0-1");
    let options = ReadOptions { missing_result: MissingResult::Reject, ..ReadOptions::default() };
    let error = PgnReader::with_options(RawGames::new(pgn), options).next().unwrap().unwrap_err();
    assert!(matches!(error.problem, Problem::NoResult) && error.ply == 3, "{error}");
}

#[test]
fn old_files_are_latin_1() {
    let game = read_game(b"[White \"M\xfcller\"]\n\n1. e4 {sch\xf6n} *").unwrap();
    assert_eq!(game.headers.get("White"), Some("Müller"));
    assert_eq!(game.notes(game.last()).after, "schön");
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let mut text = "1. Nf3 Nf6".to_owned();
    for _ in 0..20_000 {
        text.push_str(" (1... Nc6 2. Ng1 Nb8 3. Nf3 Nf6");
    }
    text.push_str(&")".repeat(20_000));
    text.push_str(" *");
    let game = read_game(text.as_bytes()).unwrap();
    let mut out = Vec::new();
    tabia_game::write_game(&game, &mut out).unwrap();
    assert_eq!(game.mainline().count(), 2);
}

/// Truncated games and games with a changed byte never panic.
#[test]
fn mutated_games_never_panic() {
    let whole = include_bytes!("../../../fixtures/golden.pgn");
    for cut in (0..whole.len()).step_by(7) {
        let _: usize = PgnReader::new(&whole[..cut]).count();
        let _: usize = PgnReader::new(&whole[cut..]).count();
    }
    for (at, replacement) in (0..whole.len()).step_by(3).zip(b"{}()[]\";%*\0\xff1-/O\n\\".iter().cycle()) {
        let mut mutilated = whole.to_vec();
        mutilated[at] = *replacement;
        assert!(PgnReader::new(mutilated.as_slice()).count() > 0);
    }
}

#[test]
fn a_variant_tag_after_stray_text_is_an_error() {
    let pgn = "[White \"?\"])\n[Variant \"Atomic\"]\n\n1. f3 *\n";
    let broken = PgnReader::new(pgn.as_bytes()).next().unwrap().unwrap_err();
    assert!(matches!(broken.problem, Problem::UnsupportedVariant), "{broken}");
}
