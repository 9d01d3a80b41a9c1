//! A client of `tabia uci`.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use crate::process::tabia;

/// No answer within this time is taken for none at all.
const SILENCE: Duration = Duration::from_secs(120);

pub(crate) struct Session {
    spec: String,
    child: Child,
    input: ChildStdin,
    output: Receiver<String>,
    log: Vec<String>,
}

/// What was said between `go` and `bestmove`.
pub(crate) struct Searched {
    /// `info` lines with more than a text.
    pub(crate) infos: Vec<String>,
    /// The texts of `info string`.
    pub(crate) texts: Vec<String>,
    pub(crate) best: String,
}

impl Session {
    pub(crate) fn start(spec: &str) -> Session {
        let mut command = tabia(["uci", "--player", spec]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (send, output) = mpsc::channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| send.send(line)));
        Session { spec: spec.to_owned(), child, input, output, log: Vec::new() }
    }

    pub(crate) fn send(&mut self, line: &str) {
        self.log.push(format!("> {line}"));
        writeln!(self.input, "{line}").unwrap_or_else(|error| self.fail(&error.to_string()));
        self.input.flush().expect("the program reads its input");
    }

    pub(crate) fn send_all(&mut self, lines: &[&str]) {
        lines.iter().for_each(|line| self.send(line));
    }

    pub(crate) fn next(&mut self) -> String {
        match self.output.recv_timeout(SILENCE) {
            Ok(line) => {
                self.log.push(line.clone());
                line
            }
            Err(error) => self.fail(&error.to_string()),
        }
    }

    /// The lines up to the one that begins with `word`, which is the last.
    pub(crate) fn until(&mut self, word: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            lines.push(self.next());
            if lines.last().is_some_and(|line| line.split(' ').next() == Some(word)) {
                return lines;
            }
        }
    }

    pub(crate) fn ready(&mut self) -> Vec<String> {
        self.send("isready");
        self.until("readyok")
    }

    pub(crate) fn searched(&mut self) -> Searched {
        let mut lines = self.until("bestmove");
        let best = lines.pop().expect("the last line");
        let best = best.split(' ').nth(1).unwrap_or_else(|| self.fail("no move")).to_owned();
        let (texts, infos) = lines.into_iter().partition(|line| line.starts_with("info string "));
        Searched { infos, texts, best }
    }

    pub(crate) fn go(&mut self, limits: &str) -> Searched {
        self.send(&format!("go {limits}"));
        self.searched()
    }

    /// Ends the session; the program must end well.
    pub(crate) fn quit(mut self) {
        self.send("quit");
        let status = self.child.wait().expect("the program ends");
        assert!(status.success(), "{}: {status}", self.spec);
    }

    pub(crate) fn fail(&self, problem: &str) -> ! {
        panic!("{}: {problem}\n{}", self.spec, self.log.join("\n"));
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Already ended unless a test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The word after `name` in an `info` line.
pub(crate) fn field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let mut words = info.split(' ');
    words.find(|word| *word == name)?;
    words.next()
}

/// A spec with a file of this repository.
pub(crate) fn with_file(kind: &str, file: &str, settings: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    format!("{kind}:{}{settings}", path.display())
}

/// One of every kind of player.
pub(crate) fn players() -> Vec<String> {
    let mut players: Vec<String> = [
        "engine",
        "engine,eval=baseline,depth=4",
        "engine,threads=2",
        "human,elo=1500",
        "human,elo=2000,pause=off",
        "human,strength=raw,mode=argmax",
        "level:1",
        "level:4",
        "random",
    ]
    .map(str::to_owned)
    .into();
    players.extend([
        with_file("net", "fixtures/models/challenge-mlp.onnx", ""),
        with_file("net", "fixtures/models/challenge-mlp.onnx", ",search=ab,depth=3"),
        with_file("maia", "fixtures/models/lc0-plain-conv.pb.gz", ",mode=sample"),
        with_file("human", "fixtures/models/statedict/policy-mlp.pt", ",pause=off"),
        format!("uci:'{}' uci --player level:1", env!("CARGO_BIN_EXE_tabia")),
    ]);
    players
}
