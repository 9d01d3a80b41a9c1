//! Training runs, as the page asks for them.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tabia_runs::{OpenRun, RunCard, RunOutcome};

use super::server::{Answer, Server};
use crate::process::{Folder, fail, tabia};

struct Served(Server);

impl Served {
    /// Serves an empty folder, `runs` within the test's own.
    fn start() -> Served {
        let folder = Folder::new();
        let runs = folder.file("runs");
        fs::create_dir_all(&runs).unwrap();
        Served(Server::start(folder, "--runs", &runs))
    }

    fn run(&self, name: &str, metrics: &str) -> PathBuf {
        let run = self.0.folder.file("runs").join(name);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("metrics.jsonl"), metrics).unwrap();
        run
    }

    fn ask(&self, path: &str) -> Answer {
        self.0.ask(path)
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
    let served = Served::start();
    assert_eq!(served.ask("/api/runs").json(), json!({ "runs": [] }));

    let old = served.run("sweep/old", &step(20));
    assert_eq!(served.glance("sweep/old")["standing"], "unknown");
    let run = served.run("new", "");
    let card = RunCard::new(1_700_000_000, json!({ "optimiser": { "lr": 0.001 } }));
    let open = OpenRun::start(&run, card.clone()).unwrap();
    assert_eq!(served.glance("new")["standing"], "running");
    open.finish(RunOutcome::Failed("the loss of step 40 is not finite".to_owned()), 1_700_000_009).unwrap();
    let glance = served.glance("new");
    assert_eq!(
        (&glance["standing"], &glance["message"]),
        (&json!("failed"), &json!("the loss of step 40 is not finite"))
    );
    drop(OpenRun::start(&run, card.clone()).unwrap());
    assert_eq!(served.glance("new")["standing"], "broken-off");
    OpenRun::start(&run, card).unwrap().finish(RunOutcome::Stopped, 1_700_000_020).unwrap();
    assert_eq!(served.glance("new")["standing"], "stopped");
    assert_eq!(served.ask("/api/runs/about?run=new").json()["config"]["optimiser"]["lr"], 0.001);

    fs::remove_dir_all(old).unwrap();
    assert_eq!(served.ask("/api/runs").json()["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn only_what_is_new_travels() {
    let served = Served::start();
    let run = served.run("a run", &format!("{}{}{{\"kind\":\"st", step(20), step(40)));

    let list = served.ask("/api/runs");
    let tag = list.header("etag").expect("a tag").to_owned();
    let host = &served.0.address;
    let again = served.0.ask_with("/api/runs", &format!("Host: {host}\r\nIf-None-Match: {tag}\r\n"));
    assert_eq!((again.status, again.body.as_str()), (304, ""));

    let first = served.ask("/api/runs/metrics?run=a%20run");
    assert_eq!((first.status, &first.body), (200, &(step(20) + &step(40))));
    let (file, next) = (first.header("tabia-file").unwrap(), first.header("tabia-next").unwrap());
    append(&run, &step(60)["{\"kind\":\"st".len()..]);
    let changed = served.0.ask_with("/api/runs", &format!("Host: {host}\r\nIf-None-Match: {tag}\r\n"));
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
    let served = Served::start();
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
    let served = Served::start();
    let page = served.ask("/runs");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(page.header("content-security-policy").unwrap().contains("script-src 'self'"));
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
    let served = Served::start();
    served.run("run", &step(20));
    let outside = served.0.folder.file("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("metrics.jsonl"), "secret\n").unwrap();
    #[cfg(unix)]
    {
        let runs = served.0.folder.file("runs");
        std::os::unix::fs::symlink(&outside, runs.join("link")).unwrap();
        fs::create_dir_all(runs.join("file-link")).unwrap();
        let link = runs.join("file-link/metrics.jsonl");
        std::os::unix::fs::symlink(outside.join("metrics.jsonl"), link).unwrap();
    }
    for name in ["..%2Foutside", "run%2F..%2F..%2Foutside", "%2Fetc", "", ".", "link", "file-link", "run%00"]
    {
        for what in ["metrics", "about"] {
            let answer = served.ask(&format!("/api/runs/{what}?run={name}"));
            assert_eq!(answer.status, 404, "{what} of {name}: {}", answer.body);
            assert!(answer.json()["error"].as_str().unwrap().contains("unknown run"));
        }
    }
    for path in ["/runs/../Cargo.toml", "/runs/%2e%2e/page.css", "/api/runs/metrics/../../x"] {
        assert_eq!(served.ask(path).status, 404, "{path}");
    }
    assert_eq!(served.ask("/api/runs/metrics?run=run&from=-1").status, 400);
    assert_eq!(served.ask("/api/runs/metrics?run=run&from=18446744073709551615&file=x").status, 200);
    for path in ["/runs", "/api/runs", "/api/runs/metrics?run=run", "/runs/page.js"] {
        assert_eq!(served.0.ask_with(path, "Host: evil.example\r\n").status, 421, "{path}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_refused() {
    assert!(fail(tabia(["serve", "--runs", "/nowhere/at/all"])).contains("/nowhere/at/all"));
}
