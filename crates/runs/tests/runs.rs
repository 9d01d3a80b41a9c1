//! Runs on disk as others see them, and the page that stands alone.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it should be")]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tabia_runs::{Ending, FileId, Metrics, OpenRun, OpenRunError, RunCard, RunFolder, Standing, find, page};
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// A run with some metrics.
    fn run(&self, name: &str, metrics: &str) -> PathBuf {
        let run = self.path().join(name);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("metrics.jsonl"), metrics).unwrap();
        run
    }
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
fn runs_are_found_below_a_folder_and_called_by_their_path() {
    let folder = Folder::new();
    for name in ["b", "a/2", "a/1", ".hidden", "b/inside-a-run", "1/2/3/4/too-deep"] {
        folder.run(name, "");
    }
    fs::create_dir_all(folder.path().join("nothing")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.path().join("b"), folder.path().join("link")).unwrap();
    let names = |path: &Path| find(path).unwrap().into_iter().map(|run| run.name).collect::<Vec<_>>();
    assert_eq!(names(folder.path()), ["a/1", "a/2", "b"]);
    assert_eq!(names(&folder.path().join("a")), ["1", "2"]);
    assert_eq!(names(&folder.path().join("b")), ["b"]);
    assert_eq!(names(&folder.path().join("nothing")), Vec::<String>::new());
    let error = find(&folder.path().join("absent")).unwrap_err().to_string();
    assert!(error.contains("absent"), "{error}");
}

#[test]
fn a_run_is_going_on_while_its_program_holds_it_and_then_says_how_it_ended() {
    let folder = Folder::new();
    let path = folder.run("run", &step(20));
    let run = only(&path);
    assert_eq!(run.standing(), Standing::Unknown);

    let card = || RunCard::begun(1_700_000_000, json!({ "name": "x" }));
    for (ending, standing) in [
        (Ending::Complete, Standing::Complete),
        (Ending::Stopped, Standing::Stopped),
        (Ending::Failed("the loss of step 40 is not finite".to_owned()), Standing::Failed),
    ] {
        let open = OpenRun::begin(&path, card()).unwrap();
        assert_eq!(run.standing(), Standing::Running);
        let second = OpenRun::begin(&path, card()).unwrap_err();
        assert!(matches!(second, OpenRunError::Taken(_)), "{second}");
        open.end(ending, 1_700_000_100).unwrap();
        assert_eq!(run.standing(), standing);
    }
    let glance = run.glance();
    assert_eq!(glance.message.as_deref(), Some("the loss of step 40 is not finite"));
    assert_eq!((glance.started, glance.ended), (Some(1_700_000_000), Some(1_700_000_100)));

    // As if the program had been killed: the system lets go of the lock.
    drop(OpenRun::begin(&path, card()).unwrap());
    assert_eq!(run.standing(), Standing::BrokenOff);
}

