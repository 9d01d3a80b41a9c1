//! The server against the scripts in tests/scripts.
//!
//! A line of a script is a command to send (`>`, with escapes `\r`, `\t` and `\xff`), an expected reply (`<`, with
//! wildcard `*`), a moment without replies (`~`), the end of the input (`.`), or a comment (`#`). After the last line
//! the server must exit without further replies.

use std::{
    io::{self, BufReader, Write},
    path::Path,
    sync::mpsc::{self, Receiver, RecvTimeoutError, Sender},
    time::Duration,
};

use shakmaty::{Move, Position as _, Role, Square, uci::UciMove};
use tabia_uci::{
    BestMove, Control, Engine, SearchRequest,
    message::{Info, MoverScore, OptionSpec, OptionValue},
    serve,
};

/// Timeout for an expected reply.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Duration of `~`.
const QUIET: Duration = Duration::from_millis(30);

/// An engine with predictable replies to `go`:
///
/// - `depth N`: reports N times and plays the alphabetically first move;
/// - `mate N`: searches until stopped;
/// - `nodes 1`: reports its options; `13` fails; `404` returns an illegal move; `666` panics.
#[derive(Default)]
struct Toy {
    hash: i64,
    style: String,
    cleared: u32,
    games: u32,
    /// What it waits for before it is prepared.
    held: Option<Receiver<()>>,
}

impl Engine for Toy {
    fn name(&self) -> String {
        "Toy\n1.0".to_owned()
    }

    fn author(&self) -> String {
        "the tests".to_owned()
    }

    fn options(&self) -> Vec<OptionSpec> {
        vec![
            OptionSpec::spin("Hash", 16, 1..=64),
            OptionSpec::button("Clear Hash"),
            OptionSpec::combo("Play Style", "calm", &["calm", "very wild"]),
            OptionSpec::string("Model File", ""),
        ]
    }

    fn prepare(&mut self) {
        if let Some(held) = &self.held {
            held.recv().expect("the test lets it go on");
        }
    }

    fn set_option(&mut self, name: &str, value: OptionValue) -> Result<(), String> {
        match (name, value) {
            ("Hash", OptionValue::Spin(size)) => self.hash = size,
            ("Clear Hash", OptionValue::Button) => self.cleared += 1,
            ("Play Style", OptionValue::Combo(style)) => self.style = style,
            ("Model File", OptionValue::String(file)) => return Err(format!("cannot read {file}")),
            other => panic!("unknown option: {other:?}"),
        }
        Ok(())
    }

    fn new_game(&mut self) {
        self.games += 1;
    }

    fn search(&mut self, request: &SearchRequest, control: &Control) -> Result<BestMove, String> {
        let position = request.game.current();
        let mut moves = position.legal_moves();
        moves.retain(|mv| request.search_moves.is_empty() || request.search_moves.contains(mv));
        moves.sort_by_key(|&mv| UciMove::from_standard(mv).to_string());
        match request.go.nodes {
            Some(1) => {
                let Toy { hash, style, cleared, games, .. } = self;
                control
                    .report(Info::text(format!("hash {hash} style {style} cleared {cleared} games {games}")));
            }
            Some(13) => return Err("unlucky".to_owned()),
            Some(404) => {
                let (from, to) = (Square::A1, Square::H8);
                let best = Move::Normal { role: Role::Queen, from, capture: None, to, promotion: None };
                return Ok(BestMove { best, ponder: None });
            }
            Some(666) => panic!("the end is near"),
            _ => {}
        }
        for depth in 1..=request.go.depth.unwrap_or(0) {
            let score = Some(MoverScore::Centipawns(5).into());
            let pv = vec![UciMove::from_standard(moves[0])];
            control.report(Info { depth: Some(depth), score, nodes: Some(20), pv, ..Info::default() });
        }
        if request.go.mate.is_some() {
            control.report(Info::text("thinking"));
            while !control.stopped() {
                std::thread::yield_now();
            }
        }
        let mut after = position.clone();
        after.play_unchecked(moves[0]);
        Ok(BestMove { best: moves[0], ponder: after.legal_moves().first().copied().or(Some(moves[0])) })
    }
}

