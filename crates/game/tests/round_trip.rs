//! Games round-trip through PGN.

use std::{num::NonZeroI32, time::Duration};

use pgn_reader::Nag;
use shakmaty::{Color, KnownOutcome, Outcome, Position};
use tabia_encoding::{ForWhite, Score};
use tabia_game::{
    Evaluation, Game, Headers, NodeId, PgnReader, SEVEN_TAG_ROSTER, position_from_fen, read_game, write_game,
};

/// A small random generator, so that failures are reproducible.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }

    fn one_in(&mut self, chance: usize) -> bool {
        self.below(chance) == 0
    }
}

/// Any text a comment keeps: words of odd characters, doubled blanks, things that look like tags and moves.
fn text(random: &mut Random) -> String {
    const WORDS: [&str; 16] = [
        "plain",
        "1.",
        "e4",
        "(",
        ")",
        "{",
        "[Event \"x\"]",
        "%",
        ";",
        "$3",
        "\"quoted\\",
        "größer",
        "",
        "*",
        "[%cal Gd2d4]",
        "averyveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryverylongword",
    ];
    let words: Vec<&str> = (0..random.below(30)).map(|_| WORDS[random.below(WORDS.len())]).collect();
    words.join(" ").trim().to_owned()
}

fn headers(random: &mut Random) -> Headers {
    let mut headers = Headers::default();
    for name in SEVEN_TAG_ROSTER.into_iter().filter(|name| *name != "Result").chain(["WhiteElo", "Annotator"])
    {
        headers.set(name, text(random)).expect("a good name");
    }
    headers
}

fn random_game(random: &mut Random, starts: &[&str]) -> Game {
    let mut game = if random.one_in(2) {
        Game::default()
    } else {
        Game::from_position(position_from_fen(starts[random.below(starts.len())]).expect("a good FEN"))
    };
    game.headers = headers(random);
    game.result = match random.below(4) {
        0 => Outcome::Unknown,
        1 => Outcome::Known(KnownOutcome::Draw),
        side => Outcome::Known(KnownOutcome::Decisive { winner: Color::from_white(side == 2) }),
    };
    let mut nodes = vec![NodeId::ROOT];
    for _ in 0..random.below(80) {
        // Mostly at the end, sometimes a variation anywhere.
        let at = if random.one_in(5) { nodes[random.below(nodes.len())] } else { nodes[nodes.len() - 1] };
        let moves = game.position(at).legal_moves();
        if moves.is_empty() {
            continue;
        }
        let is_variation = game.children(at).next().is_some();
        let known = game.children(at).count();
        let node = game.add_move(at, moves[random.below(moves.len())]).expect("a legal move");
        if game.children(at).count() == known {
            continue;
        }
        nodes.push(node);
        let notes = game.notes_mut(node);
        if is_variation && random.one_in(2) {
            notes.before = text(random);
        }
        if random.one_in(3) {
            notes.after = text(random);
        }
        if random.one_in(3) {
            notes.nags = (0..random.below(3)).map(|_| Nag(random.below(256) as u8)).collect();
        }
        if random.one_in(2) {
            notes.clock = Some(Duration::from_millis(random.below(10_000_000) as u64));
            notes.elapsed = random.one_in(2).then(|| Duration::from_secs(random.below(100) as u64));
        }
        if random.one_in(4) {
            let score = if random.one_in(2) {
                Score::Centipawns(random.below(2000) as i32 - 1000)
            } else {
                Score::Mate(NonZeroI32::new(random.below(30) as i32 - 40).expect("below zero"))
            };
            notes.evaluation =
                Some(Evaluation { score: ForWhite(score), depth: random.one_in(2).then_some(20) });
        }
    }
    game
}

#[test]
fn random_games_round_trip() {
    let fens = include_str!("../../../fixtures/positions.fen");
    let starts: Vec<&str> = fens.lines().filter(|line| !line.is_empty()).collect();
    let mut random = Random(2026);
    let games: Vec<Game> = (0..400).map(|_| random_game(&mut random, &starts)).collect();
    let mut pgn = Vec::new();
    for game in &games {
        write_game(game, &mut pgn).unwrap();
    }
    let mut read = PgnReader::new(pgn.as_slice());
    for (index, game) in games.iter().enumerate() {
        let mut alone = Vec::new();
        write_game(game, &mut alone).unwrap();
        let alone = String::from_utf8(alone).unwrap();
        assert!(read.next().unwrap().unwrap() == *game, "game {index}:\n{alone}");
    }
    assert!(read.next().is_none());
}

#[test]
fn lines_are_at_most_80_columns_where_words_allow() {
    let golden = include_bytes!("../../../fixtures/golden.pgn").as_slice();
    let mut game = PgnReader::new(golden).next().unwrap().unwrap();
    game.notes_mut(NodeId::ROOT).after = "some words of a comment ".repeat(40).trim().to_owned();
    let mut out = Vec::new();
    write_game(&game, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.lines().filter(|line| line.len() > 60).count() > 10);
}

#[test]
fn braces_in_a_comment_become_parentheses() {
    let mut game = Game::default();
    game.notes_mut(NodeId::ROOT).after = "a {b} } c".to_owned();
    let mut out = Vec::new();
    write_game(&game, &mut out).unwrap();
    assert_eq!(read_game(&out).unwrap().notes(NodeId::ROOT).after, "a (b) ) c");
}

/// The golden file is what the writer makes of what the reader read from it.
#[test]
fn the_golden_file_is_stable() {
    let golden = include_str!("../../../fixtures/golden.pgn");
    let mut out = Vec::new();
    let mut count = 0;
    for game in PgnReader::new(golden.as_bytes()) {
        write_game(&game.unwrap(), &mut out).unwrap();
        count += 1;
    }
    assert_eq!(count, 4);
    assert_eq!(String::from_utf8(out).unwrap(), golden);
}