#[test]
fn only_whole_and_new_lines_travel() {
    let folder = Folder::new();
    let path = folder.run("run", &format!("{}{}{{\"kind\":\"st", step(20), step(40)));
    let run = only(&path);
    let first = run.first_metrics(100).unwrap();
    assert_eq!(first.text, step(20) + &step(40));
    assert_eq!(first.next, first.text.len() as u64);

    let nothing = run.more_metrics(&first.file, first.next, 100).unwrap();
    assert_eq!((nothing.text.as_str(), nothing.next), ("", first.next));

    let mut file = fs::OpenOptions::new().append(true).open(path.join("metrics.jsonl")).unwrap();
    let rest = &step(60)[r#"{"kind":"st"#.len()..];
    write!(file, "{rest}{{").unwrap();
    let more = run.more_metrics(&first.file, first.next, 100).unwrap();
    assert_eq!((more.text, more.from), (step(60), first.next));

    // A run that is continued writes its metrics anew, perhaps longer than they were.
    fs::write(path.join("fresh"), [20, 40, 50, 60, 70].map(step).concat()).unwrap();
    fs::rename(path.join("fresh"), path.join("metrics.jsonl")).unwrap();
    let anew = run.more_metrics(&first.file, more.next, 100).unwrap();
    assert_eq!((anew.text.lines().count(), anew.from), (5, 0));
    assert_ne!(anew.file, first.file);
    let unknown = run.more_metrics(&FileId::named("made up"), 3, 100).unwrap();
    assert_eq!((unknown.text, unknown.from), (anew.text, 0));

    fs::remove_file(path.join("metrics.jsonl")).unwrap();
    assert_eq!(run.more_metrics(&anew.file, anew.next, 100).unwrap().next, 0);
}

#[test]
fn many_lines_are_thinned() {
    let folder = Folder::new();
    let text: String = (1..=10_000).map(step).collect();
    let path = folder.run("run", &text);
    let metrics = only(&path).first_metrics(500).unwrap();
    assert!((200..=500).contains(&metrics.text.lines().count()));
    assert_eq!(metrics.next, text.len() as u64);
    assert!(metrics.text.trim_end().lines().last().unwrap().contains("\"step\":10000"));
}

/// The data inside a page.
fn inside(page: &str) -> Value {
    let (_, data) = page.split_once("id=\"data\">").unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_page_that_stands_alone_holds_its_runs() {
    let folder = Folder::new();
    let hostile = "<!--DATA--><img src=x>&\"";
    let evaluation =
        "{\"kind\":\"evaluation\",\"step\":40,\"groups\":{\"all\":{\"count\":9,\"top1\":0.5}}}\n";
    folder.run(hostile, &format!("{}{{odd\n{evaluation}{{\"cut", step(20)));
    let carded = folder.run("carded", "");
    OpenRun::begin(&carded, RunCard::begun(5, json!({ "optimiser": { "lr": 0.1 } })))
        .unwrap()
        .end(Ending::Failed("</script><script>alert(1)</script>".to_owned()), 6)
        .unwrap();
    let old = folder.run("old", &step(1));
    fs::write(old.join("config.toml"), "name = \"old\"\n[net]\nkind = \"nnue\"\n").unwrap();

    let page = page::alone(&find(folder.path()).unwrap(), 1_700_000_000).unwrap();
    assert_eq!(page.matches("<script").count(), 2, "the data and the page's own script");
    assert!(page.contains("default-src 'none'"));
    let data = inside(&page);
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
fn hundreds_of_runs_make_a_page_of_bearable_size() {
    let folder = Folder::new();
    let text: String = (1..=1_000).map(step).collect();
    for number in 0..300 {
        folder.run(&format!("run-{number}"), &text);
    }
    let page = page::alone(&find(folder.path()).unwrap(), 0).unwrap();
    assert_eq!(inside(&page)["runs"].as_array().unwrap().len(), 300);
    assert!(page.len() < 8_000_000, "{}", page.len());
}

/// The golden run: files as version 1 wrote them.
#[test]
fn the_golden_run_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/runs/complete");
    let run = only(&path);
    let glance = run.glance();
    assert_eq!(
        (glance.standing, glance.started, glance.ended),
        (Standing::Complete, Some(1_794_738_786), Some(1_794_738_787))
    );
    let about = run.about();
    assert_eq!((&about["max_positions"], &about["facts"]["seed"]), (&json!(4096), &json!(1)));
    assert_eq!(about["config"]["net"]["kind"], "challenge");
    let metrics = run.first_metrics(100).unwrap();
    let lines: Vec<Value> = metrics.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["step", "step", "step", "step", "step", "step", "evaluation", "evaluation"]);
    assert!(lines[7]["groups"]["all"]["value_error"].is_number());
}

#[test]
fn the_pages_script_does_its_arithmetic() {
    let Some(node) = tabia_requires::program("node") else { return };
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page.mjs");
    let output = Command::new(node).arg("--test").arg(tests).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));

    // The joined script is one that can be read.
    let folder = Folder::new();
    fs::write(folder.path().join("page.mjs"), page::script()).unwrap();
    let output = Command::new(node).arg("--check").arg(folder.path().join("page.mjs")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What fuzzing tries, on the committed seeds.
#[test]
fn every_seed_becomes_few_lines_that_stay_as_they_are() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/metrics");
    for seed in fs::read_dir(seeds).unwrap() {
        let path = seed.unwrap().path();
        let metrics = Metrics::read(fs::read(&path).unwrap().as_slice(), 2).unwrap();
        assert!((1..=4).contains(&metrics.text.lines().count()), "{}", path.display());
        let again = Metrics::read(metrics.text.as_bytes(), 2).unwrap();
        assert_eq!((again.text, again.unreadable), (metrics.text, 0), "{}", path.display());
    }
}
