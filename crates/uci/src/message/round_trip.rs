//! What was written reads as the same message; what was read and written again reads the same.

use std::time::Duration;

use fastrand::Rng;
use shakmaty::{ByColor, Role, Square, uci::UciMove};

use super::*;

const PIECES: [&str; 44] = [
    "uci",
    "debug",
    "on",
    "isready",
    "setoption",
    "name",
    "value",
    "register",
    "later",
    "code",
    "position",
    "fen",
    "startpos",
    "moves",
    "go",
    "searchmoves",
    "wtime",
    "-5",
    "300",
    "depth",
    "movetime",
    "e2e4",
    "E7E8Q",
    "0000",
    "id",
    "author",
    "bestmove",
    "ponder",
    "(none)",
    "info",
    "score",
    "cp",
    "mate",
    "lowerbound",
    "wdl",
    "pv",
    "string",
    "option",
    "type",
    "spin",
    "combo",
    "var",
    "default",
    "<empty>",
];
const BLANKS: [&str; 7] = [" ", "  ", "\t", "\r", "\n", "\u{feff}", "\u{0}"];

fn words(rng: &mut Rng, most: usize) -> String {
    let count = rng.usize(1..=most);
    let word = |rng: &mut Rng| (0..rng.usize(1..8)).map(|_| rng.alphanumeric()).collect::<String>() + "x";
    (0..count).map(|_| word(rng)).collect::<Vec<_>>().join(" ")
}

fn mv(rng: &mut Rng) -> UciMove {
    let square = |rng: &mut Rng| Square::new(rng.u32(0..64));
    let promotion =
        rng.bool().then(|| rng.choice([Role::Knight, Role::Bishop, Role::Rook, Role::Queen]).unwrap());
    UciMove::Normal { from: square(rng), to: square(rng), promotion }
}

fn moves(rng: &mut Rng) -> Vec<UciMove> {
    (0..rng.usize(0..6)).map(|_| mv(rng)).collect()
}

fn maybe<T>(rng: &mut Rng, make: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    rng.bool().then(|| make(rng))
}

fn time(rng: &mut Rng) -> Duration {
    Duration::from_millis(rng.u64(0..i64::MAX as u64))
}

fn command(rng: &mut Rng) -> Command {
    match rng.u32(0..11) {
        0 => Command::Uci,
        1 => Command::Debug(rng.bool()),
        2 => Command::IsReady,
        3 => {
            let value = maybe(rng, |rng| if rng.bool() { words(rng, 4) } else { String::new() });
            Command::SetOption { name: words(rng, 3), value }
        }
        4 => Command::Register(Registration::As { name: words(rng, 3), code: words(rng, 1) }),
        5 => Command::NewGame,
        6 => {
            let start = if rng.bool() { Start::Usual } else { Start::Fen(words(rng, 6)) };
            Command::Position(Position { start, moves: moves(rng) })
        }
        7 => Command::Go(Go {
            search_moves: moves(rng),
            ponder: rng.bool(),
            clock: ByColor::new_with(|_| maybe(rng, time)),
            increment: ByColor::new_with(|_| maybe(rng, time)),
            moves_to_go: maybe(rng, |rng| rng.u32(..)),
            depth: maybe(rng, |rng| rng.u32(..)),
            nodes: maybe(rng, |rng| rng.u64(..)),
            mate: maybe(rng, |rng| rng.u32(..)),
            move_time: maybe(rng, time),
            infinite: rng.bool(),
        }),
        8 => Command::Stop,
        9 => Command::PonderHit,
        _ => Command::Quit,
    }
}

fn info(rng: &mut Rng) -> Info {
    Info {
        depth: maybe(rng, |rng| rng.u32(..)),
        seldepth: maybe(rng, |rng| rng.u32(..)),
        multipv: maybe(rng, |rng| rng.u32(..)),
        score: maybe(rng, |rng| ScoreInfo {
            score: if rng.bool() {
                MoverScore::Centipawns(rng.i32(..))
            } else {
                MoverScore::Mate(rng.i32(..))
            },
            bound: maybe(rng, |rng| if rng.bool() { Bound::Lower } else { Bound::Upper }),
        }),
        wdl: maybe(rng, |rng| MoverWdl { win: rng.u16(..), draw: rng.u16(..), loss: rng.u16(..) }),
        nodes: maybe(rng, |rng| rng.u64(..)),
        nps: maybe(rng, |rng| rng.u64(..)),
        hashfull: maybe(rng, |rng| rng.u32(..)),
        tbhits: maybe(rng, |rng| rng.u64(..)),
        sbhits: maybe(rng, |rng| rng.u64(..)),
        time: maybe(rng, time),
        cpuload: maybe(rng, |rng| rng.u32(..)),
        currmove: maybe(rng, mv),
        currmovenumber: maybe(rng, |rng| rng.u32(..)),
        refutation: moves(rng),
        currline: maybe(rng, |rng| CurrentLine { cpu: maybe(rng, |rng| rng.u32(..)), moves: moves(rng) }),
        pv: moves(rng),
        string: maybe(rng, |rng| words(rng, 5)),
    }
}

fn reply(rng: &mut Rng) -> Reply {
    match rng.u32(0..9) {
        0 => Reply::Name(words(rng, 3)),
        1 => Reply::Author(words(rng, 3)),
        2 => Reply::UciOk,
        3 => Reply::ReadyOk,
        4 => Reply::BestMove { best: maybe(rng, mv), ponder: maybe(rng, mv) },
        5 => Reply::CopyProtection(Check::Checking),
        6 => Reply::Registration(Check::Error),
        7 => Reply::Info(Box::new(info(rng))),
        _ => {
            let kind = match rng.u32(0..5) {
                0 => OptionKind::Check { default: rng.bool() },
                1 => OptionKind::Spin { default: rng.i64(..), min: rng.i64(..), max: rng.i64(..) },
                2 => OptionKind::Combo {
                    default: words(rng, 2),
                    choices: (0..rng.usize(0..4)).map(|_| words(rng, 2)).collect(),
                },
                3 => OptionKind::Button,
                _ => OptionKind::String { default: maybe(rng, |rng| words(rng, 4)).unwrap_or_default() },
            };
            Reply::Option(OptionSpec { name: words(rng, 3), kind })
        }
    }
}

#[test]
fn commands_come_back() {
    let mut rng = Rng::with_seed(1);
    for _ in 0..20_000 {
        let command = command(&mut rng);
        assert_eq!(command.to_string().parse(), Ok(command));
    }
}

#[test]
fn replies_come_back() {
    let mut rng = Rng::with_seed(2);
    for _ in 0..20_000 {
        let reply = reply(&mut rng);
        assert_eq!(reply.to_string().parse(), Ok(reply));
    }
}

#[test]
fn junk_is_read_to_a_message_that_comes_back_or_to_an_error() {
    let mut rng = Rng::with_seed(3);
    let (mut commands, mut replies) = (0, 0);
    for _ in 0..50_000 {
        let mut line = String::new();
        for _ in 0..rng.usize(0..12) {
            line.push_str(rng.choice(PIECES).unwrap());
            line.push_str(rng.choice(BLANKS).unwrap());
        }
        if let Ok(command) = line.parse::<Command>() {
            assert_eq!(command.to_string().parse(), Ok(command), "{line:?}");
            commands += 1;
        }
        if let Ok(reply) = line.parse::<Reply>() {
            assert_eq!(reply.to_string().parse(), Ok(reply), "{line:?}");
            replies += 1;
        }
    }
    assert!(commands > 10_000 && replies > 1_000, "{commands} {replies}");
}
