//! Training runs over HTTP, as the page asks for them.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tabia_runs::{Ending, OpenRun, RunCard};

struct Served {
    child: Child,
    address: String,
    folder: PathBuf,
}

impl Drop for Served {
    fn drop(&mut self) {
        // The server may have ended by itself; the test then failed for that.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
        fs::remove_dir_all(&self.folder).expect("the test's own folder");
    }
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let of = |line: &'_ str| {
            line.split_once(": ")
                .filter(|(key, _)| key.eq_ignore_ascii_case(name))
                .map(|(_, value)| value.len())
        };
        self.head.lines().find_map(|line| of(line).map(|length| &line[line.len() - length..]))
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Served {
    /// Serves an empty folder, `runs` within the test's own.
    fn start(name: &str) -> Served {
        let folder = std::env::temp_dir().join(format!("tabia-serve-runs-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("runs")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_tabia"))
            .args(["serve", "--port", "0", "--runs"])
            .arg(folder.join("runs"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let address = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix("listening on http://")?.split('/').next()?.to_owned()))
            .expect("the server says where it listens");
        Served { child, address, folder }
    }

    fn run(&self, name: &str, metrics: &str) -> PathBuf {
        let run = self.folder.join("runs").join(name);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("metrics.jsonl"), metrics).unwrap();
        run
    }

    fn ask(&self, path: &str) -> Answer {
        self.ask_with(path, &format!("Host: {}\r\n", self.address))
    }

    fn ask_with(&self, path: &str, headers: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).expect("the server listens");
        write!(stream, "GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// The list's entry of a run.
    fn glance(&self, name: &str) -> Value {
        let list = self.ask("/api/runs").json();
        let found = list["runs"].as_array().unwrap().iter().find(|run| run["name"] == name).cloned();
        found.unwrap_or_else(|| panic!("{name} is not in {list}"))["glance"].clone()
    }
}

fn step(step: u64) -> String {
    format!("{{\"kind\":\"step\",\"step\":{step},\"loss\":0.5}}\n")
}

