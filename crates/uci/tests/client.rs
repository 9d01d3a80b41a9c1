//! The client against an engine that misbehaves in every way we could think of: each is named, none leaves a process.
#![cfg(target_os = "linux")] // looks for processes in /proc

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use shakmaty::{Color, Position as _, uci::UciMove};
use tabia_uci::{
    client::{Client, Cue, Fault, Launch},
    message::{GameSoFar, Go, MoverScore, OptionFault, OptionSpec},
};

const FAKE: &str = env!("CARGO_BIN_EXE_tabia-fake-engine");

/// Long enough for a busy machine, where silence would be a bug of ours.
const LONG: Duration = Duration::from_secs(60);
/// Short, where the engine will stay silent whatever we do.
const SHORT: Duration = Duration::from_millis(150);

fn launch(manner: &str) -> Launch {
    let mut launch = Launch::new(FAKE).argument(manner);
    launch.patience.handshake = LONG;
    launch.patience.ready = LONG;
    launch.patience.margin = LONG;
    launch.patience.unclocked = LONG;
    launch.patience.stop = LONG;
    launch.patience.quit = LONG;
    launch
}

fn exists(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// A path in the test's own folder where no file is.
fn fresh_file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    // It is there only after a test that failed.
    let _ = std::fs::remove_file(&path);
    path
}

fn start() -> GameSoFar {
    GameSoFar::default()
}

#[test]
fn an_engine_says_what_it_is_and_moves() {
    let client = Client::start(launch("good")).unwrap();
    assert_eq!(client.about().name, "Fake 1.0");
    assert_eq!(client.about().author.as_deref(), Some("nobody at all"));
    assert_eq!(client.about().options.len(), 4);
    assert_eq!(client.about().options[2], OptionSpec::button("Clear Hash"));
    let mut game = start();
    for expected in ["a2a3", "a7a5", "a1a2", "a5a4"] {
        let thought = client.think(&game, &Go::depth(1)).unwrap();
        assert_eq!(UciMove::from_standard(thought.best).to_string(), expected);
        assert_eq!(thought.cue, Cue::Own);
        assert!(game.push(thought.best));
    }
    client.new_game().unwrap();
    let process = client.process_id().unwrap();
    assert!(exists(process));
    assert_eq!(client.restarts(), 0);
    drop(client);
    assert!(!exists(process), "the engine is still there, or a zombie");
}

#[test]
fn options_are_checked_against_what_the_engine_offers() {
    let client = Client::start(launch("good").option("hash", "64")).unwrap();
    client.set_option("Style", Some("wild")).unwrap();
    client.set_option("clear hash", None).unwrap();
    let fault = |name, value| match client.set_option(name, value).unwrap_err() {
        Fault::Option { engine, fault } => {
            assert_eq!(engine, "Fake 1.0");
            fault.to_string()
        }
        other => panic!("{other}"),
    };
    assert_eq!(fault("Elo", Some("1500")), "there is no option 'Elo'; there is UCI_Elo");
    assert!(fault("UCI_Elo", Some("100")).contains("from 1350 to 2850"));
    assert!(fault("Style", Some("Odd")).contains("one of Calm, Wild"));
    // Asking for what is not there is no reason to start again.
    assert_eq!(client.restarts(), 0);

    let Err(fault) = Client::start(launch("good").option("Threads", "2")) else {
        panic!("there is no such option")
    };
    assert!(matches!(fault, Fault::Option { fault: OptionFault::Unknown { .. }, .. }), "{fault}");
}

#[test]
fn a_program_that_is_not_there() {
    let Err(fault) = Client::start(Launch::new("/nowhere/engine")) else { panic!("it cannot start") };
    assert!(fault.to_string().starts_with("cannot start /nowhere/engine: "), "{fault}");
}

#[test]
fn a_program_that_speaks_something_else() {
    let mut launch = launch("no-handshake");
    launch.patience.handshake = Duration::from_millis(700);
    let Err(fault) = Client::start(launch) else { panic!("it never says uciok") };
    assert!(matches!(fault, Fault::NoHandshake { .. }), "{fault}");
    assert!(fault.to_string().contains("did not say uciok"), "{fault}");
}

#[test]
fn a_program_that_ends_at_once() {
    let Err(fault) = Client::start(launch("dies-first")) else { panic!("it ends") };
    assert!(fault.to_string().starts_with("tabia-fake-engine ended (exit status: 3)"), "{fault}");
}

