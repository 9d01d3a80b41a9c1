//! `data build` and `data sql`: determinism, kill -9, invalid input.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use crate::program::{self, Folder, files, lab, text};
use crate::sets::games_numbered;

fn path(folder: &Folder, name: &str) -> String {
    folder.file(name).display().to_string()
}

fn run(arguments: &[&str]) -> Output {
    lab().arg("data").args(arguments).output().unwrap()
}

fn succeed(arguments: &[&str]) -> String {
    program::succeed(lab().arg("data").args(arguments))
}

fn fail(arguments: &[&str]) -> String {
    program::fail(lab().arg("data").args(arguments)).1
}

#[test]
fn a_set_does_not_depend_on_threads_and_order() {
    let folder = Folder::new();
    fs::write(path(&folder, "a.pgn"), games_numbered(0..150, 40)).unwrap();
    fs::write(path(&folder, "b.pgn"), games_numbered(100..300, 40)).unwrap();
    let (a, b) = (path(&folder, "a.pgn"), path(&folder, "b.pgn"));
    let (one, two) = (path(&folder, "one"), path(&folder, "two"));
    let summary = succeed(&["build", &a, &b, "--out", &one, "--threads", "1", "--shards", "3"]);
    assert!(summary.contains("300 games") && summary.contains("50 duplicates"), "{summary}");
    succeed(&["build", &b, &a, "--out", &two, "--threads", "2", "--shards", "3", "--memory", "64M"]);
    assert!(files(Path::new(&one)) == files(Path::new(&two)));
    let query = format!("select count(*) from shards('{one}')");
    assert_eq!(succeed(&["sql", &query, "--format", "csv"]).lines().nth(1), Some("300"));
    fail(&["build", &a, "--out", &one]);
}

/// Cards of networks say what they were trained on by these names.
#[test]
fn a_set_made_from_sets_names_them_as_its_sources() {
    let folder = Folder::new();
    fs::write(path(&folder, "a.pgn"), games_numbered(0..60, 40)).unwrap();
    fs::write(path(&folder, "b.pgn"), games_numbered(40..100, 40)).unwrap();
    let (a, b) = (path(&folder, "a.pgn"), path(&folder, "b.pgn"));
    let (first, both) = (path(&folder, "first"), path(&folder, "both"));
    succeed(&["build", &a, "--out", &first, "--shards", "4"]);
    succeed(&["build", &first, &b, "--out", &both, "--shards", "2"]);
    let set: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.file("both").join("set.json")).unwrap()).unwrap();
    let sources = set["sources"].as_array().unwrap();
    let mut named: Vec<_> =
        sources.iter().map(|source| (source["name"].as_str().unwrap(), source["records"].as_u64())).collect();
    named.sort_unstable();
    assert_eq!(named, [("b.pgn", Some(60)), ("first", Some(60))]);
}

#[test]
fn a_number_of_records_is_sampled() {
    let folder = Folder::new();
    fs::write(path(&folder, "a.pgn"), games_numbered(0..150, 40)).unwrap();
    let (input, some) = (path(&folder, "a.pgn"), path(&folder, "some"));
    let summary = succeed(&["build", &input, "--out", &some, "--num-samples", "0.05k", "--shards", "2"]);
    assert!(summary.contains("written   50 games"), "{summary}");
    let both =
        run(&["build", &input, "--out", &path(&folder, "both"), "--num-samples", "50", "--sample", "0.5"]);
    assert_eq!(both.status.code(), Some(2), "{}", text(&both.stderr));
}

#[test]
fn killed_builds_are_resumed() {
    let folder = Folder::new();
    fs::write(path(&folder, "a.pgn"), games_numbered(0..2000, 40)).unwrap();
    let (input, whole, killed) = (path(&folder, "a.pgn"), path(&folder, "whole"), path(&folder, "killed"));
    succeed(&["build", &input, "--out", &whole]);
    for wait in [30, 90, 180, 300, 450] {
        let build = ["build", &input, "--out", &killed];
        let mut child =
            lab().arg("data").args(build).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        child.kill().unwrap();
        child.wait().unwrap();
        if Path::new(&killed).join("set.json").exists() {
            break;
        }
    }
    if !Path::new(&killed).join("set.json").exists() {
        succeed(&["build", &input, "--out", &killed]);
    }
    let mut left = files(Path::new(&killed));
    // Killed between writing its manifest and tidying up, a build leaves the note of what it was made from, and its
    // locked folder.
    left.remove(Path::new("building.json"));
    assert!(left == files(Path::new(&whole)));
}

