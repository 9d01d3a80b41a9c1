//! The client against an engine that misbehaves on demand. No test leaves a process behind.
#![cfg(target_os = "linux")] // reads /proc

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use shakmaty::{CastlingMode, Color, Position as _, uci::UciMove};
use tabia_uci::{
    client::{Client, EngineConfig, EngineError, EngineErrorKind, SearchEnd},
    message::{GameHistory, Go, MoverScore, OptionError, OptionSpec, Position, StartPosition},
};

const FAKE: &str = env!("CARGO_BIN_EXE_tabia-fake-engine");

/// Never reached, even on a busy machine.
const LONG: Duration = Duration::from_secs(60);
/// For engines that never reply.
const SHORT: Duration = Duration::from_millis(150);

fn config(mode: &str) -> EngineConfig {
    let mut config = EngineConfig::new(FAKE).arg(mode);
    config.timeouts.handshake = LONG;
    config.timeouts.ready = LONG;
    config.timeouts.margin = LONG;
    config.timeouts.untimed = LONG;
    config.timeouts.stop = LONG;
    config.timeouts.quit = LONG;
    config
}

fn exists(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// An unused path in the test's folder.
fn fresh_file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    // May be left by a failed test.
    let _ = std::fs::remove_file(&path);
    path
}

/// The error of an engine that fails at startup.
fn start_error(config: EngineConfig) -> EngineError {
    Client::start(config).err().expect("the engine must not start")
}

fn start() -> GameHistory {
    GameHistory::default()
}

#[test]
fn handshake_and_search() {
    let client = Client::start(config("good")).unwrap();
    assert_eq!(client.info().name, "Fake 1.0");
    assert_eq!(client.info().author.as_deref(), Some("nobody at all"));
    assert_eq!(client.info().options.len(), 4);
    assert_eq!(client.info().options[2], OptionSpec::button("Clear Hash"));
    let mut game = start();
    for expected in ["a2a3", "a7a5", "a1a2", "a5a4"] {
        let result = client.search(&game, &Go::depth(1)).unwrap();
        assert_eq!(UciMove::from_standard(result.best).to_string(), expected);
        assert_eq!(result.ended_by, SearchEnd::Engine);
        assert!(game.push(result.best));
    }
    client.new_game().unwrap();
    let process = client.process_id().unwrap();
    assert!(exists(process));
    assert_eq!(client.restarts(), 0);
    drop(client);
    assert!(!exists(process), "still running or a zombie");
}

#[test]
fn options_are_validated() {
    let client = Client::start(config("good").option("hash", "64")).unwrap();
    client.set_option("Style", Some("wild")).unwrap();
    client.set_option("clear hash", None).unwrap();
    let option_error = |error: EngineError| {
        assert_eq!(error.engine, "Fake 1.0");
        let EngineErrorKind::Option(error) = error.kind else { panic!("{error}") };
        error
    };
    let error = |name, value| option_error(client.set_option(name, value).unwrap_err());
    assert!(
        matches!(error("Elo", Some("1500")), OptionError::Unknown { similar, .. } if similar == ["UCI_Elo"])
    );
    assert!(matches!(error("UCI_Elo", Some("100")), OptionError::InvalidValue { .. }));
    assert!(matches!(error("Style", Some("Odd")), OptionError::InvalidValue { .. }));
    assert_eq!(client.restarts(), 0);

    let error = option_error(start_error(config("good").option("Threads", "2")));
    assert!(matches!(error, OptionError::Unknown { .. }), "{error}");
}

#[test]
fn engines_that_fail_at_startup() {
    let error = start_error(EngineConfig::new("/nowhere/engine"));
    assert!(matches!(error.kind, EngineErrorKind::Spawn(_)), "{error}");
    assert_eq!(error.engine, "/nowhere/engine");

    let mut silent = config("no-handshake");
    silent.timeouts.handshake = Duration::from_millis(700);
    let error = start_error(silent);
    assert!(matches!(error.kind, EngineErrorKind::Timeout { expected: "uciok", .. }), "{error}");

    let error = start_error(config("dies-first"));
    assert_eq!(error.engine, "tabia-fake-engine");
    assert!(
        matches!(error.kind, EngineErrorKind::Exited(Some(status)) if status.code() == Some(3)),
        "{error}"
    );

    let mut busy = config("never-ready");
    busy.timeouts.ready = SHORT;
    let error = start_error(busy);
    assert!(matches!(error.kind, EngineErrorKind::Timeout { expected: "readyok", .. }), "{error}");
}

