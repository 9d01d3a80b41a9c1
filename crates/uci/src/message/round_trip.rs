//! Messages round-trip: a parsed message, written and parsed again, is the same message.

use std::{fmt::Display, str::FromStr};

use fastrand::Rng;

use super::*;

/// First tokens of commands and replies.
const MESSAGES: &str = "uci debug isready setoption register ucinewgame position go stop ponderhit quit id uciok \
    readyok bestmove copyprotection registration info option";
/// Parameters, values and separators.
const TOKENS: &str = "on off name value later code startpos fen moves searchmoves ponder wtime btime winc binc \
    movestogo depth nodes mate movetime infinite author (none) none checking ok error seldepth multipv score cp \
    lowerbound upperbound wdl nps hashfull tbhits sbhits time cpuload currmove currmovenumber refutation currline pv \
    string type check spin combo button var default min max true false <empty> e2e4 E7E8Q 0000 a1h8 Clear Hash x9 \
    -5 0 7 300 65535 4294967295 -2147483648 18446744073709551615 9223372036854775807 1.5 rnbqkbnr/8 w KQkq -";
const SEPARATORS: [&str; 8] = [" ", " ", "  ", "\t", "\r", "\n", "\u{feff}", "\u{0}"];

/// Whether the line is a message.
fn round_trips<T: FromStr + Display + PartialEq + std::fmt::Debug>(line: &str) -> bool {
    let Ok(message) = line.parse::<T>() else { return false };
    assert_eq!(message.to_string().parse().ok(), Some(message), "{line:?}");
    true
}

#[test]
fn random_lines_round_trip_or_fail() {
    let mut rng = Rng::with_seed(3);
    let messages: Vec<&str> = MESSAGES.split_whitespace().collect();
    let tokens: Vec<&str> = TOKENS.split_whitespace().collect();
    let (mut commands, mut replies) = (0, 0);
    for _ in 0..200_000 {
        let mut line = String::new();
        if rng.u8(..) > 20 {
            line = format!("{} ", rng.choice(&messages).unwrap());
        }
        for _ in 0..rng.usize(0..14) {
            line.push_str(rng.choice(&tokens).unwrap());
            line.push_str(rng.choice(SEPARATORS).unwrap());
        }
        commands += usize::from(round_trips::<Command>(&line));
        replies += usize::from(round_trips::<Reply>(&line));
    }
    assert!(commands > 50_000 && replies > 30_000, "{commands} {replies}");
}

/// Lines that fuzzing found.
#[test]
fn fuzz_seeds_round_trip_or_fail() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/uci");
    let mut messages = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        for line in crate::Lines::new(bytes.as_slice(), 1 << 12).map(Result::unwrap) {
            messages += usize::from(round_trips::<Command>(&line)) + usize::from(round_trips::<Reply>(&line));
        }
    }
    assert!(messages > 30, "{messages}");
}