#[test]
fn finished_shards_are_reused_only_for_the_same_input() {
    let folder = Folder::new();
    fs::write(path(&folder, "a.pgn"), games_numbered(0..200, 40)).unwrap();
    let (input, whole, again) = (path(&folder, "a.pgn"), path(&folder, "whole"), path(&folder, "again"));
    succeed(&["build", &input, "--out", &whole, "--shards", "4"]);
    // As a build leaves it that was killed after its second shard.
    let killed_after_two = |inputs: Option<&str>| {
        let _ = fs::remove_dir_all(&again);
        fs::create_dir_all(&again).unwrap();
        let unfinished = run(&["build", &input, "--out", &again, "--shards", "4", "--where", "plies < 0"]);
        assert!(!unfinished.status.success(), "no record is taken");
        let note = fs::read_to_string(Path::new(&again).join("building.json")).unwrap();
        let note = note.replace(",\n    \"where\": \"plies < 0\"", "");
        fs::write(Path::new(&again).join("building.json"), inputs.unwrap_or(&note)).unwrap();
        for shard in ["shard-00000.tabia", "shard-00001.tabia"] {
            fs::copy(Path::new(&whole).join(shard), Path::new(&again).join(shard)).unwrap();
        }
        fs::write(Path::new(&again).join("shard-00002.tabia.part"), "half").unwrap();
    };
    killed_after_two(None);
    let output = run(&["build", &input, "--out", &again, "--shards", "4"]);
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("keeping 2 of 4 shards"), "{said}");
    assert!(files(Path::new(&again)) == files(Path::new(&whole)));
    killed_after_two(Some("of something else"));
    let output = run(&["build", &input, "--out", &again, "--shards", "4"]);
    let said = text(&output.stderr);
    assert!(output.status.success() && !said.contains("keeping"), "{said}");
    assert!(files(Path::new(&again)) == files(Path::new(&whole)));
}

#[test]
fn invalid_input_leaves_no_set() {
    let folder = Folder::new();
    let out = path(&folder, "out");
    fs::write(folder.file("damaged.pgn.zst"), b"\x28\xB5\x2F\xFDnot really compressed").unwrap();
    fs::write(folder.file("prose.txt"), "Call me Ishmael.").unwrap();
    fs::write(folder.file("a.pgn"), games_numbered(0..3, 40)).unwrap();
    fs::write(folder.file("other.parquet"), "PAR1").unwrap();
    for (input, condition, named) in [
        ("absent.pgn", "true", "absent.pgn"),
        ("damaged.pgn.zst", "true", "damaged.pgn.zst"),
        ("prose.txt", "true", "prose.txt"),
        ("a.pgn", "colour = 'red'", "colour"),
        ("a.pgn", "plies > 5000", "3 records"),
        ("other.parquet", "true", "other.parquet"),
    ] {
        let said = fail(&["build", &path(&folder, input), "--out", &out, "--where", condition]);
        assert!(said.contains(named), "{input}: {said}");
    }
    assert!(!Path::new(&out).join("set.json").exists());
    assert!(fs::read_dir(&out).unwrap().all(|entry| entry.unwrap().file_name() == "building.json"));
}

#[test]
fn rows_are_written_to_files_and_errors_printed_once() {
    let folder = Folder::new();
    fs::write(path(&folder, "a.pgn"), games_numbered(0..20, 40)).unwrap();
    let (input, out) = (path(&folder, "a.pgn"), path(&folder, "rows.parquet"));
    succeed(&["sql", &format!("select game, plies, moves from pgn('{input}')"), "--out", &out]);
    let json = succeed(&["sql", &format!("select max(game) as last from '{out}'"), "--format", "json"]);
    assert_eq!(json.trim(), "{\"last\":20}");
    let said = fail(&["sql", "select * from nowhere"]);
    assert_eq!(said.matches("nowhere").count(), 1, "{said}");
    let no_file = fail(&["sql", "select 1", "--format", "parquet"]);
    assert!(no_file.contains("--out"), "{no_file}");
}

#[cfg(unix)]
#[test]
fn commands_end_quietly_when_the_pipe_closes() {
    let folder = Folder::new();
    fs::write(path(&folder, "games.pgn"), games_numbered(0..20, 40)).unwrap();
    let (set, again, pgn) = (path(&folder, "set"), path(&folder, "again"), path(&folder, "out.pgn"));
    let input = path(&folder, "games.pgn");
    succeed(&["build", &input, "--out", &set, "--shards", "2"]);
    let query = format!("select * from shards('{set}')");
    for arguments in [
        &["build", &input, "--out", &again, "--shards", "2"][..],
        &["sql", &query, "--format", "csv"],
        &["verify", &set],
        &["stats", &set],
        &["head", &set],
        &["export", &set, "--format", "pgn", "--out", &pgn],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = lab().arg("data").args(arguments).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        let said = text(&output.stderr);
        // What a shell says of a program that died of SIGPIPE.
        assert_eq!(output.status.code(), Some(141), "{arguments:?}: {said}");
        assert!(!said.contains("panicked") && !said.contains("Broken pipe"), "{arguments:?}: {said}");
    }
}

#[test]
fn detected_rating_pools_are_printed() {
    let folder = Folder::new();
    let text = "[Event \"?\"]\n[WhiteElo \"1943\"]\n[BlackElo \"1701\"]\n\n1. e4 e5 *\n\n\
        [Event \"Rated Blitz game\"]\n[WhiteElo \"1500\"]\n\n1. d4 d5 *\n\n[Event \"?\"]\n\n1. c4 c5 *\n";
    fs::write(path(&folder, "games.pgn"), text).unwrap();
    let (input, set, told) = (path(&folder, "games.pgn"), path(&folder, "set"), path(&folder, "told"));
    let summary = succeed(&["build", &input, "--out", &set, "--shards", "1"]);
    assert!(summary.contains("pools     1 over the board, 1 lichess, 1 unknown"), "{summary}");
    let summary = succeed(&["build", &input, "--out", &told, "--shards", "1", "--pool", "online"]);
    assert!(summary.contains("pools     3 online"), "{summary}");
}