#[test]
fn an_engine_that_never_gets_ready() {
    let mut launch = launch("never-ready");
    launch.patience.ready = SHORT;
    let Err(fault) = Client::start(launch) else { panic!("it never says readyok") };
    assert!(matches!(fault, Fault::NotReady { .. }), "{fault}");
}

#[test]
fn a_crash_is_reported_with_the_last_lines_and_the_engine_started_again() {
    let mut launch = launch("crashes").option("Hash", "32");
    launch.most_restarts = 2;
    let client = Client::start(launch).unwrap();
    for restarts in 0..=2 {
        let fault = client.think(&start(), &Go::depth(1)).unwrap_err();
        assert_eq!(client.restarts(), restarts);
        let text = fault.to_string();
        assert!(matches!(fault, Fault::Died { .. }), "{text}");
        assert!(text.contains("exit status: 139") && text.contains("> go depth 1"), "{text}");
        assert!(text.contains("! segmentation fault, or so"), "{text}");
        // The options are set again each time.
        assert!(text.contains("> setoption name Hash value 32"), "{text}");
        assert_eq!(client.process_id(), None);
    }
    let fault = client.think(&start(), &Go::depth(1)).unwrap_err();
    assert!(matches!(fault, Fault::GaveUp { restarts: 2, .. }), "{fault}");
}

