//! The engine lists of chess programs, as their sources write them.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};

use super::folders::Folders;

/// A chess program with a list of engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Program {
    /// En Croissant.
    EnCroissant,
    /// Cute Chess, and cutechess-cli.
    #[value(name = "cutechess")]
    CuteChess,
    /// Nibbler.
    Nibbler,
    /// BanksiaGUI; its list is a file to be named with --list.
    Banksia,
    /// Arena; by hand only.
    Arena,
}

/// What is added.
pub(super) struct Entry<'a> {
    pub(super) name: &'a str,
    /// This program,
    pub(super) program: &'a str,
    /// which is told this player,
    pub(super) spec: &'a str,
    /// or the script that does that.
    pub(super) path: &'a Path,
}

pub(super) fn program_and_file(text: &str) -> Result<(Program, PathBuf), String> {
    let (program, file) = text.split_once('=').ok_or("expected PROGRAM=FILE")?;
    let program = Program::from_str(program, true)?;
    if program == Program::Arena {
        return Err("the format of Arena's list is not published: add the engine by hand".to_owned());
    }
    Ok((program, PathBuf::from(file)))
}

impl Program {
    pub(super) const ALL: [Program; 5] =
        [Program::EnCroissant, Program::CuteChess, Program::Nibbler, Program::Banksia, Program::Arena];

    pub(super) fn title(self) -> &'static str {
        match self {
            Program::EnCroissant => "En Croissant",
            Program::CuteChess => "Cute Chess",
            Program::Nibbler => "Nibbler",
            Program::Banksia => "BanksiaGUI",
            Program::Arena => "Arena",
        }
    }

    /// Where its list is, if that is known.
    pub(super) fn list(self, folders: &Folders) -> Option<PathBuf> {
        match self {
            Program::EnCroissant => Some(folders.data.join("org.encroissant.app/engines/engines.json")),
            Program::CuteChess => Some(folders.unix_config.join("cutechess/engines.json")),
            Program::Nibbler => Some(folders.config.join("Nibbler/engines.json")),
            Program::Banksia | Program::Arena => None,
        }
    }

    /// How its users add an engine.
    pub(super) fn by_hand(self) -> &'static str {
        match self {
            Program::EnCroissant => "Engines > Add new > Local, then the file",
            Program::CuteChess => "Tools > Settings > Engines > +, then Command; protocol uci",
            Program::Nibbler => "Engine > Choose engine...",
            Program::Banksia => {
                "Engines > Add, then the file; protocol uci (or --list banksia=FILE with its engines.json)"
            }
            Program::Arena => "Engines > Install New Engine..., then the file; type UCI",
        }
    }

    /// Adds the engine, unless it is there; whether anything has changed. Other engines and settings stay as they are.
    pub(super) fn add(self, engines: &mut Option<Value>, entry: &Entry<'_>) -> Result<bool> {
        let path = entry.path.to_str().context("a path that is not UTF-8")?;
        match self {
            Program::EnCroissant => add_to_array(engines, &[], "path", path, entry.name, || {
                json!({
                    "type": "local", "id": id_of(path), "name": entry.name,
                    "version": env!("CARGO_PKG_VERSION"), "path": path, "loaded": true, "settings": [],
                })
            }),
            Program::CuteChess => add_to_array(engines, &[], "command", path, entry.name, || {
                json!({
                    "name": entry.name, "command": path, "protocol": "uci",
                    "workingDirectory": "", "stderrFile": "",
                })
            }),
            Program::Banksia => add_to_array(engines, &["app"], "command", path, entry.name, || {
                let folder = entry.path.parent().and_then(Path::to_str).unwrap_or_default();
                json!({
                    "app": {
                        "name": entry.name, "command": path, "protocol": "uci", "working folder": folder,
                        "arguments": [], "initStrings": [], "elo": 0,
                    },
                    "comment": "", "options": [],
                })
            }),
            Program::Nibbler => add_to_nibbler(engines, entry, path),
            Program::Arena => bail!("the format of Arena's list is not published"),
        }
    }

    /// The list as the program itself writes it.
    pub(super) fn text(self, engines: &Value) -> Result<String> {
        let indent: &[u8] = match self {
            Program::EnCroissant | Program::CuteChess => b"    ",
            Program::Nibbler | Program::Banksia | Program::Arena => b"\t",
        };
        let mut bytes = Vec::new();
        engines
            .serialize(&mut Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(indent)))?;
        Ok(String::from_utf8(bytes)?)
    }
}

/// Adds to an array of objects, whose names and `key` may be in an object of their own.
fn add_to_array(
    engines: &mut Option<Value>,
    within: &[&str],
    key: &str,
    path: &str,
    name: &str,
    new: impl FnOnce() -> Value,
) -> Result<bool> {
    let list = engines.get_or_insert_with(|| Value::Array(Vec::new()));
    let Value::Array(list) = list else { bail!("not a list of engines") };
    let is_same = |engine: &Value| {
        let fields = within.iter().try_fold(engine, |value, name| value.get(*name));
        fields.and_then(|fields| fields.get(key)).and_then(Value::as_str) == Some(path)
    };
    let same = list.iter_mut().find(|engine| is_same(engine));
    let Some(same) = same else {
        list.push(new());
        return Ok(true);
    };
    let fields = within.iter().try_fold(same, |value, name| value.get_mut(*name));
    let Some(Value::Object(fields)) = fields else { bail!("not a list of engines") };
    if fields.get("name").and_then(Value::as_str) == Some(name) {
        return Ok(false);
    }
    fields.insert("name".to_owned(), name.into());
    Ok(true)
}