fn append(run: &Path, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(run.join("metrics.jsonl")).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

#[test]
fn runs_appear_go_on_and_end_while_the_server_is_there() {
    let served = Served::start("standing");
    assert_eq!(served.ask("/api/runs").json(), json!({ "runs": [] }));

    let old = served.run("sweep/old", &step(20));
    assert_eq!(served.glance("sweep/old")["standing"], "unknown");
    let run = served.run("new", "");
    let card = RunCard::begun(1_700_000_000, json!({ "optimiser": { "lr": 0.001 } }));
    let open = OpenRun::begin(&run, card.clone()).unwrap();
    assert_eq!(served.glance("new")["standing"], "running");
    open.end(Ending::Failed("the loss of step 40 is not finite".to_owned()), 1_700_000_009).unwrap();
    let glance = served.glance("new");
    assert_eq!(
        (&glance["standing"], &glance["message"]),
        (&json!("failed"), &json!("the loss of step 40 is not finite"))
    );
    drop(OpenRun::begin(&run, card.clone()).unwrap());
    assert_eq!(served.glance("new")["standing"], "broken-off");
    OpenRun::begin(&run, card).unwrap().end(Ending::Stopped, 1_700_000_020).unwrap();
    assert_eq!(served.glance("new")["standing"], "stopped");
    assert_eq!(served.ask("/api/runs/about?run=new").json()["config"]["optimiser"]["lr"], 0.001);

    fs::remove_dir_all(old).unwrap();
    assert_eq!(served.ask("/api/runs").json()["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn only_what_is_new_travels() {
    let served = Served::start("new");
    let run = served.run("a run", &format!("{}{}{{\"kind\":\"st", step(20), step(40)));

    let list = served.ask("/api/runs");
    let tag = list.header("etag").expect("a tag").to_owned();
    let host = &served.address;
    let again = served.ask_with("/api/runs", &format!("Host: {host}\r\nIf-None-Match: {tag}\r\n"));
    assert_eq!((again.status, again.body.as_str()), (304, ""));

    let first = served.ask("/api/runs/metrics?run=a%20run");
    assert_eq!((first.status, &first.body), (200, &(step(20) + &step(40))));
    let (file, next) = (first.header("tabia-file").unwrap(), first.header("tabia-next").unwrap());
    append(&run, &step(60)["{\"kind\":\"st".len()..]);
    let changed = served.ask_with("/api/runs", &format!("Host: {host}\r\nIf-None-Match: {tag}\r\n"));
    assert_eq!(changed.status, 200);
    let more = served.ask(&format!("/api/runs/metrics?run=a%20run&from={next}&file={file}"));
    assert_eq!((more.body, more.head.contains(&format!("tabia-from: {next}"))), (step(60), true));

    // Continued from a checkpoint: another file, which is sent whole.
    fs::write(run.join("fresh"), [20, 40, 50, 60].map(step).concat()).unwrap();
    fs::rename(run.join("fresh"), run.join("metrics.jsonl")).unwrap();
    let anew = served.ask(&format!("/api/runs/metrics?run=a%20run&from={next}&file={file}"));
    assert_eq!((anew.header("tabia-from"), anew.body.lines().count()), (Some("0"), 4));
}

#[test]
fn a_long_run_is_thinned_and_odd_lines_are_counted() {
    let served = Served::start("long");
    let text: String = (1..=20_000).map(step).collect();
    served.run("long", &format!("not JSON\n{text}"));
    let answer = served.ask("/api/runs/metrics?run=long");
    assert!(answer.body.lines().count() <= 2_000, "{}", answer.body.lines().count());
    assert!(answer.body.trim_end().lines().last().unwrap().contains("\"step\":20000"));
    assert_eq!(answer.header("tabia-unreadable"), Some("1"));
    assert_eq!(
        answer.header("tabia-next").unwrap().parse::<usize>().unwrap(),
        text.len() + "not JSON\n".len()
    );
}

#[test]
fn the_page_comes_whole_from_this_server() {
    let served = Served::start("page");
    let front = served.ask("/");
    assert_eq!((front.status, front.header("location")), (307, Some("/runs")));
    let page = served.ask("/runs");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.header("content-security-policy").unwrap().contains("default-src 'self'"));
    for (path, kind) in [("/runs/page.css", "text/css"), ("/runs/page.js", "text/javascript")] {
        assert!(page.body.contains(path));
        let part = served.ask(path);
        assert_eq!(part.status, 200);
        assert!(part.header("content-type").unwrap().starts_with(kind), "{}", part.head);
    }
    // Without data sets there are none to explore.
    assert_eq!(served.ask("/api/data").json(), json!([]));
}

#[test]
fn nothing_else_can_be_read() {
    let served = Served::start("guard");
    served.run("run", &step(20));
    let outside = served.folder.join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("metrics.jsonl"), "secret\n").unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&outside, served.folder.join("runs/link")).unwrap();
        fs::create_dir_all(served.folder.join("runs/file-link")).unwrap();
        std::os::unix::fs::symlink(
            outside.join("metrics.jsonl"),
            served.folder.join("runs/file-link/metrics.jsonl"),
        )
        .unwrap();
    }
    for name in ["..%2Foutside", "run%2F..%2F..%2Foutside", "%2Fetc", "", ".", "link", "file-link", "run%00"]
    {
        for what in ["metrics", "about"] {
            let answer = served.ask(&format!("/api/runs/{what}?run={name}"));
            assert_eq!(answer.status, 404, "{what} of {name}: {}", answer.body);
            assert!(answer.json()["error"].as_str().unwrap().contains("no run is called"));
        }
    }
    for path in ["/runs/../Cargo.toml", "/runs/%2e%2e/page.css", "/api/runs/metrics/../../x"] {
        assert_eq!(served.ask(path).status, 404, "{path}");
    }
    assert_eq!(served.ask("/api/runs/metrics?run=run&from=-1").status, 400);
    assert_eq!(served.ask("/api/runs/metrics?run=run&from=18446744073709551615&file=x").status, 200);
    for path in ["/runs", "/api/runs", "/api/runs/metrics?run=run", "/runs/page.js"] {
        assert_eq!(served.ask_with(path, "Host: evil.example\r\n").status, 421, "{path}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_tabia"))
        .args(["serve", "--runs", "/nowhere/at/all"])
        .output()
        .expect("the program starts");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/at/all"), "{output:?}");
    let output = Command::new(env!("CARGO_BIN_EXE_tabia")).arg("serve").output().expect("the program starts");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("--data"), "{output:?}");
}