#[test]
fn crashes_are_reported_with_a_transcript_and_restarted() {
    let mut config = config("crashes").option("Hash", "32");
    config.max_restarts = 2;
    let client = Client::start(config).unwrap();
    for restarts in 0..=2 {
        let error = client.search(&start(), &Go::depth(1)).unwrap_err();
        assert_eq!(client.restarts(), restarts);
        assert!(
            matches!(error.kind, EngineErrorKind::Exited(Some(status)) if status.code() == Some(139)),
            "{error}"
        );
        // Options are set again after each restart.
        for line in ["> go depth 1", "! segmentation fault, or so", "> setoption name Hash value 32"] {
            assert!(error.transcript.lines().iter().any(|sent| sent == line), "{error}");
        }
        assert_eq!(client.process_id(), None);
    }
    let error = client.search(&start(), &Go::depth(1)).unwrap_err();
    assert!(matches!(error.kind, EngineErrorKind::TooManyRestarts(2)), "{error}");
}

#[test]
fn crashed_engine_plays_on_after_restart() {
    let file = fresh_file("crashes-once");
    let client = Client::start(config("crashes-once").arg(&file)).unwrap();
    let error = client.search(&start(), &Go::depth(1)).unwrap_err();
    assert!(matches!(error.kind, EngineErrorKind::Exited(_)), "{error}");
    assert!(client.search(&start(), &Go::depth(1)).is_ok());
    assert_eq!(client.restarts(), 1);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn hanging_engine_is_killed() {
    for mode in ["hangs", "deaf"] {
        let mut config = config(mode);
        config.timeouts.margin = SHORT;
        config.timeouts.stop = SHORT;
        let client = Client::start(config).unwrap();
        let process = client.process_id().unwrap();
        let error = client.search(&start(), &Go::move_time(SHORT)).unwrap_err();
        assert!(matches!(error.kind, EngineErrorKind::Timeout { expected: "bestmove", .. }), "{error}");
        assert_eq!(error.transcript.lines().last().map(String::as_str), Some("> stop"));
        assert!(!exists(process));
        client.new_game().unwrap();
        assert_eq!(client.restarts(), 1);
    }
}

#[test]
fn late_engine_is_stopped() {
    let mut config = config("slow");
    config.timeouts.margin = SHORT;
    let client = Client::start(config).unwrap();
    let result = client.search(&start(), &Go::move_time(SHORT)).unwrap();
    assert_eq!(result.ended_by, SearchEnd::Timeout);
    assert_eq!(client.restarts(), 0);
}

#[test]
fn pondering_has_no_deadline_before_ponderhit() {
    let mut config = config("good");
    config.timeouts.margin = Duration::ZERO;
    let client = Client::start(config).unwrap();
    let search = client.start_search(&start(), &Go { ponder: true, ..Go::move_time(LONG) }, |_| {});
    search.handle().ponder_hit();
    assert_eq!(search.wait().unwrap().ended_by, SearchEnd::Engine);
    let search = client.start_search(&start(), &Go { ponder: true, ..Go::move_time(Duration::ZERO) }, |_| {});
    std::thread::sleep(SHORT);
    search.handle().stop();
    assert_eq!(search.wait().unwrap().ended_by, SearchEnd::Stopped);
}

#[test]
fn infinite_search_ends_on_stop() {
    let client = Client::start(config("good")).unwrap();
    let search = client.start_search(&start(), &Go::infinite(), |_| {});
    let interrupt = search.handle();
    let stopper = std::thread::spawn(move || interrupt.stop());
    let result = search.wait().unwrap();
    assert_eq!(result.ended_by, SearchEnd::Stopped);
    stopper.join().unwrap();
    // The result of an abandoned search is not taken for that of the next one.
    drop(client.start_search(&start(), &Go::infinite(), |_| {}));
    assert_eq!(client.search(&start(), &Go::depth(1)).unwrap().ended_by, SearchEnd::Engine);
    assert_eq!(client.restarts(), 0);
}

#[test]
fn illegal_best_moves_are_errors() {
    for (mode, answer) in
        [("illegal", "bestmove e1e8"), ("nonsense", "bestmove Nf3"), ("none", "bestmove (none)")]
    {
        let client = Client::start(config(mode)).unwrap();
        let error = client.search(&start(), &Go::depth(1)).unwrap_err();
        assert_eq!(error.transcript.lines().last(), Some(&format!("< {answer}")));
        match error.kind {
            EngineErrorKind::IllegalMove { reply, fen } => {
                assert_eq!(reply, answer);
                assert!(fen.starts_with("rnbqkbnr/"));
            }
            other => panic!("{mode}: {other}"),
        }
    }
}

#[test]
fn second_bestmove_is_ignored() {
    let client = Client::start(config("twice")).unwrap();
    for _ in 0..20 {
        client.search(&start(), &Go::depth(1)).unwrap();
    }
}

#[test]
fn endless_output_times_out() {
    let mut config = config("floods");
    config.timeouts.margin = SHORT;
    config.timeouts.stop = SHORT;
    let client = Client::start(config).unwrap();
    let error = client.search(&start(), &Go::move_time(SHORT)).unwrap_err();
    assert!(matches!(error.kind, EngineErrorKind::Timeout { expected: "bestmove", .. }), "{error}");
    assert!(error.to_string().len() < 10_000);
}

#[test]
fn large_output_is_read_completely() {
    let client = Client::start(config("floods-and-answers")).unwrap();
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let search = client.start_search(&start(), &Go::depth(1), move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let result = search.wait().unwrap();
    assert_eq!(result.lines.len(), 1);
    assert_eq!(heard.load(Ordering::Relaxed), 50_000);
}

#[test]
fn junk_and_windows_line_endings_are_ignored() {
    let client = Client::start(config("chatty")).unwrap();
    let result = client.search(&start(), &Go::depth(1)).unwrap();
    assert_eq!(result.lines.len(), 2);
    assert_eq!(result.lines[0].score, Some(MoverScore::Centipawns(10).into()));
    assert_eq!(result.lines[1].pv.len(), 1);
    assert_eq!(result.ponder, None, "h7h8 is not legal");
}

#[test]
fn finished_game_is_not_searched() {
    let client = Client::start(config("good")).unwrap();
    let mut game = start();
    for mv in ["f2f3", "e7e5", "g2g4", "d8h4"] {
        let mv: UciMove = mv.parse().unwrap();
        assert!(game.push(mv.to_move(game.current()).unwrap()));
    }
    assert_eq!(game.current().turn(), Color::White);
    let error = client.search(&game, &Go::depth(1)).unwrap_err();
    assert!(matches!(error.kind, EngineErrorKind::GameOver(_)), "{error}");
}

#[test]
fn engine_that_ignores_quit_is_killed() {
    let mut config = config("ignores-quit");
    config.timeouts.quit = SHORT;
    let client = Client::start(config).unwrap();
    let process = client.process_id().unwrap();
    drop(client);
    assert!(!exists(process));
}

#[test]
fn dropping_the_client_during_a_search_kills_the_engine() {
    let mut config = config("hangs");
    config.timeouts.quit = SHORT;
    let client = Client::start(config).unwrap();
    let process = client.process_id().unwrap();
    let search = client.start_search(&start(), &Go::infinite(), |_| {});
    drop(client);
    assert!(matches!(search.wait().unwrap_err().kind, EngineErrorKind::Closed));
    assert!(!exists(process));
}

/// Whether a process runs. A killed grandchild may stay a zombie until init reaps it.
fn runs(process: &str) -> bool {
    std::fs::read_to_string(Path::new("/proc").join(process).join("stat"))
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

#[test]
fn children_of_the_engine_are_killed() {
    let file = fresh_file("has-child");
    let client = Client::start(config("has-child").arg(&file)).unwrap();
    client.search(&start(), &Go::depth(1)).unwrap();
    let child = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    assert!(runs(&child));
    drop(client);
    // The signal is delivered asynchronously.
    while runs(&child) {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::remove_file(file).unwrap();
}

fn game(fen: &str, mode: CastlingMode) -> GameHistory {
    let position = Position { start: StartPosition::Fen(fen.to_owned()), moves: Vec::new() };
    position.resolve_in(mode).expect("a legal position")
}

#[test]
fn chess960_is_switched_on_for_the_games_that_need_it() {
    let client = Client::start(config("chess960")).unwrap();
    assert!(client.info().plays_chess960());
    // Castling comes before every other move of the alphabet, and is only a king's move without the option.
    let only_castling = "7k/8/8/8/8/p1p5/P1P5/RK6 w A - 0 1";
    let standard = "7k/8/8/8/8/pp6/PP6/R3K3 w Q - 0 1";
    for _ in 0..2 {
        let other = client.search(&game(only_castling, CastlingMode::Chess960), &Go::depth(1)).unwrap();
        assert_eq!(other.best.to_uci(CastlingMode::Chess960).to_string(), "b1a1");
        assert!(other.best.is_castle());
        let usual = client.search(&game(standard, CastlingMode::Standard), &Go::depth(1)).unwrap();
        assert!(!usual.best.is_castle());
    }
    assert_eq!(client.restarts(), 0);
}

#[test]
fn an_engine_without_the_option_does_not_play_chess960() {
    let client = Client::start(config("good")).unwrap();
    assert!(!client.info().plays_chess960());
    let game = game("7k/8/8/8/8/p1p5/P1P5/RK6 w A - 0 1", CastlingMode::Chess960);
    let error = client.search(&game, &Go::depth(1)).unwrap_err();
    assert!(matches!(error.kind, EngineErrorKind::NoChess960), "{error}");
    assert!(error.to_string().contains("UCI_Chess960"), "{error}");
    client.search(&start(), &Go::depth(1)).expect("it still plays chess");
}
