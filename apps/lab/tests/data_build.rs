//! `tabia-lab data build` and `data sql` as programs: determinism, kill -9, wrong inputs.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use shakmaty::{Chess, Position, san::SanPlus};

/// A folder that goes away.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tabia-lab-build-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tabia-lab"));
    command.arg("data").args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    lab(arguments).output().unwrap()
}

fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn fail(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(!output.status.success(), "{arguments:?} has to fail");
    String::from_utf8(output.stderr).unwrap()
}

/// Random games as PGN; equal seeds give equal games.
fn games(seeds: std::ops::Range<u64>) -> String {
    let mut text = String::new();
    for seed in seeds {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut position = Chess::default();
        text += &format!("[Event \"?\"]\n[WhiteElo \"{}\"]\n\n", 1000 + seed % 1000);
        for ply in 0..40 {
            let legal = position.legal_moves();
            if legal.is_empty() {
                break;
            }
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let played = legal[(state % legal.len() as u64) as usize];
            let san = SanPlus::from_move_and_play_unchecked(&mut position, played);
            text += &if ply % 2 == 0 { format!("{}. {san} ", ply / 2 + 1) } else { format!("{san} ") };
        }
        text += "*\n\n";
    }
    text
}

/// Every file of a set with its bytes.
fn files(set: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(set)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().into(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn a_set_is_the_same_with_any_threads_and_order() {
    let folder = Folder::new("order");
    fs::write(folder.path("a.pgn"), games(0..150)).unwrap();
    fs::write(folder.path("b.pgn"), games(100..300)).unwrap();
    let (a, b) = (folder.path("a.pgn"), folder.path("b.pgn"));
    let (one, two) = (folder.path("one"), folder.path("two"));
    let summary = succeed(&["build", &a, &b, "--out", &one, "--threads", "1", "--shards", "3"]);
    assert!(summary.contains("300 games") && summary.contains("50 duplicates"), "{summary}");
    succeed(&["build", &b, &a, "--out", &two, "--threads", "2", "--shards", "3", "--memory", "64M"]);
    assert!(files(&one) == files(&two));
    let query = format!("select count(*) from shards('{one}')");
    assert_eq!(succeed(&["sql", &query, "--format", "csv"]).lines().nth(1), Some("300"));
    let occupied = fail(&["build", &a, "--out", &one]);
    assert!(occupied.contains("holds a whole set"), "{occupied}");
}

#[test]
fn killed_builds_are_finished_by_the_same_command() {
    let folder = Folder::new("kill");
    fs::write(folder.path("a.pgn"), games(0..2000)).unwrap();
    let (input, whole, killed) = (folder.path("a.pgn"), folder.path("whole"), folder.path("killed"));
    succeed(&["build", &input, "--out", &whole]);
    for wait in [30, 90, 180, 300, 450] {
        let build = ["build", &input, "--out", &killed];
        let mut child = lab(&build).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
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
    let mut left = files(&killed);
    // Killed between writing its manifest and tidying up, a build leaves the note of what it was made from.
    left.retain(|(name, _)| name != Path::new("building.json"));
    assert!(left == files(&whole));
}

#[test]
fn finished_shards_are_kept_only_for_the_same_input() {
    let folder = Folder::new("resume");
    fs::write(folder.path("a.pgn"), games(0..200)).unwrap();
    let (input, whole, again) = (folder.path("a.pgn"), folder.path("whole"), folder.path("again"));
    succeed(&["build", &input, "--out", &whole, "--shards", "4"]);
    // As a build leaves it that was killed after its second shard.
    let killed_after_two = |inputs: Option<&str>| {
        let _ = fs::remove_dir_all(&again);
        fs::create_dir_all(&again).unwrap();
        let unfinished =
            lab(&["build", &input, "--out", &again, "--shards", "4", "--where", "plies < 0"]).output();
        assert!(!unfinished.unwrap().status.success(), "no record is taken");
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
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("2 of 4 shards are kept"), "{said}");
    assert!(files(&again) == files(&whole));
    killed_after_two(Some("of something else"));
    let output = run(&["build", &input, "--out", &again, "--shards", "4"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && !said.contains("kept"), "{said}");
    assert!(files(&again) == files(&whole));
}

#[test]
fn wrong_inputs_are_named_and_leave_no_set() {
    let folder = Folder::new("wrong");
    let out = folder.path("out");
    let absent = fail(&["build", &folder.path("absent.pgn"), "--out", &out]);
    assert!(absent.contains("absent.pgn"), "{absent}");
    fs::write(folder.path("damaged.pgn.zst"), b"\x28\xB5\x2F\xFDnot really compressed").unwrap();
    let damaged = fail(&["build", &folder.path("damaged.pgn.zst"), "--out", &out]);
    assert!(damaged.contains("damaged.pgn.zst") && damaged.contains("nothing could be read"), "{damaged}");
    fs::write(folder.path("prose.txt"), "Call me Ishmael.").unwrap();
    let prose = fail(&["build", &folder.path("prose.txt"), "--out", &out]);
    assert!(prose.contains("prose.txt") && prose.contains("cannot tell"), "{prose}");
    fs::write(folder.path("a.pgn"), games(0..3)).unwrap();
    let bad_filter = fail(&["build", &folder.path("a.pgn"), "--out", &out, "--where", "colour = 'red'"]);
    assert!(bad_filter.contains("colour"), "{bad_filter}");
    let none = fail(&["build", &folder.path("a.pgn"), "--out", &out, "--where", "plies > 5000"]);
    assert!(none.contains("none of the 3 records"), "{none}");
    fs::write(folder.path("other.parquet"), "PAR1").unwrap();
    let parquet = fail(&["build", &folder.path("other.parquet"), "--out", &out]);
    assert!(parquet.contains("other.parquet"), "{parquet}");
    assert!(!Path::new(&out).join("set.json").exists());
    assert!(fs::read_dir(&out).unwrap().all(|entry| entry.unwrap().file_name() == "building.json"));
}

#[test]
fn rows_go_to_files_and_faults_of_queries_are_said_once() {
    let folder = Folder::new("sql");
    fs::write(folder.path("a.pgn"), games(0..20)).unwrap();
    let (input, out) = (folder.path("a.pgn"), folder.path("rows.parquet"));
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
fn commands_end_quietly_when_nobody_reads_them() {
    let folder = Folder::new("closed-pipes");
    fs::write(folder.path("games.pgn"), games(0..20)).unwrap();
    let (set, again, pgn) = (folder.path("set"), folder.path("again"), folder.path("out.pgn"));
    let input = folder.path("games.pgn");
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
        let output = lab(arguments).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        // What a shell says of a program that died of SIGPIPE.
        assert_eq!(output.status.code(), Some(141), "{arguments:?}: {said}");
        assert!(!said.contains("panicked") && !said.contains("Broken pipe"), "{arguments:?}: {said}");
    }
}

#[test]
fn the_rating_pools_that_were_assumed_are_said() {
    let folder = Folder::new("pools");
    let text = "[Event \"?\"]\n[WhiteElo \"1943\"]\n[BlackElo \"1701\"]\n\n1. e4 e5 *\n\n\
        [Event \"Rated Blitz game\"]\n[WhiteElo \"1500\"]\n\n1. d4 d5 *\n\n[Event \"?\"]\n\n1. c4 c5 *\n";
    fs::write(folder.path("games.pgn"), text).unwrap();
    let (input, set, told) = (folder.path("games.pgn"), folder.path("set"), folder.path("told"));
    let summary = succeed(&["build", &input, "--out", &set, "--shards", "1"]);
    assert!(summary.contains("pools     1 over the board, 1 online, 1 unknown"), "{summary}");
    let summary = succeed(&["build", &input, "--out", &told, "--shards", "1", "--pool", "online"]);
    assert!(summary.contains("pools     3 online"), "{summary}");
}