struct Output(Sender<String>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(bytes).expect("UTF-8");
        let line = text.strip_suffix('\n').expect("whole lines");
        assert!(!line.contains('\n'), "one line at a time: {text:?}");
        self.0.send(line.to_owned()).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether a line matches a pattern with wildcard `*`.
fn matches(expected: &str, line: &str) -> bool {
    let mut parts = expected.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Encodes a command with its escapes.
fn bytes(command: &str) -> Vec<u8> {
    let command = command.strip_prefix(' ').unwrap_or(command).replace("\\r", "\r").replace("\\t", "\t");
    let mut bytes = command.split("\\xff").collect::<Vec<_>>().join("\u{1}").into_bytes();
    bytes.iter_mut().filter(|byte| **byte == 1).for_each(|byte| *byte = 0xff);
    bytes.push(b'\n');
    bytes
}

fn play(name: &str, script: &str) {
    let (input, send) = io::pipe().expect("pipes are available");
    let mut send = Some(send);
    let (sender, replies) = mpsc::channel();
    let server = std::thread::spawn(move || serve(Toy::default(), BufReader::new(input), Output(sender)));
    for (number, line) in (1..).zip(script.lines()) {
        let at = format!("{name}:{number}");
        match line.split_at_checked(1) {
            Some((">", command)) => {
                // Ignored after quit.
                let _ = send.as_mut().expect("no command after the end of input").write_all(&bytes(command));
            }
            Some(("<", expected)) => {
                let reply =
                    replies.recv_timeout(TIMEOUT).unwrap_or_else(|error| panic!("{at}: {error}: {line}"));
                assert!(matches(expected.trim(), &reply), "{at}: expected {}, got {reply}", expected.trim());
            }
            Some(("~", _)) => {
                let reply = replies.recv_timeout(QUIET);
                assert_eq!(reply, Err(RecvTimeoutError::Timeout), "{at}: unexpected reply");
            }
            Some((".", _)) => send = None,
            Some(("#", _)) | None => {}
            Some(_) => panic!("{at}: invalid line: {line}"),
        }
    }
    drop(send);
    server.join().expect("the server does not panic").expect("the server ends without an error");
    let rest: Vec<String> = replies.iter().collect();
    assert!(rest.is_empty(), "{name}: unexpected {rest:?}");
}

#[test]
fn scripts_pass() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        play(&path.file_name().unwrap().to_string_lossy(), &std::fs::read_to_string(&path).unwrap());
        count += 1;
    }
    assert!(count >= 8, "{count} scripts");
}

#[test]
fn greeting_does_not_wait_for_preparations_but_readiness_does() {
    let (input, mut send) = io::pipe().expect("pipes are available");
    let (sender, replies) = mpsc::channel();
    let (go_on, held) = mpsc::channel();
    let engine = Toy { held: Some(held), ..Toy::default() };
    let server = std::thread::spawn(move || serve(engine, BufReader::new(input), Output(sender)));
    send.write_all(b"uci\nisready\n").unwrap();
    while replies.recv_timeout(TIMEOUT).expect("a greeting") != "uciok" {}
    assert_eq!(replies.recv_timeout(QUIET), Err(RecvTimeoutError::Timeout), "not ready");
    go_on.send(()).unwrap();
    assert_eq!(replies.recv_timeout(TIMEOUT).as_deref(), Ok("readyok"));
    drop(send);
    server.join().expect("the server does not panic").expect("the server ends without an error");
}

#[test]
fn wrong_scripts_fail() {
    assert!(matches("info depth 1 * nodes * pv a2a3", "info depth 1 score cp 5 nodes 20 nps 1 pv a2a3"));
    assert!(!matches("info depth 1 * pv a2a4", "info depth 1 score cp 5 pv a2a3"));
    assert!(!matches("readyok", "readyok!") && !matches("bestmove a2a3", "bestmove"));
    let wrong = std::panic::catch_unwind(|| play("wrong", "> isready\n< bestmove *\n"));
    assert!(wrong.is_err());
}

#[test]
fn closed_output_is_an_error() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let error = serve(Toy::default(), &b"uci\ngo mate 1\n"[..], Gone).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}
