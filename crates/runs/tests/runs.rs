//! Runs on disk and the standalone page.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tabia_runs::{
    FileId, Metrics, OpenRun, OpenRunError, RunCard, RunFolder, RunOutcome, RunStatus, find, page,
};
use tempfile::TempDir;

/// Creates a run with some metrics.
fn make_run(folder: &TempDir, name: &str, metrics: &str) -> PathBuf {
    let run = folder.path().join(name);
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("metrics.jsonl"), metrics).unwrap();
    run
}

fn only(path: &Path) -> RunFolder {
    let mut found = find(path).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0).folder
}

fn step(step: u64) -> String {
    format!("{{\"kind\":\"step\",\"step\":{step},\"positions\":{},\"loss\":0.5}}\n", step * 64)
}

#[test]
fn runs_are_found_and_named_by_relative_path() {
    let folder = TempDir::new().unwrap();
    for name in ["b", "a/2", "a/1", ".hidden", "b/inside-a-run", "1/2/3/4/too-deep"] {
        make_run(&folder, name, "");
    }
    fs::create_dir_all(folder.path().join("nothing")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("b"), folder.path().join("link")).unwrap();
    let names = |path: &Path| find(path).unwrap().into_iter().map(|run| run.name).collect::<Vec<_>>();
    assert_eq!(names(folder.path()), ["a/1", "a/2", "b"]);
    assert_eq!(names(&folder.path().join("a")), ["1", "2"]);
    assert_eq!(names(&folder.path().join("b")), ["b"]);
    assert_eq!(names(&folder.path().join("nothing")), Vec::<String>::new());
    assert_eq!(find(&folder.path().join("absent")).unwrap_err().path, folder.path().join("absent"));
}

#[test]
fn status_follows_lock_and_card() {
    let folder = TempDir::new().unwrap();
    let path = make_run(&folder, "run", &step(20));
    let run = only(&path);
    assert_eq!(run.status(), RunStatus::Unknown);

    let card = || RunCard::new(1_700_000_000, json!({ "name": "x" }));
    for (outcome, status) in [
        (RunOutcome::Complete, RunStatus::Complete),
        (RunOutcome::Stopped, RunStatus::Stopped),
        (RunOutcome::Failed("the loss of step 40 is not finite".to_owned()), RunStatus::Failed),
    ] {
        let open = OpenRun::start(&path, card()).unwrap();
        assert_eq!(run.status(), RunStatus::Running);
        let second = OpenRun::start(&path, card()).unwrap_err();
        assert!(matches!(second, OpenRunError::Locked(_)), "{second}");
        open.finish(outcome, 1_700_000_100).unwrap();
        assert_eq!(run.status(), status);
    }
    let summary = run.summary();
    assert_eq!(summary.message.as_deref(), Some("the loss of step 40 is not finite"));
    assert_eq!((summary.started, summary.ended), (Some(1_700_000_000), Some(1_700_000_100)));

    // As if the process had been killed: the OS releases the lock.
    drop(OpenRun::start(&path, card()).unwrap());
    assert_eq!(run.status(), RunStatus::Interrupted);
}