/// Nibbler's list is an object by the paths of engines.
fn add_to_nibbler(engines: &mut Option<Value>, entry: &Entry<'_>, path: &str) -> Result<bool> {
    let list = engines.get_or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(list) = list else { bail!("not a list of engines") };
    // It cannot start batch files, but passes arguments.
    let (path, arguments) = if cfg!(windows) {
        (entry.program, json!(["uci", "--player", entry.spec]))
    } else {
        (path, json!([]))
    };
    let Some(same) = list.get_mut(path) else {
        list.insert(
            path.to_owned(),
            json!({
                "args": arguments, "options": {}, "search_nodes": null, "search_nodes_special": 10_000,
                "limit_by_time": false,
            }),
        );
        return Ok(true);
    };
    if same.get("args") == Some(&arguments) {
        return Ok(false);
    }
    let Value::Object(same) = same else { bail!("not a list of engines") };
    same.insert("args".to_owned(), arguments);
    Ok(true)
}

/// An id in the form of a UUID, always the same for a path.
fn id_of(path: &str) -> String {
    // FNV-1a.
    let hash = |seed: u64| {
        path.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    };
    let (high, low) = (hash(0xcbf2_9ce4_8422_2325), hash(0x8422_2325_cbf2_9ce4));
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry<'a>(name: &'a str, path: &'a str) -> Entry<'a> {
        Entry { name, program: "/bin/tabia", spec: "level:3", path: Path::new(path) }
    }

    /// Adds to a list as the program has it.
    fn added(program: Program, before: &str, name: &str) -> (bool, Value) {
        let mut engines = (!before.is_empty()).then(|| serde_json::from_str(before).unwrap());
        let changed = program.add(&mut engines, &entry(name, "/e/tabia")).unwrap();
        let text = program.text(engines.as_ref().unwrap()).unwrap();
        (changed, serde_json::from_str(&text).unwrap())
    }

    #[test]
    fn engines_are_added_beside_others_once() {
        let cases = [
            (
                Program::EnCroissant,
                r#"[{"type":"chessdb","id":"x","name":"ChessDB","url":"https://c","go":{"t":"Depth","c":24}}]"#,
            ),
            (
                Program::CuteChess,
                r#"[{"name":"Sloppy","command":"sloppy","protocol":"xboard","ponder":true}]"#,
            ),
            (
                Program::Banksia,
                r#"[{"app":{"name":"sf","command":"/sf","protocol":"uci"},"options":[{"name":"Hash","value":32}]}]"#,
            ),
        ];
        for (program, before) in cases {
            let (changed, after) = added(program, before, "Tabia");
            let list = after.as_array().unwrap();
            assert!(changed && list.len() == 2, "{after}");
            assert_eq!(list[0], serde_json::from_str::<Value>(before).unwrap()[0], "the other stays");
            let (again, same) = added(program, &after.to_string(), "Tabia");
            assert!(!again && same == after, "{same}");
            let (renamed, last) = added(program, &after.to_string(), "Other");
            assert!(renamed && last.as_array().unwrap().len() == 2 && last.to_string().contains("Other"));
            let (new, only) = added(program, "", "Tabia");
            assert!(new && only.as_array().unwrap().len() == 1);
            let mut wrong = Some(json!({"engines": []}));
            assert!(program.add(&mut wrong, &entry("Tabia", "/e/tabia")).is_err());
        }
    }

    #[cfg(not(windows))]
    #[test]
    fn nibbler_has_engines_by_path() {
        let before = r#"{"/lc0":{"args":[],"options":{"Threads":2},"search_nodes":null}}"#;
        let (changed, after) = added(Program::Nibbler, before, "Tabia");
        assert!(changed);
        assert_eq!(after["/lc0"], serde_json::from_str::<Value>(before).unwrap()["/lc0"]);
        assert_eq!(after["/e/tabia"]["limit_by_time"], false);
        assert_eq!(added(Program::Nibbler, &after.to_string(), "Tabia"), (false, after));
    }

    #[test]
    fn en_croissants_schema_is_met() {
        // It replaces a list with an entry it does not know by an empty one.
        let (_, after) = added(Program::EnCroissant, "", "Tabia");
        let engine = &after[0];
        for key in ["type", "id", "name", "version", "path"] {
            assert!(engine[key].is_string(), "{key}: {engine}");
        }
        let id = engine["id"].as_str().unwrap();
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!((lengths, engine["type"].as_str()), (vec![8, 4, 4, 4, 12], Some("local")), "{id}");
        assert_ne!(id_of("/a"), id_of("/b"));
    }
}
