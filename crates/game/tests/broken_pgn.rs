//! Broken games are reported with their place, and the games around them are read.

use tabia_game::{Game, MissingResult, PgnReader, Problem, RawGames, ReadOptions, Variations, read_game};

const GOOD: &[u8] = b"[Event \"good\"]\n\n1. e4 e5 2. Nf3 1-0\n\n";

/// Reads `broken` between two good games and gives its error's text, after checking its neighbours.
fn fault(broken: &[u8]) -> String {
    let stream = [GOOD, broken, b"\n\n", GOOD].concat();
    let mut items: Vec<_> = PgnReader::new(stream.as_slice()).collect();
    assert_eq!(items.len(), 3, "{:?}", String::from_utf8_lossy(broken));
    for item in [items.pop(), items.swap_remove(0).into()] {
        let neighbour = item.expect("three items").expect("a good game");
        assert_eq!(neighbour.mainline().count(), 3);
    }
    let fault = items.pop().expect("one item left").expect_err("a broken game");
    assert_eq!((fault.place.game, fault.place.offset, fault.place.line), (2, GOOD.len() as u64, 5));
    fault.to_string()
}

fn with_tags(movetext: &str) -> Vec<u8> {
    format!("[Event \"broken\"]\n\n{movetext}").into_bytes()
}

#[test]
fn every_fault_is_named_with_its_place() {
    let begin = GOOD.len() + "[Event \"broken\"]\n\n".len();
    let expected = |ply: usize, at: usize, text: &str| {
        format!("game 2 (line 5, byte {}): at ply {ply}, byte {}: {text}", GOOD.len(), begin + at)
    };
    for (movetext, expected) in [
        ("1. e4 e5 2. Nf4 Nc6 1-0", expected(3, 12, "`Nf4` is not a legal move")),
        ("1. e4 (1. d4) {Nf3} e5 2. Ke3 *", expected(3, 26, "`Ke3` is not a legal move")),
        ("1. e4 e5 2. -- *", expected(3, 12, "`--` is not a legal move")),
        ("1. e4 e5 2. Nf3 e8Q 1-0", expected(4, 16, "`e8Q` cannot be read as a move")),
        ("1. e4 e5 2. N", expected(3, 12, "`N` cannot be read as a move")),
        ("1. e4 { e5 2. Nf3 1-0", expected(2, 6, "`{` comment does not end")),
        ("1. e4 { a { b } e5 } 2. Nf3 1-0", expected(2, 19, "`}` closes no comment")),
        ("1. e4 (1. d4 e5 2. Nf3 1-0", expected(2, 6, "`(` variation does not end")),
        ("1. e4 1-0 1. d4 0-1", expected(2, 13, "`d4` stands after the result")),
        ("1. e4 0-1</pre> <p>a b4 {unclosed", expected(2, 21, "`b4` stands after the result")),
    ] {
        assert_eq!(fault(&with_tags(movetext)), expected, "{movetext}");
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
    assert_eq!(
        error.to_string(),
        "game 1 (line 1, byte 0): at ply 3: `Nf7` is not a legal move of the variation"
    );
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
fn what_stands_before_the_fault_is_readable() {
    let error = read_game(b"[White \"A\"]\n\n1. e4 {b} e5 2. Nf3 Nf3 3. Bb5 1-0").unwrap_err();
    let game = error.readable.unwrap();
    assert_eq!((game.mainline().count(), game.headers.get("White")), (3, Some("A")));
}

#[test]
fn tags_that_set_up_nothing_are_named() {
    let place = format!("game 2 (line 5, byte {}): ", GOOD.len());
    let text = fault(b"[Event \"x\"]\n[FEN \"8/8/8/8/8/8/8/8 w - - 0 1\"]\n\n1. e4 *");
    assert!(
        text.starts_with(&format!("{place}`8/8/8/8/8/8/8/8 w - - 0 1` the FEN tag is not a legal position")),
        "{text}"
    );
    let text = fault(b"[Event \"x\"]\n[FEN \"rubbish\"]\n\n1. e4 *");
    assert!(text.starts_with(&format!("{place}`rubbish` the FEN tag is not a FEN")), "{text}");
    let text = fault(b"[Event \"x\"]\n[Variant \"Atomic\"]\n\n1. e4 *");
    assert_eq!(text, format!("{place}`Atomic` is a variant of chess that is not supported"));
}

#[test]
fn junk_is_no_game() {
    let place = format!("game 2 (line 5, byte {}): ", GOOD.len());
    assert_eq!(fault(b"\x00\x01\xff\xfe junk \x7f"), format!("{place}`··ÿþ junk ·` the text holds no game"));
}

#[test]
fn tags_with_unescaped_quotes_or_no_bracket_do_not_lose_the_game() {
    let game =
        read_game(b"[Event \"the \"best\" game\"]\n[White \"A\"\n[Black \"B\"]\n\n\n1. e4 e5 1-0").unwrap();
    assert_eq!((game.headers.get("White"), game.headers.get("Black")), (Some("A"), Some("B")));
    assert_eq!(game.mainline().count(), 2);
}

#[test]
fn giant_comments_and_tags_are_whole() {
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
fn a_missing_result_is_accepted_or_not_as_asked() {
    let pgn = b"[Result \"0-1\"]\n\n1. e4 e5".as_slice();
    assert_eq!(read_game(pgn).unwrap().result.to_string(), "0-1");
    let options = ReadOptions { missing_result: MissingResult::Reject, ..ReadOptions::default() };
    let error = PgnReader::with_options(RawGames::new(pgn), options).next().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "game 1 (line 1, byte 0): at ply 3: the moves end without a result");
}

#[test]
fn old_files_are_latin_1() {
    let game = read_game(b"[White \"M\xfcller\"]\n\n1. e4 {sch\xf6n} *").unwrap();
    assert_eq!(game.headers.get("White"), Some("Müller"));
    assert_eq!(game.notes(game.last()).after, "schön");
}

#[test]
fn deep_nesting_does_not_overflow_anything() {
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

/// Any piece of a game, and any byte of it replaced, gives games or errors and never a panic.
#[test]
fn mutilated_games_never_panic() {
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
fn a_variant_named_after_something_stray_is_still_refused() {
    let pgn = "[White \"?\"])\n[Variant \"Atomic\"]\n\n1. f3 *\n";
    let broken = PgnReader::new(pgn.as_bytes()).next().unwrap().unwrap_err();
    assert!(matches!(broken.problem, Problem::UnsupportedVariant), "{broken}");
}