#[test]
fn only_complete_new_lines_are_read() {
    let folder = TempDir::new().unwrap();
    let path = make_run(&folder, "run", &format!("{}{}{{\"kind\":\"st", step(20), step(40)));
    let run = only(&path);
    let first = run.metrics(100).unwrap();
    assert_eq!(first.text, step(20) + &step(40));
    assert_eq!(first.next, first.text.len() as u64);

    let nothing = run.metrics_since(&first.file, first.next, 100).unwrap();
    assert_eq!((nothing.text.as_str(), nothing.next), ("", first.next));

    let mut file = fs::OpenOptions::new().append(true).open(path.join("metrics.jsonl")).unwrap();
    let rest = &step(60)[r#"{"kind":"st"#.len()..];
    write!(file, "{rest}{{").unwrap();
    let more = run.metrics_since(&first.file, first.next, 100).unwrap();
    assert_eq!((more.text, more.from), (step(60), first.next));

    // Resuming a run rewrites its metrics, possibly longer than before.
    fs::write(path.join("fresh"), [20, 40, 50, 60, 70].map(step).concat()).unwrap();
    fs::rename(path.join("fresh"), path.join("metrics.jsonl")).unwrap();
    let anew = run.metrics_since(&first.file, more.next, 100).unwrap();
    assert_eq!((anew.text.lines().count(), anew.from), (5, 0));
    assert_ne!(anew.file, first.file);
    let unknown = run.metrics_since(&FileId::new("made up"), 3, 100).unwrap();
    assert_eq!((unknown.text, unknown.from), (anew.text, 0));

    fs::remove_file(path.join("metrics.jsonl")).unwrap();
    assert_eq!(run.metrics_since(&anew.file, anew.next, 100).unwrap().next, 0);
}

#[test]
fn long_metrics_are_downsampled() {
    let folder = TempDir::new().unwrap();
    let text: String = (1..=10_000).map(step).collect();
    let path = make_run(&folder, "run", &text);
    let metrics = only(&path).metrics(500).unwrap();
    assert!((200..=500).contains(&metrics.text.lines().count()));
    assert_eq!(metrics.next, text.len() as u64);
    assert!(metrics.text.trim_end().lines().last().unwrap().contains("\"step\":10000"));
}

/// Data embedded in a page.
fn embedded(page: &str) -> Value {
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn standalone_page_embeds_its_runs() {
    let folder = TempDir::new().unwrap();
    let hostile = "<!--DATA--><img src=x>&\"";
    let evaluation =
        "{\"kind\":\"evaluation\",\"step\":40,\"groups\":{\"all\":{\"count\":9,\"top1\":0.5}}}\n";
    make_run(&folder, hostile, &format!("{}{{odd\n{evaluation}{{\"cut", step(20)));
    let carded = make_run(&folder, "carded", "");
    OpenRun::start(&carded, RunCard::new(5, json!({ "optimiser": { "lr": 0.1 } })))
        .unwrap()
        .finish(RunOutcome::Failed("</script><script>alert(1)</script>".to_owned()), 6)
        .unwrap();
    let old = make_run(&folder, "old", &step(1));
    fs::write(old.join("config.toml"), "name = \"old\"\n[net]\nkind = \"nnue\"\n").unwrap();

    let page = page::standalone(&find(folder.path()).unwrap(), 1_700_000_000).unwrap();
    assert_eq!(page.matches("<script").count(), 2, "the data and the page's own script");
    assert!(page.contains("default-src 'none'"));
    let data = embedded(&page);
    assert_eq!(data["made"], 1_700_000_000);
    let [first, second, third] = data["runs"].as_array().unwrap().as_slice() else { panic!("{data}") };
    assert_eq!(first["name"], hostile);
    assert_eq!(first["metrics"], format!("{}{evaluation}", step(20)));
    assert_eq!(first["unreadable"], 1);
    assert_eq!(first["glance"]["standing"], "unknown");
    assert_eq!(second["glance"]["standing"], "failed");
    assert_eq!(second["glance"]["message"], "</script><script>alert(1)</script>");
    assert_eq!(second["about"]["config"]["optimiser"]["lr"], 0.1);
    assert_eq!(third["about"]["config"]["net"]["kind"], "nnue");
}

#[test]
fn page_of_300_runs_stays_below_8_megabytes() {
    let folder = TempDir::new().unwrap();
    let text: String = (1..=1_000).map(step).collect();
    for number in 0..300 {
        make_run(&folder, &format!("run-{number}"), &text);
    }
    let page = page::standalone(&find(folder.path()).unwrap(), 0).unwrap();
    assert_eq!(embedded(&page)["runs"].as_array().unwrap().len(), 300);
    assert!(page.len() < 8_000_000, "{}", page.len());
}

/// Golden files written by format version 1.
#[test]
fn golden_run_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs/complete");
    let run = only(&path);
    let summary = run.summary();
    assert_eq!(
        (summary.status, summary.started, summary.ended),
        (RunStatus::Complete, Some(1_794_738_786), Some(1_794_738_787))
    );
    let about = run.about();
    assert_eq!((&about["max_positions"], &about["facts"]["seed"]), (&json!(4096), &json!(1)));
    assert_eq!(about["config"]["net"]["kind"], "challenge");
    let metrics = run.metrics(100).unwrap();
    let lines: Vec<Value> = metrics.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["step", "step", "step", "step", "step", "step", "evaluation", "evaluation"]);
    assert!(lines[7]["groups"]["all"]["value_error"].is_number());
}

#[test]
fn page_scripts_pass_their_tests() {
    let Some(node) = tabia_requires::program("node") else { return };
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page.mjs");
    let output = Command::new(node).arg("--test").arg(tests).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));

    // The bundled script parses.
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("page.mjs"), page::script()).unwrap();
    let output = Command::new(node).arg("--check").arg(folder.path().join("page.mjs")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The fuzz target's assertions on the committed seeds.
#[test]
fn downsampling_fuzz_seeds_is_idempotent() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/metrics");
    for seed in fs::read_dir(seeds).unwrap() {
        let path = seed.unwrap().path();
        let metrics = Metrics::read(fs::read(&path).unwrap().as_slice(), 2).unwrap();
        assert!((1..=4).contains(&metrics.text.lines().count()), "{}", path.display());
        let again = Metrics::read(metrics.text.as_bytes(), 2).unwrap();
        assert_eq!((again.text, again.unreadable), (metrics.text, 0), "{}", path.display());
    }
}
