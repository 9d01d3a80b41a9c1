//! An engine for the client's tests that misbehaves as its first argument says. It plays the alphabetically first move.

use std::{
    fs::OpenOptions,
    io::{self, BufRead, Write},
    process::{Command as Program, ExitCode, Stdio},
    thread::sleep,
    time::Duration,
};

use shakmaty::{CastlingMode, Position as _};
use tabia_uci::message::{Command, GameHistory};

const FOREVER: Duration = Duration::from_secs(3600);

fn main() -> ExitCode {
    let mode = std::env::args().nth(1).unwrap_or_default();
    let file = std::env::args().nth(2).unwrap_or_default();
    let mut game = GameHistory::default();
    let mut castling = CastlingMode::Standard;
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        match line.parse::<Command>() {
            Ok(Command::Uci) => match mode.as_str() {
                "no-handshake" => print("hello, I speak xboard"),
                "dies-first" => return ExitCode::from(3),
                "chess960" => handshake(&["option name UCI_Chess960 type check default false"]),
                _ => handshake(&[]),
            },
            Ok(Command::IsReady) if mode == "never-ready" => {}
            Ok(Command::IsReady) => print("readyok"),
            Ok(Command::SetOption { name, value }) => {
                if name == "UCI_Chess960" {
                    castling = CastlingMode::from_chess960(value.as_deref() == Some("true"));
                }
                print_error(&format!("set {name} to {value:?}"));
            }
            Ok(Command::Position(position)) => {
                game = position.resolve_in(castling).expect("a legal position");
            }
            Ok(Command::Go(go)) => {
                let best = first_move(&game);
                match mode.as_str() {
                    "crashes" => {
                        print_error("segmentation fault, or so");
                        return ExitCode::from(139);
                    }
                    // Works after a restart: the file marks the first run.
                    "crashes-once" if OpenOptions::new().write(true).create_new(true).open(&file).is_ok() => {
                        return ExitCode::from(1);
                    }
                    "hangs" => sleep(FOREVER),
                    "deaf" | "slow" => {}
                    "illegal" => print("bestmove e1e8"),
                    "nonsense" => print("bestmove Nf3"),
                    "none" => print("bestmove (none)"),
                    "floods" => loop {
                        let line = format!("info depth 1 string {}", "x".repeat(1000));
                        if writeln!(io::stdout(), "{line}").is_err() {
                            return ExitCode::FAILURE;
                        }
                    },
                    "floods-and-answers" => {
                        for _ in 0..50_000 {
                            print("info depth 1 score cp 3 pv a2a3");
                            print_error("and on standard error");
                        }
                        print(&"y".repeat(1 << 20));
                        print(&format!("bestmove {best}"));
                    }
                    "chatty" => {
                        print("info string the bestmove may be e2e5");
                        print("my bestmove e2e5 is not meant");
                        io::stdout().write_all(b"\xff\xfe\x00 junk\r\n").expect("stdout is open");
                        print("info depth 2 multipv 2 score cp -5 pv b2b3 zzz\r");
                        print("info depth 3 seldepth 9 future 7 multipv 1 score cp 10 pv a2a3\r");
                        print(&format!("bestmove {best} ponder h7h8\r"));
                    }
                    "twice" => {
                        print(&format!("bestmove {best}"));
                        print("bestmove e1e8");
                    }
                    "has-child" => {
                        child(&file);
                        print(&format!("bestmove {best}"));
                    }
                    _ if go.waits() => {}
                    _ => print(&format!("bestmove {best}")),
                }
            }
            Ok(Command::Stop) if mode != "deaf" => print(&format!("bestmove {}", first_move(&game))),
            Ok(Command::PonderHit) => print(&format!("bestmove {}", first_move(&game))),
            Ok(Command::Quit) => match mode.as_str() {
                "ignores-quit" => sleep(FOREVER),
                _ => return ExitCode::SUCCESS,
            },
            _ => {}
        }
    }
    if mode == "ignores-quit" {
        sleep(FOREVER);
    }
    ExitCode::SUCCESS
}

fn print(line: &str) {
    let mut output = io::stdout().lock();
    // The client may have closed the pipe.
    let _ = output.write_all(line.as_bytes()).and_then(|()| output.write_all(b"\n"));
    let _ = output.flush();
}

fn print_error(line: &str) {
    // The client may have closed the pipe.
    let _ = writeln!(io::stderr(), "{line}");
}

fn handshake(more: &[&str]) {
    print("Fake 1.0 by nobody, no option given");
    print("id name Fake 1.0\r");
    print("id author nobody at all");
    print("option name Hash type spin default 16 min 1 max 1024");
    print("option name UCI_Elo type spin default 1500 min 1350 max 2850");
    print("option name Clear Hash type button");
    print("option name Style type combo default Calm var Calm var Wild");
    print("option name broken");
    more.iter().for_each(|line| print(line));
    print("uciok");
}

fn first_move(game: &GameHistory) -> String {
    let moves = game.current().legal_moves();
    let names = moves.iter().map(|&mv| mv.to_uci(game.castling_mode()).to_string());
    names.min().expect("a legal move")
}

/// Starts a process that would outlive this one, and writes its id to a file.
#[expect(clippy::zombie_processes, reason = "the test checks that the client kills it")]
fn child(file: &str) {
    let sleeper = Program::new("sleep")
        .arg("3600")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("sleep is installed");
    let mut file = OpenOptions::new().append(true).create(true).open(file).expect("a writable file");
    writeln!(file, "{}", sleeper.id()).expect("a writable file");
}
