//! `tabia install-engine` in a home of its own.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::{Folder, fail, read_json, succeed, tabia, text};

const NIBBLER: &str = r#"{"/lc0": {"args": ["--threads=2"], "options": {}}}"#;

/// A home with Cute Chess, Nibbler and En Croissant.
fn home() -> Folder {
    let home = Folder::new();
    for folder in [".config/cutechess", ".config/Nibbler", ".local/share/org.encroissant.app/engines"] {
        fs::create_dir_all(home.file(folder)).unwrap();
    }
    home.written(".config/Nibbler/engines.json", NIBBLER);
    home
}

fn install(home: &Folder, args: &[&str]) -> Command {
    let mut command = tabia(["install-engine"]);
    command.args(args).env("HOME", home.path()).env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    command
}

/// All files of a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn programs_that_are_there_get_the_engine_once() {
    let home = home();
    let before = files(home.path());
    let dry = succeed(install(&home, &["--player", "level:3"]));
    assert_eq!(files(home.path()), before, "{dry}");
    for part in
        ["would be written", "Cute Chess", "would be added", "Nothing was written", "Arena", "BanksiaGUI"]
    {
        assert!(dry.contains(part), "{part} in {dry}");
    }

    let said = succeed(install(&home, &["--player", "level:3", "--write"]));
    let script = home.file(".local/share/tabia/engines/tabia-level-3");
    let path = script.to_str().unwrap();
    let cute = read_json(&home.file(".config/cutechess/engines.json"));
    assert_eq!(
        (&cute[0]["name"], &cute[0]["command"], &cute[0]["protocol"]),
        (&"Tabia level:3".into(), &path.into(), &"uci".into())
    );
    let croissant = read_json(&home.file(".local/share/org.encroissant.app/engines/engines.json"));
    assert_eq!((&croissant[0]["type"], &croissant[0]["path"]), (&"local".into(), &path.into()));
    let nibbler = read_json(&home.file(".config/Nibbler/engines.json"));
    assert_eq!(nibbler["/lc0"]["args"][0], "--threads=2");
    assert!(nibbler[path]["options"].is_object());
    assert_eq!(fs::read_to_string(home.file(".config/Nibbler/engines.json.bak")).unwrap(), NIBBLER);
    assert!(said.contains("added (before: ") && !said.contains("Nothing was written"), "{said}");

    // The script is an engine.
    let mut engine = Command::new(&script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    engine.stdin.take().unwrap().write_all(b"uci\nquit\n").unwrap();
    let answer = text(&engine.wait_with_output().unwrap().stdout);
    assert!(answer.contains("uciok"), "{answer}");

    let after = files(home.path());
    let again = succeed(install(&home, &["--player", "level:3", "--write"]));
    assert_eq!(files(home.path()), after, "{again}");
    assert_eq!(again.matches("there already").count(), 4, "{again}");
    // Another player is another engine.
    succeed(install(&home, &["--player", "level:4", "--name", "Four", "--program", "cutechess", "--write"]));
    let cute = read_json(&home.file(".config/cutechess/engines.json"));
    assert_eq!((cute.as_array().unwrap().len(), &cute[1]["name"]), (2, &"Four".into()));
    assert_eq!(read_json(&home.file(".config/Nibbler/engines.json")), nibbler);
}

#[test]
fn lists_elsewhere_are_named() {
    let home = home();
    let list = home.written("banksia.json", r#"[{"app": {"name": "a", "command": "/a", "protocol": "wb"}}]"#);
    let named = format!("banksia={}", list.display());
    let args = ["--player", "level:1", "--program", "banksia", "--list", &named, "--write"];
    succeed(install(&home, &args));
    let engines = read_json(&list);
    assert_eq!((&engines[0]["app"]["name"], &engines[1]["app"]["protocol"]), (&"a".into(), &"uci".into()));
    assert!(!home.file(".config/cutechess/engines.json").exists(), "not asked for");
    let said = fail(install(&home, &["--list", "arena=/x"]));
    assert!(said.contains("not published"), "{said}");
}

#[test]
fn nothing_is_written_where_something_is_wrong() {
    let home = home();
    home.written(".config/Nibbler/engines.json", "{ not json");
    let before = files(home.path());
    let said = fail(install(&home, &["--player", "level:3", "--write"]));
    assert!(said.contains("Nibbler/engines.json (Nibbler): not as expected"), "{said}");
    let said = fail(install(&home, &["--player", "net:absent.onnx", "--write"]));
    assert!(said.contains("absent.onnx"), "{said}");
    assert_eq!(files(home.path()), before);
}