#[test]
fn an_engine_that_crashed_plays_on_when_started_again() {
    let file = fresh_file("crashes-once");
    let client = Client::start(launch("crashes-once").argument(&file)).unwrap();
    assert!(matches!(client.think(&start(), &Go::depth(1)), Err(Fault::Died { .. })));
    assert!(client.think(&start(), &Go::depth(1)).is_ok());
    assert_eq!(client.restarts(), 1);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn an_engine_that_hangs_is_killed() {
    for manner in ["hangs", "deaf"] {
        let mut launch = launch(manner);
        launch.patience.margin = SHORT;
        launch.patience.stop = SHORT;
        let client = Client::start(launch).unwrap();
        let process = client.process_id().unwrap();
        let fault = client.think(&start(), &Go::move_time(SHORT)).unwrap_err();
        assert!(matches!(fault, Fault::Silent { .. }), "{fault}");
        assert!(fault.to_string().ends_with("> stop"), "{fault}");
        assert!(!exists(process));
        client.new_game().unwrap();
        assert_eq!(client.restarts(), 1);
    }
}

#[test]
fn an_engine_past_its_deadline_is_told_to_stop() {
    let mut launch = launch("slow");
    launch.patience.margin = SHORT;
    let client = Client::start(launch).unwrap();
    let thought = client.think(&start(), &Go::move_time(SHORT)).unwrap();
    assert_eq!(thought.cue, Cue::Overdue);
    assert_eq!(client.restarts(), 0);
}

#[test]
fn pondering_has_no_deadline_until_the_move_is_played() {
    let mut launch = launch("good");
    launch.patience.margin = Duration::ZERO;
    let client = Client::start(launch).unwrap();
    let thinking = client.begin(&start(), &Go { ponder: true, ..Go::move_time(LONG) }, |_| {});
    thinking.interrupt().ponder_hit();
    assert_eq!(thinking.wait().unwrap().cue, Cue::Own);
    let thinking = client.begin(&start(), &Go { ponder: true, ..Go::move_time(Duration::ZERO) }, |_| {});
    std::thread::sleep(SHORT);
    thinking.interrupt().stop();
    assert_eq!(thinking.wait().unwrap().cue, Cue::Stopped);
}

#[test]
fn thinking_without_end_ends_when_stopped() {
    let client = Client::start(launch("good")).unwrap();
    let thinking = client.begin(&start(), &Go::infinite(), |_| {});
    let interrupt = thinking.interrupt();
    let stopper = std::thread::spawn(move || interrupt.stop());
    let thought = thinking.wait().unwrap();
    assert_eq!(thought.cue, Cue::Stopped);
    stopper.join().unwrap();
    // An answer nobody waits for does not answer the next question.
    drop(client.begin(&start(), &Go::infinite(), |_| {}));
    assert_eq!(client.think(&start(), &Go::depth(1)).unwrap().cue, Cue::Own);
    assert_eq!(client.restarts(), 0);
}

#[test]
fn answers_that_are_no_legal_moves() {
    for (manner, answer) in
        [("illegal", "bestmove e1e8"), ("nonsense", "bestmove Nf3"), ("none", "bestmove (none)")]
    {
        let client = Client::start(launch(manner)).unwrap();
        match client.think(&start(), &Go::depth(1)).unwrap_err() {
            Fault::IllegalMove { answer: said, fen, recent, .. } => {
                assert_eq!(said, answer);
                assert!(fen.starts_with("rnbqkbnr/"));
                assert_eq!(recent.lines().last(), Some(&format!("< {answer}")));
            }
            other => panic!("{manner}: {other}"),
        }
    }
}

#[test]
fn a_second_answer_is_not_taken_for_the_next_one() {
    let client = Client::start(launch("twice")).unwrap();
    for _ in 0..20 {
        client.think(&start(), &Go::depth(1)).unwrap();
    }
}

#[test]
fn an_endless_flood_is_cut_off() {
    let mut launch = launch("floods");
    launch.patience.margin = SHORT;
    launch.patience.stop = SHORT;
    let client = Client::start(launch).unwrap();
    let fault = client.think(&start(), &Go::move_time(SHORT)).unwrap_err();
    assert!(matches!(fault, Fault::Silent { .. }), "{fault}");
    assert!(fault.to_string().len() < 10_000);
}

#[test]
fn a_flood_that_ends_is_read_to_its_end() {
    let client = Client::start(launch("floods-and-answers")).unwrap();
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let thinking = client.begin(&start(), &Go::depth(1), move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let thought = thinking.wait().unwrap();
    assert_eq!(thought.lines.len(), 1);
    assert_eq!(heard.load(Ordering::Relaxed), 50_000);
}

#[test]
fn chatter_junk_and_windows_line_ends_are_passed_over() {
    let client = Client::start(launch("chatty")).unwrap();
    let thought = client.think(&start(), &Go::depth(1)).unwrap();
    assert_eq!(thought.lines.len(), 2);
    assert_eq!(thought.lines[0].score, Some(MoverScore::Centipawns(10).into()));
    assert_eq!(thought.lines[1].pv.len(), 1);
    assert_eq!(thought.ponder, None, "h7h8 is not legal");
}

#[test]
fn a_game_that_is_over_is_not_asked_about() {
    let client = Client::start(launch("good")).unwrap();
    let mut game = start();
    for mv in ["f2f3", "e7e5", "g2g4", "d8h4"] {
        let mv: UciMove = mv.parse().unwrap();
        assert!(game.push(mv.to_move(game.current()).unwrap()));
    }
    assert_eq!(game.current().turn(), Color::White);
    assert!(matches!(client.think(&game, &Go::depth(1)), Err(Fault::GameOver { .. })));
}

#[test]
fn an_engine_that_ignores_quit_is_killed() {
    let mut launch = launch("ignores-quit");
    launch.patience.quit = SHORT;
    let client = Client::start(launch).unwrap();
    let process = client.process_id().unwrap();
    drop(client);
    assert!(!exists(process));
}

#[test]
fn a_client_dropped_while_its_engine_thinks_leaves_nothing() {
    let mut launch = launch("hangs");
    launch.patience.quit = SHORT;
    let client = Client::start(launch).unwrap();
    let process = client.process_id().unwrap();
    let thinking = client.begin(&start(), &Go::infinite(), |_| {});
    drop(client);
    assert!(matches!(thinking.wait(), Err(Fault::Closed { .. })));
    assert!(!exists(process));
}

/// A killed grandchild belongs to init, which reaps it when it gets to it: dead is enough.
fn runs(process: &str) -> bool {
    std::fs::read_to_string(Path::new("/proc").join(process).join("stat"))
        .is_ok_and(|stat| !stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

#[test]
fn what_an_engine_started_ends_with_it() {
    let file = fresh_file("has-child");
    let client = Client::start(launch("has-child").argument(&file)).unwrap();
    client.think(&start(), &Go::depth(1)).unwrap();
    let child = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    assert!(runs(&child));
    drop(client);
    // The signal was sent; the kernel delivers it when it schedules the process.
    while runs(&child) {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::fs::remove_file(file).unwrap();
}
