//! An engine that misbehaves on demand, for the client's tests. Its only argument says how.
//!
//! It plays the first legal move by the alphabet; beyond that it knows nothing.

use std::{
    fs::OpenOptions,
    io::{self, BufRead, Write},
    process::{Command as Program, ExitCode, Stdio},
    thread::sleep,
    time::Duration,
};

use shakmaty::{Position as _, uci::UciMove};
use tabia_uci::message::{Command, GameSoFar};

const FOR_EVER: Duration = Duration::from_secs(3600);

fn main() -> ExitCode {
    let manner = std::env::args().nth(1).unwrap_or_default();
    let file = std::env::args().nth(2).unwrap_or_default();
    let mut game = GameSoFar::default();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        match line.parse::<Command>() {
            Ok(Command::Uci) => match manner.as_str() {
                "no-handshake" => say("hello, I speak xboard"),
                "dies-first" => return ExitCode::from(3),
                _ => greet(),
            },
            Ok(Command::IsReady) if manner == "never-ready" => {}
            Ok(Command::IsReady) => say("readyok"),
            Ok(Command::SetOption { name, value }) => complain(&format!("set {name} to {value:?}")),
            Ok(Command::Position(position)) => game = position.resolve().expect("the client is checked too"),
            Ok(Command::Go(go)) => {
                let best = first_move(&game);
                match manner.as_str() {
                    "crashes" => {
                        complain("segmentation fault, or so");
                        return ExitCode::from(139);
                    }
                    // Works when it is started again: the file says that it was here before.
                    "crashes-once" if OpenOptions::new().write(true).create_new(true).open(&file).is_ok() => {
                        return ExitCode::from(1);
                    }
                    "hangs" => sleep(FOR_EVER),
                    "deaf" | "slow" => {}
                    "illegal" => say("bestmove e1e8"),
                    "nonsense" => say("bestmove Nf3"),
                    "none" => say("bestmove (none)"),
                    "floods" => loop {
                        let line = format!("info depth 1 string {}", "x".repeat(1000));
                        if writeln!(io::stdout(), "{line}").is_err() {
                            return ExitCode::FAILURE;
                        }
                    },
                    "floods-and-answers" => {
                        for _ in 0..50_000 {
                            say("info depth 1 score cp 3 pv a2a3");
                            complain("and on standard error");
                        }
                        say(&"y".repeat(1 << 20));
                        say(&format!("bestmove {best}"));
                    }
                    "chatty" => {
                        say("info string the bestmove may be e2e5");
                        say("my bestmove e2e5 is not meant");
                        io::stdout().write_all(b"\xff\xfe\x00 junk\r\n").expect("a listener");
                        say("info depth 2 multipv 2 score cp -5 pv b2b3 zzz\r");
                        say("info depth 3 seldepth 9 future 7 multipv 1 score cp 10 pv a2a3\r");
                        say(&format!("bestmove {best} ponder h7h8\r"));
                    }
                    "twice" => {
                        say(&format!("bestmove {best}"));
                        say("bestmove e1e8");
                    }
                    "has-child" => {
                        child(&file);
                        say(&format!("bestmove {best}"));
                    }
                    _ if go.waits() => {}
                    _ => say(&format!("bestmove {best}")),
                }
            }
            Ok(Command::Stop) if manner != "deaf" => say(&format!("bestmove {}", first_move(&game))),
            Ok(Command::PonderHit) => say(&format!("bestmove {}", first_move(&game))),
            Ok(Command::Quit) => match manner.as_str() {
                "ignores-quit" => sleep(FOR_EVER),
                _ => return ExitCode::SUCCESS,
            },
            _ => {}
        }
    }
    if manner == "ignores-quit" {
        sleep(FOR_EVER);
    }
    ExitCode::SUCCESS
}

fn say(line: &str) {
    let mut output = io::stdout().lock();
    // Whoever listened may have gone.
    let _ = output.write_all(line.as_bytes()).and_then(|()| output.write_all(b"\n"));
    let _ = output.flush();
}

fn complain(line: &str) {
    // Whoever listened may have gone.
    let _ = writeln!(io::stderr(), "{line}");
}

fn greet() {
    say("Fake 1.0 by nobody, no option given");
    say("id name Fake 1.0\r");
    say("id author nobody at all");
    say("option name Hash type spin default 16 min 1 max 1024");
    say("option name UCI_Elo type spin default 1500 min 1350 max 2850");
    say("option name Clear Hash type button");
    say("option name Style type combo default Calm var Calm var Wild");
    say("option name broken");
    say("uciok");
}

fn first_move(game: &GameSoFar) -> String {
    let moves = game.current().legal_moves();
    let names = moves.iter().map(|&mv| UciMove::from_standard(mv).to_string());
    names.min().expect("the client asks only where there is a move")
}

/// Starts a process that would outlive this one, and writes down its number.
#[expect(clippy::zombie_processes, reason = "whether it is ended by somebody else is what is tested")]
fn child(file: &str) {
    let sleeper = Program::new("sleep")
        .arg("3600")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("there is a sleep");
    let mut file = OpenOptions::new().append(true).create(true).open(file).expect("a writable file");
    writeln!(file, "{}", sleeper.id()).expect("a writable file");
}
